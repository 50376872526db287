// Counts that many calls share, such as what a session has used of its budget (POL-8), kept in the store and changed by compare-and-set.
//
// Each count is one change with a mark on its call: a step that later executions find, so that none is counted twice. Calls of this worker that
// change the same counts wait for each other and are written together, in the order they came; who loses against another worker reads again and
// counts again. A change is durable before its call goes on.

import { isSealedUid } from '../../store/records/sealed-uid.ts'
import type { CallRecord, StepRecord } from '../../store/records/call-record.ts'
import type { EventBodies, EventType, NewEvent } from '../../store/records/event.ts'
import { PawlError } from '../../core/errors.ts'
import { frame } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import type { Change, Guard, DocumentName, Store, Written } from '../../store/store.ts'
import type { Stop, CounterUpdate } from '../engine.ts'

/** How many calls are counted in one change. */
const mostAtOnce = 200
/** Whoever is refused was overtaken by one that was not, so somebody always gets on; this is for whoever never does. */
const mostTries = 200

/** A call that is to be counted. */
export interface ToCount {
  readonly held: {
    readonly request: Pick<CallRecord, 'uid' | 'fence'>
    readonly stopped: Stop | null
    judge(answer: Written): boolean
    event<T extends EventType>(type: T, at: number, body: EventBodies[T]): NewEvent
  }
  readonly known: { step(key: string): StepRecord | undefined; keep(step: StepRecord): void }
  readonly tally: CounterUpdate
}

interface Waiting extends ToCount {
  resolve(mark: string): void
  reject(error: unknown): void
}

/** What is kept under a name, as far as this worker knows. */
interface Row {
  readonly name: DocumentName
  readonly revision: number
  readonly value: string | null
  readonly secret?: true
}

/** Those that change the same counts. */
interface Lane {
  readonly waiting: Waiting[]
  /** As it was last read or written; whether it still is, the store says. */
  readonly rows: Map<string, Row>
}

const placeOf = ({ of, tenant, session, key }: DocumentName): string => frame(of, tenant, session, key)
const isOver = ({ held: { stopped } }: ToCount): boolean => stopped !== null && 'over' in stopped

