// Batches: the calls of one model message on their way. Says to the queue what is coming before anything starts, starts the calls in
// order, and hands each outcome to whoever gathers them (gather.ts). Cancelling, stopping at a failure and nested calls all end here.

import { hash } from 'node:crypto'
import { type ReadArguments, readArguments } from '../call/arguments.ts'
import type { Pace } from '../call/family.ts'
import type { HookFacts } from '../call/hook.ts'
import type { ModelPart } from '../call/project.ts'
import type { Place as Turn } from '../call/line.ts'
import { abortsTurn, type Queue } from '../call/queue.ts'
import type { Show } from '../call/show.ts'
import type { Asked, Engine, Invocation, Started } from '../engine/engine.ts'
import type { CallOptions, CallPosition, CallRecord } from '../journal/call-state.ts'
import { canonicalText } from '../kernel/canonical.ts'
import { milliseconds } from '../kernel/duration.ts'
import type { Soon } from '../kernel/soon.ts'
import { failure, type Outcome } from '../kernel/outcome.ts'
import { decode, type Json } from '../kernel/value.ts'
import type { NestedOutcome } from '../tool/context.ts'
import type { Clocks, Concurrency } from '../tool/terms.ts'
import type { Entry } from '../tool/toolset.ts'
import { type CallAsk, type CallOutcome, clockValues } from './ask.ts'
import { Batch, type How, type Why } from './gather.ts'
import type { Standing } from './standing.ts'

export interface Place {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
}

const none: readonly never[] = []

export class Batches {
  readonly #engine: () => Engine
  readonly #queue: Queue
  readonly #standing: Standing
  readonly #show: Show
  readonly #mayAbort: boolean
  /** Open calls of this process, for cancelling a session. */
  readonly #open = new Map<string, CallPosition>()

  constructor(host: { engine: () => Engine; queue: Queue; standing: Standing; show: Show; mayAbort: boolean }) {
    this.#engine = host.engine
    this.#queue = host.queue
    this.#standing = host.standing
    this.#show = host.show
    this.#mayAbort = host.mayAbort
  }

