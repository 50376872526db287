// A call somebody here runs or waits for.

import type { CallOptions, CallPosition, CallRecord } from '../../journal/call-state.ts'
import { sealedUid } from '../../journal/sealed.ts'
import type { Outcome } from '../../kernel/outcome.ts'
import type { Soon } from '../../kernel/soon.ts'
import type { Clock } from '../../kernel/time.ts'
import { decode } from '../../kernel/value.ts'
import { isUnreadable } from '../../secret/seal.ts'
import type { Asked, Settled } from '../engine.ts'
import type { Host } from './host.ts'
import type { LocalInvocation } from './invocation.ts'

export class Live {
  readonly uid: string
  readonly position: CallPosition
  readonly hash: string
  readonly promise: Promise<Settled>
  resolve!: (settled: Settled) => void
  #reject!: (why: unknown) => void
  #asked = false
  /** By the record, as far as we have seen it. */
  parked = false
  #invocation: LocalInvocation | null = null
  #onReleased: (() => void) | null = null

  constructor({ uid, position, hash }: CallRecord) {
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
  get invocation(): LocalInvocation | null {
    return this.#invocation
  }

  hold(invocation: LocalInvocation): void {
    this.#invocation = invocation
    this.parked = false
  }

  /** This worker has driven it as far as it can: to its end, or to where it waits without us. */
  release(): void {
    this.#invocation = null
    this.#onReleased?.()
  }

  /** It waits for its answer: nobody holds it. */
  park(): void {
    this.parked = true
    this.release()
  }

  released(): Promise<void> {
    return new Promise((resolve) => void (this.#onReleased = resolve))
  }

  reject(why: unknown): void {
    this.promise.catch(() => {}) // whoever waits hears of it; nobody waiting is no crash
    this.#reject(why)
  }
}

/** What a read gives; undefined, once it was told, where the row cannot be opened. */
export async function readable<T>(read: () => Soon<T>, told: (error: unknown) => void): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!isUnreadable(error)) throw error
    told(error)
    return undefined
  }
}

/** A call that nobody has asked for before, as it goes on record, and what came with it. */
export function newRecord(asked: Asked, { ids, keys, lease, clock }: Host): readonly [CallRecord, CallOptions | null] {
  const { position, principal, tool, input, hash, sealed = false } = asked
  const id = ids.next()
  const options = keys.current === keys.first ? asked.options : { ...asked.options, secret: keys.current.id }
  const record: CallRecord = {
    uid: sealed ? sealedUid(id) : id,
    position,
    principal,
    tool,
    input,
    hash,
    options: options && JSON.stringify(options),
    createdAt: clock.now(),
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
    owner: lease.worker,
  }
  return [record, options]
}

/** Waits for bodies that do something, and for what they begin meanwhile; those that only wait are not waited for. */
export async function finished(lives: ReadonlyMap<string, Live>, graceMs: number, clock: Clock): Promise<void> {
  const busy = (): Live[] => [...lives.values()].filter(({ invocation }) => invocation && !invocation.idle)
  let late = graceMs === 0
  let callOff = (): void => {}
  const patience = new Promise<void>((resolve) => {
    callOff = clock.timer(graceMs, () => {
      late = true
      resolve()
    })
  })
  for (let open = busy(); open.length > 0 && !late; open = busy()) {
    await Promise.race([Promise.all(open.map((live) => live.released())), patience])
  }
  callOff()
}
