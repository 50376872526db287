// The local engine: this process remembers on a store and wakes by itself. It starts calls, takes over calls whose worker
// died, and settles each exactly once. The pipeline it drives is handed in; it knows nothing about tools but their names.

import { PawlError } from '../../kernel/errors.ts'
import type { Ids } from '../../kernel/id.ts'
import { failure, internalErrorMessage, type Outcome } from '../../kernel/outcome.ts'
import type { Clock } from '../../kernel/time.ts'
import { decode, encode } from '../../kernel/value.ts'
import type { CallRecord, Resolution, StepRecord, WaitRecord } from '../../journal/call-state.ts'
import { Places } from '../../journal/places.ts'
import { type CallTimes, noTimes, timesOf } from '../../journal/times.ts'
import type { Hint, Store } from '../../store/store.ts'
import type { Logger } from '../../tool/context.ts'
import { decodeResolution } from '../../wait/resolution.ts'
import type { Asked, Drive, Driven, Engine, ResolveAnswer, Started, Wait } from '../engine.ts'
import { Answers } from './answers.ts'
import { takeDown } from './children.ts'
import type { Host } from './host.ts'
import { LocalInvocation } from './invocation.ts'
import { finished, Live, newRecord } from './live.ts'
import { Lease } from './lease.ts'
import { recordedForm, unlessCancelled } from './recorded.ts'
import { Sweeper } from './sweep.ts'
import { Timers, Waiters } from './wake.ts'

export interface LocalEngineOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly secret: Uint8Array
  readonly logger: Logger
  readonly leaseMs: number
  /** The tools this worker can run at the moment, as records call them: it claims no others. */
  readonly tools: () => readonly string[]
  readonly drive: Drive
  /** Hears of calls that are about to be taken up again, in the order of their batches, before any of them goes on. */
  readonly returning?: (records: readonly CallRecord[]) => void
}

export class LocalEngine implements Engine {
  readonly #host: Host
  readonly #answers: Answers
  readonly #drive: Drive
  readonly #sweeper: Sweeper
  /** By place. A start that still asks the store stands here too, so that two starts of one call are one. */
  readonly #live = new Places<Live | Promise<Live>>()
  readonly #byUid = new Map<string, Live>()
  readonly #stopListening: () => void
  #closing = false
  #closed = false
  #missed = false
  #release = (): void => {}

