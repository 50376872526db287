// The calls that this process runs or waits for, by position and by uid.

import type { CallOptions, CallPosition, CallRecord } from '../../store/records/call-record.ts'
import { PawlError } from '../../core/errors.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Clock } from '../../core/clock.ts'
import { decode } from '../../core/value.ts'
import type { Settled } from '../engine.ts'
import type { LocalExecution } from './execution.ts'
import { PositionMap } from '../../store/records/position-map.ts'
import type { CallTimes } from '../../store/records/call-times.ts'

export class ActiveCall {
  readonly uid: string
  readonly position: CallPosition
  readonly hash: string
  readonly #options: string | null
  readonly promise: Promise<Settled>
  resolve!: (settled: Settled) => void
  #reject!: (why: unknown) => void
  #asked = false
  /** By the record, as far as we have seen it. */
  parked = false
  ended = false
  /** It is known to be on record. */
  onRecord = false
  /** It is being put on record for others to run. */
  recording: Promise<void> | null = null
  /** Something was told of it while this worker held it. */
  newsWhileHeld = false
  /** When the execution that holds it, or held it last, has ended. */
  driving: Promise<void> | null = null
  #execution: LocalExecution | null = null
  #onRest: (() => void) | null = null

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

  /** How it ends. Whoever asks first gets it as it is; everyone else an outcome of their own, to do with as they like. */
  settled(): Promise<Settled> {
    if (!this.#asked) {
      this.#asked = true
      return this.promise
    }
    return this.promise.then((end) => ({ ...end, outcome: decode(end.text) as unknown as Outcome }))
  }

  /** While this worker holds it. */
  get execution(): LocalExecution | null {
    return this.#execution
  }

  hold(execution: LocalExecution): void {
    this.#execution = execution
    this.parked = false
    execution.onIdle = () => this.#onRest?.()
  }

  /** It was claimed anew: an execution that held it before is lost, and not heard any more. When that one has ended, if there is one. */
  lost(fence: number): Promise<void> | null {
    const before = this.#execution
    if (!before || before.request.fence === fence) return null
    this.release()
    before.end(new PawlError('lease_lost'))
    return this.driving
  }

  /** This worker has driven it as far as it can: to its end, or to where it waits without us. */
  release(): void {
    this.#execution = null
    this.#onRest?.()
  }

  /** It waits for its answer: nobody holds it. */
  park(): void {
    this.parked = true
    this.release()
  }

  /** When it is let go, or begins to wait. */
  rests(): Promise<void> {
    return new Promise((resolve) => void (this.#onRest = resolve))
  }

  /** The call whose body called it. */
  get parent(): string | undefined {
    const { root, above } = (this.#options === null ? {} : JSON.parse(this.#options)) as CallOptions
    return above?.at(-1) ?? root
  }

  reject(why: unknown): void {
    this.promise.catch(() => {}) // whoever waits hears of it; nobody waiting is no crash
    this.#reject(why)
  }
}

/** Waits for bodies that do something, and for what they begin meanwhile; those that only wait are not waited for. */
export async function finished(lives: ReadonlyMap<string, ActiveCall>, graceMs: number, clock: Clock): Promise<void> {
  let late = graceMs === 0
  let callOff = (): void => {}
  const patience = new Promise<void>((resolve) => {
    callOff = clock.timer(graceMs, () => {
      late = true
      resolve()
    })
  })
  for (let open = busy(lives); open.length > 0 && !late; open = busy(lives)) {
    // Any of them may be what the others wait for.
    await Promise.race([...open.map((live) => live.rests()), patience])
  }
  callOff()
}

/** Those that this worker drives and that are not idle. A body that may run again and waits for nothing but idle calls of its own is. */
function busy(lives: ReadonlyMap<string, ActiveCall>): ActiveCall[] {
  const held = [...lives.values()].filter(({ execution, parked }) => execution !== null || parked)
  const under = Map.groupBy(held, ({ parent }) => parent)
  const isIdle = (live: ActiveCall): boolean => {
    if (live.execution === null || live.execution.idle) return true
    const own = live.execution.mayBeIdle ? under.get(live.uid) : undefined
    return own !== undefined && own.every(isIdle)
  }
  return held.filter((live) => !isIdle(live))
}

export class ActiveCalls {
  readonly byUid = new Map<string, ActiveCall>()
  /** A start that still asks the store stands here too, so that two starts of one call are one. */
  readonly #places = new PositionMap<ActiveCall | Promise<ActiveCall>>()
  readonly #clock: Clock
  #release = (): void => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  at(position: CallPosition): ActiveCall | Promise<ActiveCall> | undefined {
    return this.#places.get(position)
  }

  stand(position: CallPosition, live: ActiveCall | Promise<ActiveCall>): void {
    this.#places.set(position, live)
    if (live instanceof Promise) live.catch(() => this.#places.delete(position))
  }

  leave(position: CallPosition): void {
    this.#places.delete(position)
  }

  /** The one that is there, or a new one. */
  of(record: CallRecord): ActiveCall {
    return this.byUid.get(record.uid) ?? this.add(record)
  }

  add(record: CallRecord): ActiveCall {
    // A call that is on its way here keeps the program alive: nothing else may, while it sleeps or waits.
    if (this.byUid.size === 0) this.#release = this.#clock.hold()
    const live = new ActiveCall(record)
    this.byUid.set(live.uid, live)
    return live
  }

  forget(live: ActiveCall): void {
    if (this.byUid.delete(live.uid) && this.byUid.size === 0) this.#release()
  }

  /** These were claimed anew. The ends of executions here that had held some of them before. */
  lost(records: readonly CallRecord[]): Promise<void>[] {
    return records.flatMap(({ uid, fence }) => this.byUid.get(uid)?.lost(fence) ?? [])
  }

  /** Tells whoever waits for it. */
  ended(live: ActiveCall, request: CallRecord, attempts: number, text: string, times: CallTimes): void {
    live.release()
    live.ended = true
    this.forget(live)
    if (this.#places.get(live.position) === live) this.#places.delete(live.position)
    live.resolve({ request, attempts, outcome: decode(text) as unknown as Outcome, text, times })
  }

  /** What is held is given back, and nobody is told anything but this any more. */
  async close(why: PawlError): Promise<void> {
    const held = [...this.byUid.values()].flatMap(({ execution }) => execution ?? [])
    for (const execution of held) execution.held.end(why)
    await Promise.allSettled(held.map((execution) => execution.handBack()))
    for (const live of this.byUid.values()) live.reject(why)
    this.#release()
  }
}