  run(place: Place, calls: readonly CallAsk[], how: How): Promise<CallOutcome[]> {
    const seen = new Map<string, number>()
    const kinds: Concurrency['kind'][] = []
    const asks = calls.map((call, order) => {
      const occurrence = seen.get(call.id) ?? 0
      seen.set(call.id, occurrence + 1)
      const entry = how.tools.find(call.name)
      kinds.push(entry?.kind ?? 'parallel')
      return askedOf(call, entry, place, { batch: how.batch, occurrence, order, root: how.root, above: how.above })
    })
    const turns = this.#expect(place, asks, kinds, how)
    const open = { tools: how.tools, tenant: place.tenant, session: place.session, calls: asks }
    this.#standing.began(open)
    const batch = new Batch(how, calls, turns, this.#engine(), () => this.#standing.over(open))
    // All are started before any is waited for. One that cannot be known (the store or the runtime is gone) rejects the batch at once:
    // its siblings may be parked for days. They go on, and the same batch asked again finds them.
    for (const [order, asked] of asks.entries()) this.#start(asked, order, batch)
    return batch.outcomes
  }

  /** Other tools under a call: a batch of its own, named by the call and the place in its body, so that a rerun finds it again. */
  async nested(
    parent: Invocation,
    calls: readonly CallAsk[],
    { name, pace }: { name: string; pace: Pace | null },
  ): Promise<NestedOutcome[]> {
    const { position, principal, uid } = parent.request
    const { root, above = [] } = parent.options
    const stop = new AbortController()
    const forget = parent.onStop((why) =>
      stop.abort('over' in why ? { reason: 'The call above it ended', by: null } : { reason: why.cancel, by: why.by }),
    )
    const family = pace && this.#queue.families.of(uid, pace)
    try {
      const returning = family?.together()
      if (returning) await returning
      family?.began(calls.length)
      const outcomes = await this.run({ tenant: position.tenant, session: position.session, principal }, calls, {
        tools: this.#standing.of(parent.request),
        // By the uid: no choice of names makes the calls of two parents meet.
        batch: `${uid}/${name}`,
        onFailure: 'continue',
        signal: stop.signal,
        root: root ?? uid,
        ...(root === undefined ? {} : { above: [...above, uid] }),
        ...(family ? { family } : {}),
      })
      await family?.together()
      return outcomes
    } finally {
      forget()
      if (family) this.#queue.families.over(uid, family)
    }
  }

  async cancel(of: { tenant: string; session: string }, why: Why): Promise<number> {
    const mine = [...this.#open].filter(([, place]) => place.tenant === of.tenant && place.session === of.session)
    const stopped = await Promise.all(mine.map(([uid]) => this.#engine().cancel(uid, why)))
    return stopped.filter(Boolean).length
  }

  /** Calls that come back after a crash stand in line again, in their order, before any of them goes on. */
  returning(records: readonly CallRecord[]): void {
    const placed = records.map((record) => {
      const { order = 0, batch } = record.options === null ? ({} as CallOptions) : (JSON.parse(record.options) as CallOptions)
      return { record, order, batch: batch ?? record.position.batch }
    })
    // Runs without a name are not told apart any more, and stand in one line.
    for (const { record, batch } of placed.toSorted((a, b) => a.order - b.order)) {
      const entry = this.#standing.of(record).find(record.tool)
      if (!entry || record.wait !== null) continue
      this.#queue.returns(this.#queue.line(record.position, batch), record.position, entry.kind)
    }
  }

  /** What runs alone, or together with everything beside it, needs no line. A batch with a name may be asked for in several runs. */
  #expect(place: Place, asks: readonly Asked[], kinds: readonly Concurrency['kind'][], how: How): readonly Turn[] {
    const { batch, root } = how
    const strict = how.onFailure === 'stop'
    const inPieces = batch !== '' && root === undefined
    const matters = asks.length > 1 && (strict || this.#mayAbort || kinds.some((kind) => kind !== 'parallel'))
    if (!inPieces && !matters) return none
    const line = this.#queue.line(place, batch === '' ? null : batch)
    return asks.map(({ position }, order) => this.#queue.expect(line, position, kinds[order] ?? 'parallel', strict))
  }

  #judged(order: number, { places, how }: Batch, uid = ''): void {
    const turn = places[order]
    if (turn) this.#queue.judged(turn)
    how.family?.settled(uid)
  }

  #start(asked: Asked, order: number, batch: Batch): void {
    if (batch.stopped) return this.#end(asked, order, batch, 0, notStarted(batch.stopped.reason))
    const failed = (error: unknown): void => {
      this.#judged(order, batch)
      batch.failed(error)
    }
    try {
      const started = this.#engine().start(asked)
      if (started instanceof Promise) started.then((found) => this.#join(found, asked, order, batch), failed)
      else this.#join(started, asked, order, batch)
    } catch (error) {
      failed(error)
    }
  }

  #join(started: Started, asked: Asked, order: number, batch: Batch): void {
    if (started.as === 'conflict') return this.#end(asked, order, batch, 0, conflict(batch.calls[order] as CallAsk, started.recorded))
    const { uid, settled } = started
    this.#open.set(uid, asked.position)
    batch.joined(uid)
    const over = (): void => {
      this.#open.delete(uid)
      batch.left(uid)
    }
    settled.then(
      ({ attempts, outcome, text }) => {
        over()
        this.#end(asked, order, batch, attempts, outcome, uid, text)
      },
      (error: unknown) => {
        over()
        this.#judged(order, batch, uid)
        batch.failed(error)
      },
    )
  }

  #end(asked: Asked, order: number, batch: Batch, attempts: number, outcome: Outcome, uid = '', text?: string): void {
    try {
      const call = batch.calls[order] as CallAsk
      if (stops(outcome, batch.how)) batch.stop({ reason: `Stopped because '${call.id}' failed`, by: null })
      const shown = this.#shown(asked, order, batch, attempts, outcome, uid, text)
      if (shown instanceof Promise)
        shown.then(
          (told) => batch.done(order, told),
          (error: unknown) => batch.failed(error),
        )
      else batch.done(order, shown)
    } catch (error) {
      batch.failed(error)
    } finally {
      this.#judged(order, batch, uid)
    }
  }

  /** A promise only if a hook has a word about what the model reads. */
  #shown(asked: Asked, order: number, batch: Batch, attempts: number, outcome: Outcome, uid: string, text?: string): Soon<CallOutcome> {
    const call = batch.calls[order] as CallAsk
    // What a nested call returns is read by a body, not by a model.
    const parts = this.#show(outcome, uid, batch.how.root === undefined ? () => factsOf(call, asked, batch.how) : null, text)
    const told = (read: readonly ModelPart[]): CallOutcome => {
      const shown = { ...outcome, callId: call.id, name: call.name, attempts, parts: read }
      return call.meta === undefined ? shown : { ...shown, meta: call.meta }
    }
    return parts instanceof Promise ? parts.then(told) : told(parts)
  }
}

function factsOf(call: CallAsk, { position, principal, input }: Asked, { tools }: How): HookFacts {
  const tool = tools.find(call.name)?.name ?? call.name
  return { tenant: position.tenant, session: position.session, principal, callId: call.id, tool, input: decode(input) }
}

const stops = (outcome: Outcome, how: How): boolean => outcome.status === 'failure' && (how.onFailure === 'stop' || abortsTurn(outcome))

const notStarted = (reason: string): Outcome => ({
  status: 'cancelled',
  cancellation: { message: `${reason}; it was not started`, source: 'cancellation' },
})

/** Where in its batch a call stands, and under what. */
interface Around {
  readonly batch: string
  readonly order: number
  readonly root: string | undefined
  readonly above: readonly string[] | undefined
}

/** The occurrence of a call that is named by a key: no batch and id have it. */
const byKey = -1

/** The call as it goes on record: its input in recorded form, what came with it, and the hash by which it is known again. */
function askedOf(call: CallAsk, entry: Entry | undefined, place: Place, at: { occurrence: number } & Around): Asked {
  const read = readArguments(call.input)
  const { idempotencyKey: key } = call
  const position: CallPosition =
    key === undefined
      ? { tenant: place.tenant, session: place.session, batch: at.batch, id: call.id, occurrence: at.occurrence }
      : { tenant: place.tenant, session: place.session, batch: '', id: key, occurrence: byKey }
  const tool = entry?.keys[0] ?? call.name
  const input = read.ok ? read.wire : 'null'
  const content = read.ok ? canonicalText(read.wire, JSON.parse(read.wire) as Json) : JSON.stringify(read.raw)
  return {
    position,
    principal: place.principal,
    tool,
    input,
    // Of the content, not of the text: the same arguments in another order of keys are the same call.
    hash: hash('sha256', `[${JSON.stringify(call.name)},${content}]`, 'base64url'),
    options: optionsOf(call, tool, read, at),
  }
}

function optionsOf(call: CallAsk, tool: string, read: ReadArguments, { batch, order, root, above }: Around): CallOptions | null {
  const options: { -readonly [K in keyof CallOptions]: CallOptions[K] } = {}
  if (tool !== call.name) options.name = call.name
  if (read.raw !== null) options.raw = read.raw
  if (!read.ok) options.unreadable = read.problem
  if (call.idempotencyKey !== undefined) options.callId = call.id
  if (call.idempotencyKey !== undefined && batch !== '') options.batch = batch
  if (call.meta !== undefined) options.meta = JSON.parse(JSON.stringify(call.meta)) as Json // refused before anything starts
  if (call.timeout !== undefined) options.timeout = inMs(clockValues(call.timeout))
  if (call.deadline !== undefined) options.deadline = Number(call.deadline)
  if (order !== 0) options.order = order
  if (root !== undefined) options.root = root
  if (above !== undefined) options.above = above
  for (const _ in options) return options
  return null
}

const inMs = (clocks: Clocks): Record<string, number> =>
  Object.fromEntries(Object.entries(clocks).map(([name, duration]) => [name, milliseconds(duration, `timeout.${name}`)]))

function conflict(call: CallAsk, recorded: { tool: string; input: string }): Outcome {
  // Whose tool it was is nothing to a model.
  const [tool] = recorded.tool.split('@')
  const message = `A call with id '${call.id}' is on record with other content (tool '${tool}'). It was not run. Use a new id for a new call.`
  return failure({ class: 'invalid_request', code: 'call_conflict', message })
}
