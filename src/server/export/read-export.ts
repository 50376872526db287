// Reads a session or one call part by part, so that an export needs memory for one page only. Everything is redacted.
// Called by export-jsonl.ts and collect-export.ts.

import type { CallSummary, Runtime, Schedule, Session, Task } from '../../index.ts'
import {
  type ExportedCall,
  type ExportedEvent,
  type ExportedSchedule,
  type ExportedTask,
  type ExportEnd,
  exportFormat,
  type ExportHeader,
  type ExportKind,
  exportKinds,
  type ExportObjects,
  type ExportPart,
  type ExportRequest,
} from './export-bundle.ts'
import { callParents, isTurn } from './call-parents.ts'

const pageSize = 200
/** Tasks, schedules and other objects are exported with everything about them, so fewer are read at once. */
const detailPageSize = 50

type Source<K extends ExportKind> = AsyncIterable<ExportObjects[K]>

/** Null if there is no such call. A session that has recorded nothing gives an export without objects. */
export async function readExport(
  runtime: Runtime,
  request: ExportRequest,
): Promise<AsyncGenerator<ExportPart, void, void> | null> {
  const session = runtime.session(request.session, { tenant: request.tenant })
  if (request.call === undefined) return parts(new Reader(runtime, session, request, null))
  const root = await session.calls.get({ uid: request.call })
  return root ? parts(new Reader(runtime, session, request, root)) : null
}

async function* parts(reader: Reader): AsyncGenerator<ExportPart, void, void> {
  yield { kind: 'header', data: reader.header }
  const sources: { readonly [K in ExportKind]: () => Source<K> } = {
    message: () => reader.messages(),
    call: () => reader.calls(),
    task: () => reader.tasks(),
    schedule: () => reader.schedules(),
    inbox: () => reader.inbox(),
    event: () => reader.events(),
  }
  for (const kind of exportKinds)
    for await (const data of sources[kind]()) if (reader.fits(kind, data)) yield { kind, data } as ExportPart
  yield { kind: 'end', data: reader.end }
}

function withoutInput(whole: Schedule): ExportedSchedule {
  const { input: _, ...schedule } = whole
  return schedule
}

const zeros = (): Record<ExportKind, number> =>
  Object.fromEntries(exportKinds.map((kind) => [kind, 0])) as Record<ExportKind, number>

class Reader {
  readonly header: ExportHeader
  readonly end: ExportEnd
  readonly #runtime: Runtime
  readonly #session: Session
  readonly #request: ExportRequest
  /** The only call to export, with those under it; null for the whole session. */
  readonly #root: CallSummary | null
  /** Uids of the exported calls; null for the whole session. */
  readonly #included: Set<string> | null
  readonly #counts = zeros()
  readonly #omitted = zeros()
  #characters = 0

  constructor(runtime: Runtime, session: Session, request: ExportRequest, root: CallSummary | null) {
    this.#runtime = runtime
    this.#session = session
    this.#request = request
    this.#root = root
    this.#included = root && new Set([root.uid])
    const { tenant, id } = session
    this.header = { ...exportFormat, tenant, session: id, call: root?.uid ?? null, exportedAt: request.now }
    this.end = { counts: this.#counts, omitted: this.#omitted }
  }

  /** Counts the object as exported or as omitted. */
  fits(kind: ExportKind, data: unknown): boolean {
    const { characters = Infinity } = this.#request.limits ?? {}
    const size = characters === Infinity || this.#isFull(kind) ? 0 : JSON.stringify(data).length
    const fits = !this.#isFull(kind) && this.#characters + size <= characters
    if (fits) this.#characters += size
    const counts = fits ? this.#counts : this.#omitted
    counts[kind]++
    return fits
  }

  #isFull(kind: ExportKind): boolean {
    return this.#counts[kind] >= (this.#request.limits?.[kind] ?? Infinity)
  }