  constructor(options: LocalEngineOptions) {
    const { store, clock, ids, secret, logger } = options
    this.#drive = options.drive
    const lease = new Lease({ worker: ids.next(), ms: options.leaseMs, store, clock, logger })
    const waiters = new Waiters(store)
    this.#answers = new Answers({ store, clock, waiters })
    const timers = new Timers({ store, clock, logger, expire: (wait) => this.#answers.expire(wait) })
    this.#host = { store, clock, ids, secret, logger, lease, waiters, timers, closing: () => this.#closing }
    this.#sweeper = new Sweeper(this.#host, {
      tools: options.tools,
      drives: (uid) => (this.#byUid.get(uid)?.invocation ?? null) !== null,
      take: async (records) => {
        options.returning?.(records)
        await Promise.all(records.map((record) => this.#adopt(record)))
      },
    })
    this.#stopListening = store.onHint((hint) => this.#hinted(hint))
  }

  /** Opens for work: takes the lease, then takes over what dead workers left. Their bodies may begin, and call, before this resolves. */
  async open(): Promise<void> {
    try {
      await this.#host.lease.renew()
      this.#host.lease.keep(() => this.look())
      await this.#sweeper.sweep()
      await this.#host.timers.sweep()
    } catch (error) {
      // What opened half must not hold on to anything.
      await this.close(0).catch(() => {})
      throw error
    }
  }

  start(asked: Asked): Started | Promise<Started> {
    // A body that may still finish may also call what it needs for that.
    if (this.#closed || (this.#closing && asked.options?.root === undefined)) throw new PawlError('runtime_closed')
    const { position } = asked
    let live = this.#live.get(position)
    if (!live) {
      live = this.#open(asked)
      if (live instanceof Promise) {
        this.#live.set(position, live)
        live.catch(() => this.#live.delete(position))
      }
    }
    return live instanceof Promise ? live.then((opened) => this.#joined(opened, asked)) : this.#joined(live, asked)
  }

  async resolve(key: string, resolution: Resolution): Promise<ResolveAnswer> {
    if (this.#closing) throw new PawlError('runtime_closed')
    return this.#answers.resolve(key, resolution)
  }

  async cancel(uid: string, why: { reason: string; by: string | null }): Promise<boolean> {
    const held = this.#byUid.get(uid)?.invocation?.held
    const asked = held && (await held.cancel(why))
    if (held && (asked || held.letGo !== 'parked')) return asked === true
    const record = await this.#host.store.call(uid)
    const wait = record?.state === 'parked' && record.wait !== null ? await this.#host.store.wait(record.wait) : undefined
    // A parked call is nobody's: its wait is answered with the cancellation, which competes with every other answer.
    return wait ? this.#answers.cancel(wait, why) : false
  }

  async close(graceMs: number): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    const { lease, timers, clock, store } = this.#host
    this.#stopListening()
    timers.stop()
    await this.#sweeper.stop()
    const over = new PawlError('runtime_closed')
    // What has not begun does not begin here any more. It stays ours to the end, so that nobody overtakes what runs before it.
    for (const { invocation } of this.#byUid.values()) if (invocation?.unbegun) invocation.held.end(over)
    await finished(this.#byUid, graceMs, clock)
    this.#closed = true
    const held = [...this.#byUid.values()].flatMap((live) => (live.invocation ? [live.invocation] : []))
    for (const invocation of held) invocation.held.end(over)
    await Promise.allSettled(held.map((invocation) => invocation.handBack()))
    for (const live of this.#byUid.values()) live.reject(over)
    this.#release()
    lease.stop()
    await store.leave(lease.worker)
  }

  /** Looks the call up, and starts it if it is new. Synchronous on embedded stores. */
  #open(asked: Asked): Live | Promise<Live> {
    const found = this.#host.store.callAt(asked.position)
    const go = (record: CallRecord | undefined): Live => {
      if (!record) return this.#begin(asked)
      const live = this.#watch(record)
      if (this.#sweeper.isOrphan(record.uid)) this.look()
      // A settled call is answered from its record; only open ones stay in memory.
      if (record.state === 'settled') this.#live.delete(asked.position)
      else this.#live.set(asked.position, live)
      return live
    }
    return found instanceof Promise ? found.then(go) : go(found)
  }

  #joined(live: Live, asked: Asked): Started | Promise<Started> {
    if (live.hash === asked.hash) {
      const { uid, parked } = live
      return parked ? { as: 'accepted', uid, settled: live.settled(), parked } : { as: 'accepted', uid, settled: live.settled() }
    }
    return (async () => {
      const record = await this.#host.store.callAt(live.position)
      const { tool, input } = record ?? (live.invocation as LocalInvocation).request
      return { as: 'conflict', recorded: { tool, input } }
    })()
  }

  #begin(asked: Asked): Live {
    const { ids, clock, lease } = this.#host
    const record = newRecord(asked, ids.next(), lease.worker, clock.now())
    const live = this.#newLive(record)
    // Its body may begin at once: whoever asks for the same call in its first line must find it.
    this.#live.set(asked.position, live)
    const invocation = new LocalInvocation(this.#host, record, { options: asked.options })
    invocation.insert()
    this.#run(live, invocation)
    return live
  }

  #newLive(record: CallRecord): Live {
    // A call that is on its way here keeps the program alive: nothing else may, while it sleeps or waits.
    if (this.#byUid.size === 0) this.#release = this.#host.clock.hold()
    const live = new Live(record)
    this.#byUid.set(live.uid, live)
    return live
  }

  /** Waits for a call that is on record. */
  #watch(record: CallRecord): Live {
    const live = this.#byUid.get(record.uid) ?? this.#newLive(record)
    if (record.state === 'settled') this.#ended(live, record, record.attempt, record.outcome as string, timesOf(record.createdAt, record))
    else if (!live.invocation) live.parked = record.state === 'parked'
    return live
  }

  #forget(live: Live): void {
    if (this.#byUid.delete(live.uid) && this.#byUid.size === 0) this.#release()
  }

  #ended(live: Live, request: CallRecord, attempts: number, text: string, times: CallTimes): void {
    live.release()
    this.#forget(live)
    if (this.#live.get(live.position) === live) this.#live.delete(live.position)
    live.resolve({ request, attempts, outcome: decode(text) as unknown as Outcome, text, times })
  }

  /** Drives an invocation to its end, or to where it waits, or to where it is somebody else's. */
  #run(live: Live, invocation: LocalInvocation): void {
    live.hold(invocation)
    this.#drive(invocation).then(
      (driven) => this.#driven(live, invocation, driven),
      (error: unknown) => this.#threw(live, invocation, error),
    )
  }

  #driven(live: Live, invocation: LocalInvocation, given: Driven, second = false): void {
    const driven = unlessCancelled(given, invocation.stopped)
    if ('park' in driven) return void this.#park(live, invocation, driven.park).catch((error: unknown) => this.#failed(live, error))
    const [status, text] = recordedForm(driven, live.uid, this.#host.logger)
    try {
      invocation.settle(status, text, (how) => {
        const { request, attempt, held } = invocation
        if (how === 'written' && status === 'cancelled') takeDown(invocation, this.#host, (uid, why) => this.cancel(uid, why))
        if (how === 'written') this.#ended(live, request, attempt, text, timesOf(request.createdAt, held.progress))
        else if (how === 'unwritable' && !second) this.#threw(live, invocation, new Error('The store cannot hold the outcome'), true)
        else this.#failed(live, invocation.stopped && 'over' in invocation.stopped ? invocation.stopped.over : new PawlError('lease_lost'))
      })
    } catch (error) {
      this.#failed(live, error)
    }
  }

  async #park(live: Live, invocation: LocalInvocation, wait: Wait): Promise<void> {
    const parked = await invocation.park(wait)
    if (parked === 'parked') return live.park()
    if (parked === 'lost') return this.#lost(live)
    // Its answer came before it could park: land it here and now.
    const request = { ...invocation.request, ...invocation.held.progress, state: 'queued' as const }
    this.#run(live, new LocalInvocation(this.#host, request, { landed: await this.#answers.given(wait.id) }))
  }

  /** The pipeline answers with values; should it ever throw, that is our fault and the call still gets its one outcome. */
  #threw(live: Live, invocation: LocalInvocation, error: unknown, second = false): void {
    if (invocation.stopped && 'over' in invocation.stopped) return this.#failed(live, invocation.stopped.over)
    this.#host.logger.error('A call could not end as it did', { call: invocation.request.uid, error })
    this.#driven(
      live,
      invocation,
      { settle: failure({ class: 'internal', code: 'internal_error', message: internalErrorMessage }) },
      second,
    )
  }

  /** This execution came to nothing: the call is another's, or the store did not answer and nobody knows. */
  #failed(live: Live, error: unknown): void {
    if (error instanceof PawlError && error.code === 'lease_lost') {
      this.#lost(live).catch((cause: unknown) => this.#unknown(live, cause))
    } else this.#unknown(live, error)
  }

  /** The call may be on record as ours. It is let go of as soon as the store answers again. */
  #unknown(live: Live, error: unknown): void {
    if (!this.#closing) this.#sweeper.orphaned(live.uid)
    live.release()
    this.#forget(live)
    this.#live.delete(live.position)
    live.reject(error)
  }

  /** Another worker holds the call, or another process put it on record first: wait for what it makes of it. */
  async #lost(live: Live): Promise<void> {
    live.release()
    const record = await this.#host.store.callAt(live.position)
    if (!record) return live.reject(new PawlError('store_unavailable', 'A call is no longer on record.'))
    if (record.hash !== live.hash) {
      const message = `Another call with id '${live.position.id}' was recorded first`
      return this.#ended(live, record, 0, encode(failure({ class: 'invalid_request', code: 'call_conflict', message })), noTimes)
    }
    if (record.uid === live.uid) return void this.#watch(record)
    this.#forget(live)
    const other = this.#watch(record)
    other.settled().then(live.resolve, (error: unknown) => live.reject(error))
  }

  #hinted(hint: Hint): void {
    if (this.#closing) return
    if (hint.wakes || hint.outside) this.#sweeper.sweep().catch((error: unknown) => this.#failedToLook(error))
    if (hint.outside) this.#lookAround()
  }

  /** Looks for work; there may be more when a tool has come. Should the store not answer, the next heartbeat does. */
  look(): void {
    if (this.#closing) return
    this.#sweeper.sweep().catch((error: unknown) => this.#failedToLook(error))
    if (this.#missed) this.#lookAround()
    this.#host.waiters.lookAtDoubted().catch((error: unknown) => this.#failedToLook(error))
    // The wall clock may have jumped over a deadline, which a timer cannot see.
    this.#host.timers.sweep().catch((error: unknown) => this.#failedToLook(error))
  }

  /** A hint comes once: if the store does not answer then, the next heartbeat looks again. */
  #lookAround(): void {
    this.#missed = false
    this.#lookOutside().catch((error: unknown) => this.#failedToLook(error, true))
  }

  #failedToLook(error: unknown, missed = false): void {
    this.#missed ||= missed
    if (!this.#closing) this.#host.logger.warn('The store did not answer; what it holds is looked at again soon', { error })
  }

  /** Another process wrote: it may have settled what we watch, answered what we wait for, or set a sooner deadline. */
  async #lookOutside(): Promise<void> {
    const { store, waiters, timers } = this.#host
    await waiters.lookAtAll()
    for (const live of this.#byUid.values()) {
      const record = live.invocation ? undefined : await store.call(live.uid)
      if (record?.state === 'settled') this.#watch(record)
    }
    const next = await store.nextDeadline()
    if (next !== undefined) timers.soon(next)
  }

  /** Goes on with a claimed call from what is on record. */
  async #adopt(record: CallRecord): Promise<void> {
    const { store } = this.#host
    const live = this.#byUid.get(record.uid) ?? this.#newLive(record)
    if (!this.#live.get(record.position)) this.#live.set(record.position, live)
    let known: [StepRecord[], WaitRecord[]]
    try {
      known = await Promise.all([store.steps(record.uid), store.waitsOf(record.uid)])
    } catch (error) {
      // It is ours on record and nobody drives it: let go of as soon as the store answers, and claimed again.
      this.#sweeper.orphaned(record.uid)
      return this.#failedToLook(error)
    }
    const [steps, waits] = known
    const answered = record.state === 'queued' ? waits.find((wait) => wait.id === record.wait) : undefined
    const landed = answered?.resolution ? decodeResolution(answered.resolution) : null
    this.#run(live, new LocalInvocation(this.#host, record, { steps, waits, landed }))
  }
}