export class Counters {
  readonly #store: Store
  readonly #clock: Clock
  readonly #lanes = new Map<string, Lane>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  async add(call: ToCount): Promise<string> {
    const found = call.known.step(call.tally.key)
    if (found) return found.value as string
    return new Promise((resolve, reject) => {
      const place = placeOf(call.tally.names[0] as DocumentName)
      const open = this.#lanes.get(place)
      const lane = open ?? { waiting: [], rows: new Map<string, Row>() }
      lane.waiting.push({ ...call, resolve, reject })
      if (open) return
      this.#lanes.set(place, lane)
      void this.#drain(place, lane)
    })
  }

  /** One write at a time; what comes meanwhile goes with the next. Never throws: each call hears of its own. */
  async #drain(place: string, lane: Lane): Promise<void> {
    await Promise.resolve() // its siblings are on their way
    while (lane.waiting.length > 0) await this.#counted(nextOf(lane.waiting), lane)
    this.#lanes.delete(place)
  }

  async #counted(group: readonly Waiting[], lane: Lane): Promise<void> {
    let open = group
    for (let tries = 0; tries < mostTries; tries++) {
      // Whose execution is over by now is counted when the call is taken up again.
      for (const each of open.filter(isOver)) ended(each)
      open = open.filter((each) => !isOver(each))
      if (open.length === 0) return
      let answer: Written
      let steps: readonly StepRecord[] = []
      let rows: readonly Row[] = []
      try {
        await this.#read(open, lane)
        let change: Change
        ;({ change, steps, rows } = this.#change(open, lane))
        answer = await new Promise((heard) => this.#store.write(change, heard))
      } catch (failed) {
        answer = { failed }
      }
      if ('failed' in answer) return fails(open, lane, answer)
      if (answer.ok) {
        // Of a lane that is never idle, only what the last group was about: it may serve thousands of sessions.
        lane.rows.clear()
        for (const row of rows) lane.rows.set(placeOf(row.name), row)
        for (const [order, each] of open.entries()) counts(each, steps[order] as StepRecord)
        return
      }
      const { refused } = answer
      if (refused.kind === 'kept') lane.rows.clear()
      // The others are still to be counted.
      else for (const { held } of open) if ('call' in refused && refused.call === held.request.uid) held.judge(answer)
    }
    for (const { reject } of open)
      reject(new PawlError('store_unavailable', 'Others were always first to change what is counted.'))
  }

  async #read(group: readonly Waiting[], { rows }: Lane): Promise<void> {
    const missing = new Map<string, DocumentName>()
    for (const { tally } of group)
      for (const name of tally.names) if (!rows.has(placeOf(name))) missing.set(placeOf(name), name)
    await Promise.all(
      [...missing].map(async ([place, name]) => {
        const { revision = 0, value = null } = (await this.#store.document(name)) ?? {}
        rows.set(place, { name, revision, value })
      }),
    )
  }

  /** All of them in one change, each on what the one before it left; and what is kept once it is written. */
  #change(
    group: readonly Waiting[],
    lane: Lane,
  ): { change: Change; steps: readonly StepRecord[]; rows: readonly Row[] } {
    const rows = new Map<string, Row>()
    const events: NewEvent[] = []
    const at = this.#clock.now()
    const steps = group.map(({ held, tally }) => {
      const before = tally.names.map((name) => rows.get(placeOf(name)) ?? (lane.rows.get(placeOf(name)) as Row))
      const { documents, mark } = tally.count(before.map(({ value }) => value))
      const sealed = tally.secret ? { secret: true as const } : {}
      if (tally.tells && documents.some((value, order) => value !== before[order]?.value))
        events.push(held.event(tally.tells.type, at, tally.tells.body))
      for (const [order, { name, revision }] of before.entries())
        rows.set(placeOf(name), { name, revision, value: documents[order] as string | null, ...sealed })
      return { call: held.request.uid, key: tally.key, state: 'done' as const, input: null, value: mark, round: 1, at }
    })
    const all = [...rows.values()]
    const guards: Guard[] = [
      ...group.map(({ held: { request } }) => ({ kind: 'holds' as const, call: request.uid, fence: request.fence })),
      ...all.map(({ name, revision }) => ({ kind: 'kept' as const, revision, ...name })),
    ]
    const documents = all.map(({ name, value, secret }) => ({ ...name, value, ...(secret ? { secret } : {}) }))
    const next = all.map((row) => ({ ...row, revision: row.value === null ? 0 : row.revision + 1 }))
    return { change: { guards, steps, documents: documents, events }, steps, rows: next }
  }
}

/** As many as go into one change: whether that is sealed is asked once for all of it. */
function nextOf(waiting: Waiting[]): Waiting[] {
  const isSealed = isSealedUid((waiting[0] as Waiting).held.request.uid)
  const end = waiting.findIndex(({ held }) => isSealedUid(held.request.uid) !== isSealed)
  return waiting.splice(0, Math.min(end === -1 ? waiting.length : end, mostAtOnce))
}

function counts(each: Waiting, step: StepRecord): void {
  each.known.keep(step)
  if (isOver(each)) ended(each)
  else each.resolve(step.value as string)
}

function ended({ held, reject }: Waiting): void {
  reject((held.stopped as { over: PawlError }).over)
}

/** Whether it is on record nobody knows; or, with `alone`, it cannot be. */
function fails(group: readonly Waiting[], lane: Lane, answer: Extract<Written, { failed: unknown }>): void {
  lane.rows.clear()
  for (const each of group) {
    if (answer.alone)
      each.reject(new PawlError('value_invalid', 'The store cannot hold what is counted.', { cause: answer.failed }))
    else {
      each.held.judge(answer)
      ended(each)
    }
  }
}
