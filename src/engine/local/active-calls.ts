// The calls that this process runs or waits for, by position and by uid. Used by the local engine.

import { isThenable } from '../../core/maybe-promise.ts'
import { type CallPosition, type CallRecord, parseCallOptions } from '../../store/records/call-record.ts'
import { PawlError } from '../../core/errors.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Clock } from '../../core/clock.ts'
import { decode } from '../../core/tool-value.ts'
import type { SettledCall, NewCall, StartResult } from '../engine.ts'
import type { LocalExecution } from './local-execution.ts'
import { PositionMap } from '../../store/records/map-by-call-position.ts'
import type { CallTimes } from '../../store/records/call-times.ts'
import type { Store } from '../../store/store.ts'
import { sameContent } from '../compare-call-content.ts'

export class ActiveCall {
  readonly uid: string
  readonly position: CallPosition
  readonly hash: string
  readonly #options: string | null
  readonly promise: Promise<SettledCall>
  resolve!: (settled: SettledCall) => void
  #reject!: (why: unknown) => void
  #isServed = false
  /** As last read from the store. */
  parked = false
  isSettled = false
  /** The call is known to be recorded. */
  isRecorded = false
  /** Resolves when the call is recorded for other workers to run. */
  recording: Promise<void> | null = null
  /** Another process wrote about the call while it ran here. */
  changedWhileDriven = false
  /** Resolves when the current or last execution has ended. */
  driving: Promise<void> | null = null
  #execution: LocalExecution | null = null
  #onIdle: (() => void) | null = null

