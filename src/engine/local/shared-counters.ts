// Counters shared by many calls, such as the used budget of a session: documents changed by compare-and-set.
//
// Each update is committed with a mark on its call, a step that later executions find, so no call is counted twice.
// Calls of this worker that update the same counters are queued and committed together in order of arrival. If another
// worker commits first, the group reads again and recomputes. An update is durable before its call continues.

import { type CallRecord, type StepRecord, isSealedUid } from '../../store/records/call-record.ts'
import type { EventBodies, EventType, NewEvent } from '../../store/records/event.ts'
import { PawlError } from '../../core/errors.ts'
import { lengthPrefixed } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import type { Change, DocumentName, Guard, Store, Written } from '../../store/store.ts'
import type { CounterUpdate, Stop } from '../engine.ts'

/** Maximum number of calls per commit. */
const maxBatch = 200
/**
 * A rejected commit means that another one succeeded, so the fleet makes progress; this limits the retries of one
 * worker.
 */
const maxTries = 200

export interface CounterRequest {
  readonly leased: {
    readonly request: Pick<CallRecord, 'uid' | 'fence'>
    readonly stopped: Stop | null
    confirmWrite(answer: Written): boolean
    event<T extends EventType>(type: T, at: number, body: EventBodies[T]): NewEvent
  }
  readonly journal: { step(key: string): StepRecord | undefined; setStep(step: StepRecord): void }
  readonly update: CounterUpdate
}

interface PendingRequest extends CounterRequest {
  resolve(mark: string): void
  reject(error: unknown): void
}

/** A counter document as this worker last read or wrote it. */
interface Row {
  readonly name: DocumentName
  readonly revision: number
  readonly value: string | null
  readonly secret?: true
}

/** Queue of the calls that update the same counters. */
interface Lane {
  readonly waiting: PendingRequest[]
  /** As last read or written; the commit's guard detects a stale row. */
  readonly rows: Map<string, Row>
}

const documentKey = ({ of, tenant, session, key }: DocumentName): string => lengthPrefixed(of, tenant, session, key)
const isOver = ({ leased: { stopped } }: CounterRequest): boolean => stopped !== null && 'over' in stopped