  #includes(call: string): boolean {
    return this.#included?.has(call) ?? true
  }

  async *messages(): Source<'message'> {
    if (this.#root && !isTurn(this.#root)) return
    const turn = this.#root?.callId
    for (let after = 0; ;) {
      const page = await this.#session.messages.list({ after, limit: pageSize })
      const wanted = turn === undefined ? page : page.filter((message) => message.turn === turn)
      yield* await this.#session.redact(wanted)
      const last = page.at(-1)
      if (!last || page.length < pageSize) return
      after = last.number
    }
  }

  async *calls(): Source<'call'> {
    const { calls } = this.#session
    const parentOf = callParents(this.#session)
    const root = this.#root
    if (root) {
      const parent = await parentOf(root)
      const details = await this.#details(root, parent)
      if (details) yield details
    }
    // A call is recorded after the call that makes it.
    for (let after = root?.uid ?? ''; ;) {
      const page = await calls.list({ after, limit: pageSize })
      for (const call of page) {
        const parent = await parentOf(call)
        if (root && !this.#includes(parent ?? '')) continue
        this.#included?.add(call.uid)
        // Objects over the limit are only counted.
        const details = this.#isFull('call') ? { ...call, parent } : await this.#details(call, parent)
        if (details) yield details as ExportedCall
      }
      const last = page.at(-1)
      if (!last || page.length < pageSize) return
      after = last.uid
    }
  }

  /** Undefined if the call was erased meanwhile. */
  async #details({ uid }: CallSummary, parent: string | null): Promise<ExportedCall | undefined> {
    const details = await this.#session.calls.get({ uid }, { redacted: true })
    return details && this.#session.redact({ ...details, parent })
  }

  async *tasks(): Source<'task'> {
    for (let after: string | undefined; ;) {
      const page = await this.#session.tasks.list({
        limit: detailPageSize,
        ...(after === undefined ? {} : { after }),
      })
      for (const task of page) if (this.#includes(task.call)) yield await this.#task(task)
      const last = page.at(-1)
      if (!last || page.length < detailPageSize) return
      after = last.id
    }
  }

  async #task(whole: Task): Promise<ExportedTask> {
    const { outcome: _, ...task } = whole
    const { tasks } = this.#session
    const messages: ExportedTask['messages'][number][] = []
    for (let after: string | undefined; ;) {
      const page = await tasks.messages(task.id, { limit: pageSize, ...(after === undefined ? {} : { after }) })
      messages.push(...page)
      if (page.length < pageSize) break
      after = page.at(-1)?.id
    }
    const events: ExportedTask['events'][number][] = []
    for (;;) {
      const page = await tasks.events(task.id, { limit: pageSize, after: events.at(-1)?.number ?? 0 })
      events.push(...page)
      if (page.length < pageSize) break
    }
    return this.#session.redact({ ...task, messages, events })
  }

  async *schedules(): Source<'schedule'> {
    if (this.#root) return
    const all = await this.#session.schedules.list()
    yield* await this.#session.redact(all.map(withoutInput))
  }

  async *inbox(): Source<'inbox'> {
    const { tenant, session } = this.header
    for (let after = ''; ;) {
      const page = await this.#runtime.inbox({ tenant, session, limit: pageSize, ...(after === '' ? {} : { after }) })
      const wanted = page.filter(({ call, under }) => [call, ...under].some((uid) => this.#includes(uid)))
      yield* await this.#session.redact(wanted)
      const last = page.at(-1)
      if (!last || page.length < pageSize) return
      after = last.id
    }
  }

  async *events(): Source<'event'> {
    const page: ExportedEvent[] = []
    for await (const event of this.#session.events({ until: 'now' })) {
      if (event.at > this.#request.now) continue
      if (!this.#includes(event.call)) continue
      const { outcome: _, ...rest } = event
      page.push(rest)
      if (page.length === pageSize) yield* await this.#session.redact(page.splice(0))
    }
    yield* await this.#session.redact(page)
  }
}