  constructor({ uid, position, hash, options }: CallRecord) {
    this.#options = options
    this.uid = uid
    this.position = position
    this.hash = hash
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.#reject = reject
    })
  }

  /**
   * Resolves when the call settles. The first caller gets the outcome object itself, later callers a copy, so that they
   * can change it safely.
   */
  settled(): Promise<SettledCall> {
    if (!this.#isServed) {
      this.#isServed = true
      return this.promise
    }
    return this.promise.then((end) => ({ ...end, outcome: decode(end.text) as unknown as Outcome }))
  }

  /** Set while this worker runs the call. */
  get execution(): LocalExecution | null {
    return this.#execution
  }

  setExecution(execution: LocalExecution): void {
    this.#execution = execution
    this.parked = false
    execution.onIdle = () => this.#onIdle?.()
  }

  /**
   * The call was claimed again under a new fence: ends the older execution and returns a promise of its end, if there
   * is one.
   */
  dropStale(fence: number): Promise<void> | null {
    const stale = this.#execution
    if (!stale || stale.request.fence === fence) return null
    this.release()
    stale.end(new PawlError('lease_lost'))
    return this.driving
  }

  /** The execution here has ended: the call settled, parked or was lost. */
  release(): void {
    this.#execution = null
    this.#onIdle?.()
  }

  /** The call waits for its answer; no worker owns it. */
  park(): void {
    this.parked = true
    this.release()
  }

  /** Resolves when the call is released or starts to wait. */
  untilIdle(): Promise<void> {
    return new Promise((resolve) => void (this.#onIdle = resolve))
  }

  /** Uid of the call whose body made this one. */
  get parent(): string | undefined {
    const { root, above } = parseCallOptions(this.#options)
    return above?.at(-1) ?? root
  }

  reject(why: unknown): void {
    this.promise.catch(() => {}) // a rejection without a waiter must not crash the process
    this.#reject(why)
  }
}

/** Waits until all bodies are idle or the grace period is over. Bodies that only wait are not waited for. */
export async function waitUntilIdle(
  activeCalls: ReadonlyMap<string, ActiveCall>,
  graceMs: number,
  clock: Clock,
): Promise<void> {
  let graceOver = graceMs === 0
  let stopTimer = (): void => {}
  const grace = new Promise<void>((resolve) => {
    stopTimer = clock.timer(graceMs, () => {
      graceOver = true
      resolve()
    })
  })
  for (let open = busyCalls(activeCalls); open.length > 0 && !graceOver; open = busyCalls(activeCalls)) {
    // Check again after each one: the others may have waited for it.
    await Promise.race([...open.map((active) => active.untilIdle()), grace])
  }
  stopTimer()
}

/** Calls that run here and are not idle. A rerunnable body that waits only for idle nested calls is idle too. */
function busyCalls(activeCalls: ReadonlyMap<string, ActiveCall>): ActiveCall[] {
  const driven = [...activeCalls.values()].filter(({ execution, parked }) => execution !== null || parked)
  const childrenOf = Map.groupBy(driven, ({ parent }) => parent)
  const isIdle = (active: ActiveCall): boolean => {
    if (active.execution === null || active.execution.idle) return true
    const children = active.execution.couldBeIdle ? childrenOf.get(active.uid) : undefined
    return children !== undefined && children.every(isIdle)
  }
  return driven.filter((active) => !isIdle(active))
}

export class ActiveCalls {
  readonly byUid = new Map<string, ActiveCall>()
  /** Holds pending starts too, so that two concurrent starts of one call become one. */
  readonly #byPosition = new PositionMap<ActiveCall | Promise<ActiveCall>>()
  readonly #clock: Clock
  #release = (): void => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  running(): CallPosition[] {
    return [...this.byUid.values()].flatMap(({ execution, position }) => (execution ? [position] : []))
  }

  at(position: CallPosition): ActiveCall | Promise<ActiveCall> | undefined {
    return this.#byPosition.get(position)
  }

  setAt(position: CallPosition, active: ActiveCall | Promise<ActiveCall>): void {
    this.#byPosition.set(position, active)
    if (isThenable(active)) active.catch(() => this.#byPosition.delete(position))
  }

  removeAt(position: CallPosition): void {
    this.#byPosition.delete(position)
  }

  getOrAdd(record: CallRecord): ActiveCall {
    return this.byUid.get(record.uid) ?? this.add(record)
  }

  add(record: CallRecord): ActiveCall {
    // An open call keeps the process alive, even if it only sleeps or waits.
    if (this.byUid.size === 0) this.#release = this.#clock.hold()
    const active = new ActiveCall(record)
    this.byUid.set(active.uid, active)
    return active
  }

  remove(active: ActiveCall): void {
    if (this.byUid.delete(active.uid) && this.byUid.size === 0) this.#release()
  }

  /** Drops older executions of calls that were claimed again. Returns promises that resolve when these have ended. */
  dropStale(records: readonly CallRecord[]): Promise<void>[] {
    return records.flatMap(({ uid, fence }) => this.byUid.get(uid)?.dropStale(fence) ?? [])
  }

  /** Removes the call and resolves its waiters. */
  settle(active: ActiveCall, request: CallRecord, attempts: number, text: string, times: CallTimes): void {
    active.release()
    active.isSettled = true
    this.remove(active)
    if (this.#byPosition.get(active.position) === active) this.#byPosition.delete(active.position)
    active.resolve({ request, attempts, outcome: decode(text) as unknown as Outcome, text, times })
  }

  /** Releases every call that runs here and rejects all waiters with `why`. */
  async close(why: PawlError): Promise<void> {
    const driven = [...this.byUid.values()].flatMap(({ execution }) => execution ?? [])
    for (const execution of driven) execution.leased.end(why)
    await Promise.allSettled(driven.map((execution) => execution.handBack()))
    for (const active of this.byUid.values()) active.reject(why)
    this.#release()
  }
}

/** Joins a request to the call at its position if the content is the same; otherwise it is a conflict. */
export function joinExisting(store: Store, active: ActiveCall, newCall: NewCall): StartResult | Promise<StartResult> {
  const accept = (): StartResult => {
    const { uid, parked, isSettled: ended } = active
    return {
      as: 'accepted',
      uid,
      settled: active.settled(),
      ...(parked ? { parked } : {}),
      ...(ended ? { ended } : {}),
    }
  }
  if (active.hash === newCall.hash) return accept()
  return (async () => {
    const record = (await store.callAt(active.position)) ?? (active.execution as LocalExecution).request
    if (sameContent(record, newCall)) return accept()
    return { as: 'conflict', recorded: { tool: calledName(record), input: record.input } }
  })()
}

/** The name the model used, where it differs from the recorded tool. */
const calledName = ({ tool, options }: CallRecord): string =>
  (options === null ? null : parseCallOptions(options).name) ?? tool