export class Counters {
  readonly #store: Store
  readonly #clock: Clock
  readonly #lanes = new Map<string, Lane>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  async add(call: CounterRequest): Promise<string> {
    const found = call.journal.step(call.update.key)
    if (found) return found.value as string
    return new Promise((resolve, reject) => {
      const laneKey = documentKey(call.update.names[0] as DocumentName)
      const open = this.#lanes.get(laneKey)
      const lane = open ?? { waiting: [], rows: new Map<string, Row>() }
      lane.waiting.push({ ...call, resolve, reject })
      if (open) return
      this.#lanes.set(laneKey, lane)
      void this.#drain(laneKey, lane)
    })
  }

  /** One commit at a time; later arrivals join the next one. Never throws: each call gets its own result. */
  async #drain(laneKey: string, lane: Lane): Promise<void> {
    await Promise.resolve() // lets sibling calls join the first commit
    while (lane.waiting.length > 0) await this.#commitGroup(takeGroup(lane.waiting), lane)
    this.#lanes.delete(laneKey)
  }

  async #commitGroup(group: readonly PendingRequest[], lane: Lane): Promise<void> {
    let open = group
    for (let tries = 0; tries < maxTries; tries++) {
      // A call whose execution has ended is counted when it is claimed again.
      for (const each of open.filter(isOver)) rejectEnded(each)
      open = open.filter((each) => !isOver(each))
      if (open.length === 0) return
      let answer: Written
      let steps: readonly StepRecord[] = []
      let rows: readonly Row[] = []
      try {
        await this.#read(open, lane)
        let change: Change
        ;({ change, steps, rows } = this.#change(open, lane))
        answer = await new Promise((resolve) => this.#store.write(change, resolve))
      } catch (failed) {
        answer = { failed }
      }
      if ('failed' in answer) return rejectAll(open, lane, answer)
      if (answer.ok) {
        // Keep only the rows of the last group: a lane that is never idle may serve thousands of sessions.
        lane.rows.clear()
        for (const row of rows) lane.rows.set(documentKey(row.name), row)
        for (const [order, each] of open.entries()) complete(each, steps[order] as StepRecord)
        return
      }
      const { refused } = answer
      if (refused.kind === 'kept') lane.rows.clear()
      // Only the call whose guard failed has lost its lease; the loop retries the others.
      else
        for (const { leased } of open)
          if ('call' in refused && refused.call === leased.request.uid) leased.confirmWrite(answer)
    }
    for (const { reject } of open)
      reject(
        new PawlError('store_unavailable', `Other writers changed the counters first, ${maxTries} times in a row.`),
      )
  }

  async #read(group: readonly PendingRequest[], { rows }: Lane): Promise<void> {
    const missing = new Map<string, DocumentName>()
    for (const { update } of group)
      for (const name of update.names) if (!rows.has(documentKey(name))) missing.set(documentKey(name), name)
    await Promise.all(
      [...missing].map(async ([key, name]) => {
        const { revision = 0, value = null } = (await this.#store.document(name)) ?? {}
        rows.set(key, { name, revision, value })
      }),
    )
  }

  /**
   * Builds one change in which each update sees the result of the previous one, and the rows to cache once it is
   * committed.
   */
  #change(
    group: readonly PendingRequest[],
    lane: Lane,
  ): { change: Change; steps: readonly StepRecord[]; rows: readonly Row[] } {
    const rows = new Map<string, Row>()
    const events: NewEvent[] = []
    const at = this.#clock.now()
    const steps = group.map(({ leased, update }) => {
      const before = update.names.map(
        (name) => rows.get(documentKey(name)) ?? (lane.rows.get(documentKey(name)) as Row),
      )
      const { documents, mark } = update.count(before.map(({ value }) => value))
      const sealed = update.secret ? { secret: true as const } : {}
      if (update.event && documents.some((value, order) => value !== before[order]?.value))
        events.push(leased.event(update.event.type, at, update.event.body))
      for (const [order, { name, revision }] of before.entries())
        rows.set(documentKey(name), { name, revision, value: documents[order] as string | null, ...sealed })
      return {
        call: leased.request.uid,
        key: update.key,
        state: 'done' as const,
        input: null,
        value: mark,
        round: 1,
        at,
      }
    })
    const all = [...rows.values()]
    const guards: Guard[] = [
      ...group.map(({ leased: { request } }) => ({ kind: 'holds' as const, call: request.uid, fence: request.fence })),
      ...all.map(({ name, revision }) => ({ kind: 'kept' as const, revision, ...name })),
    ]
    const documents = all.map(({ name, value, secret }) => ({ ...name, value, ...(secret ? { secret } : {}) }))
    const next = all.map((row) => ({ ...row, revision: row.value === null ? 0 : row.revision + 1 }))
    return { change: { guards, steps, documents, events }, steps, rows: next }
  }
}

/** Takes the calls of one commit. They are all sealed or all plain, because encryption applies to a whole change. */
function takeGroup(waiting: PendingRequest[]): PendingRequest[] {
  const isSealed = isSealedUid((waiting[0] as PendingRequest).leased.request.uid)
  const end = waiting.findIndex(({ leased }) => isSealedUid(leased.request.uid) !== isSealed)
  return waiting.splice(0, Math.min(end === -1 ? waiting.length : end, maxBatch))
}

function complete(each: PendingRequest, step: StepRecord): void {
  each.journal.setStep(step)
  if (isOver(each)) rejectEnded(each)
  else each.resolve(step.value as string)
}

function rejectEnded({ leased, reject }: PendingRequest): void {
  reject((leased.stopped as { over: PawlError }).over)
}

/** The write failed. With `alone` the store rejected this content; otherwise the change may or may not be recorded. */
function rejectAll(group: readonly PendingRequest[], lane: Lane, answer: Extract<Written, { failed: unknown }>): void {
  lane.rows.clear()
  for (const each of group) {
    if (answer.alone)
      each.reject(new PawlError('value_invalid', 'The store rejected the counter documents.', { cause: answer.failed }))
    else {
      each.leased.confirmWrite(answer)
      rejectEnded(each)
    }
  }
}
