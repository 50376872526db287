// Builders and assertions for the store cases. Builders fill in every field that a case does not set.

import assert from 'node:assert/strict'
import { systemClock } from '../../core/clock.ts'
import type { CallPosition, CallProgress, CallRecord, StepRecord, WaitRecord } from '../../store/records/call-record.ts'
import type { NewEvent } from '../../store/records/event.ts'
import type { AttachmentRecord, Change, Committed, Guard, Store } from '../../store/store.ts'
import type { ManualClock } from '../manual-clock.ts'

export type Call = CallRecord

export const longAgo = Date.UTC(2026, 0, 1)

export const callPosition = (over: Partial<CallPosition> = {}): CallPosition => ({
  tenant: 't',
  session: 's',
  batch: '',
  id: 'c',
  occurrence: 0,
  ...over,
})

/** A call at its own position, without an owner. */
export function callRecord(uid: string, over: Partial<CallRecord> = {}): CallRecord {
  return {
    uid,
    position: callPosition({ id: uid }),
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

export const settledProgress = (call: CallRecord, outcome = '{"status":"success","value":null}'): CallProgress =>
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

/** An event that is identified by its `at`. */
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

/** A change with the given parts. */
export const change = (parts: Partial<Change>): Change => ({ guards: [], events: [], ...parts })

/** Inserts calls in one tick and asserts that all are accepted. */
export async function insert(store: Store, ...calls: readonly CallRecord[]): Promise<void> {
  const answers = await Promise.all(
    calls.map((call) => store.commit(change({ guards: [absent(call.position)], insertCall: call }))),
  )
  for (const answer of answers) assertAccepted(answer)
}

export async function insertWaits(store: Store, ...waits: readonly WaitRecord[]): Promise<void> {
  assertAccepted(await store.commit(change({ insertWaits: waits })))
}

/** Answers a wait as the engine does: only while it is open. */
export const answerWait = (wait: string, resolution = '{"value":1}'): Change =>
  change({ guards: [open(wait)], resolveWait: { id: wait, resolution } })

/** Parks a call on a wait as the engine does: only while the caller holds the call and the wait is open. */
export const parkCall = (call: CallRecord, wait: string): Change =>
  change({
    guards: [holds(call), open(wait)],
    updateCall: { uid: call.uid, progress: progressOf(call, { state: 'parked', wait }), release: true },
  })

/** Writes a change that may wait for the next commit (`ride`), and resolves with its answer. */
export const attachWrite = (store: Store, ride: Change): Promise<Committed> =>
  new Promise((resolve, reject) => {
    store.write(ride, (answer) => ('failed' in answer ? reject(answer.failed) : resolve(answer)), { ride: true })
  })

export function assertAccepted(answer: Committed): void {
  assert.deepEqual(answer, { ok: true })
}

export function assertRefused(answer: Committed, guard: Guard): void {
  assert.deepEqual(answer, { ok: false, refused: guard })
}

/** Copies a row to a plain object: stores may return rows with any prototype. */
export const plain = <T extends object>(row: T | undefined): T | undefined => row && { ...row }

export const sortedBy = <T>(rows: readonly T[], key: (row: T) => string): T[] =>
  rows.map((row) => ({ ...row })).toSorted((a, b) => (key(a) < key(b) ? -1 : 1))

/** The tool names that the cases claim with. */
export const tools = ['tool']

/**
 * Polls until `look` returns something, advancing the clock between polls. Real time passes as well, for stores with
 * their own clock; the limit of 10 s is real time.
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
