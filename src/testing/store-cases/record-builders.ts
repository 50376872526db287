// TESTING: the records that store cases write, with everything a case does not care about filled in.

import assert from 'node:assert/strict'
import { systemClock } from '../../core/clock.ts'
import type { CallPosition, CallProgress, CallRecord, StepRecord, WaitRecord } from '../../store/records/call-record.ts'
import type { NewEvent } from '../../store/records/event.ts'
import type { AttachmentRecord, Change, Committed, Guard, Store } from '../../store/store.ts'
import type { ManualClock } from '../manual-clock.ts'

export type Call = CallRecord

export const longAgo = Date.UTC(2026, 0, 1)

export const place = (over: Partial<CallPosition> = {}): CallPosition => ({
  tenant: 't',
  session: 's',
  batch: '',
  id: 'c',
  occurrence: 0,
  ...over,
})

/** A call that stands at a place of its own, held by nobody. */
export function callRecord(uid: string, over: Partial<CallRecord> = {}): CallRecord {
  return {
    uid,
    position: place({ id: uid }),
    principal: null,
    tool: 'tool',
    input: '{}',
    hash: `hash of ${uid}`,
    options: null,
    line: null,
    createdAt: longAgo,
    state: 'received',
    args: null,
    terms: null,
    attempt: 0,
    startedAt: null,
    wait: null,
    outcome: null,
    settledAt: null,
    deaths: 0,
    trouble: null,
    fence: 1,
    owner: null,
    ...over,
  }
}

export function progressOf(call: CallRecord, over: Partial<CallProgress> = {}): CallProgress {
  const { state, args, terms, attempt, startedAt, wait, outcome, settledAt, deaths, trouble } = call
  return { state, args, terms, attempt, startedAt, wait, outcome, settledAt, deaths, trouble, ...over }
}

export const settled = (call: CallRecord, outcome = '{"status":"success","value":null}'): CallProgress =>
  progressOf(call, { state: 'settled', outcome, settledAt: longAgo })

export const stepRecord = (call: string, key: string, over: Partial<StepRecord> = {}): StepRecord => ({
  call,
  key,
  state: 'done',
  input: null,
  value: 'null',
  round: 1,
  at: longAgo,
  ...over,
})

export const waitRecord = (id: string, call: string, over: Partial<WaitRecord> = {}): WaitRecord => ({
  id,
  call,
  name: `name of ${id}`,
  salt: `salt of ${id}`,
  keyHash: `key of ${id}`,
  deadline: longAgo + 60_000,
  createdAt: longAgo,
  terms: null,
  resolution: null,
  ...over,
})

export const attachmentRecord = (id: string, over: Partial<AttachmentRecord> = {}): AttachmentRecord => ({
  id,
  tenant: 't',
  mediaType: 'text/plain',
  name: null,
  data: new Uint8Array([1, 2, 3]),
  ...over,
})

/** An event whose `at` tells it apart. */
export const eventRecord = (at: number, over: { tenant?: string; session?: string; call?: string } = {}): NewEvent => ({
  type: 'call.started',
  tenant: 't',
  session: 's',
  call: 'c',
  ...over,
  at,
  body: { attempt: 1 },
})

export const holds = (call: CallRecord, fence = call.fence): Guard => ({ kind: 'holds', call: call.uid, fence })
export const absent = (position: CallPosition): Guard => ({ kind: 'absent', position })
export const open = (wait: string): Guard => ({ kind: 'open', wait })

/** A change with the parts a case names. */
export const change = (parts: Partial<Change>): Change => ({ guards: [], events: [], ...parts })

/** Puts calls on record, all in one tick, and insists that they are. */
export async function insert(store: Store, ...calls: readonly CallRecord[]): Promise<void> {
  const answers = await Promise.all(
    calls.map((call) => store.commit(change({ guards: [absent(call.position)], insertCall: call }))),
  )
  for (const answer of answers) accepted(answer)
}

export async function insertWaits(store: Store, ...waits: readonly WaitRecord[]): Promise<void> {
  accepted(await store.commit(change({ insertWaits: waits })))
}

/** Answers a wait as the engine does: only while it is open. */
export const answering = (wait: string, resolution = '{"value":1}'): Change =>
  change({ guards: [open(wait)], resolveWait: { id: wait, resolution } })

/** Parks a call on a wait as the engine does: only while the call is held and the wait is open. */
export const parking = (call: CallRecord, wait: string): Change =>
  change({
    guards: [holds(call), open(wait)],
    updateCall: { uid: call.uid, progress: progressOf(call, { state: 'parked', wait }), release: true },
  })

/** The answer to a riding change. */
export const riding = (store: Store, ride: Change): Promise<Committed> =>
  new Promise((resolve, reject) => {
    store.write(ride, (answer) => ('failed' in answer ? reject(answer.failed) : resolve(answer)), { ride: true })
  })

export function accepted(answer: Committed): void {
  assert.deepEqual(answer, { ok: true })
}

export function refused(answer: Committed, guard: Guard): void {
  assert.deepEqual(answer, { ok: false, refused: guard })
}

/** A row as a plain object: whose prototype it has is not promised. */
export const plain = <T extends object>(row: T | undefined): T | undefined => row && { ...row }

export const byKey = <T>(rows: readonly T[], key: (row: T) => string): T[] =>
  rows.map((row) => ({ ...row })).toSorted((a, b) => (key(a) < key(b) ? -1 : 1))

/** Tool names in which the calls of a case stand, as a claimer knows them. */
export const tools = ['tool']

/**
 * Looks until there is something, moving the clock between looks. A store with a clock of its own gets real time to let it pass; the
 * deadline is real too.
 */
export async function eventually<T>(
  clock: ManualClock,
  what: string,
  look: () => Promise<T | undefined | false>,
): Promise<T> {
  const giveUp = systemClock.monotonic() + 10_000
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    assert.ok(systemClock.monotonic() < giveUp, `${what}: not within 10 s`)
    await clock.advance(50)
  }
}
