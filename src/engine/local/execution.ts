// One call on this worker: the seam's verbs as changes to a store, every one of them checked against the fence (engine/local/leases/leased-call.ts).
//
// Syncs (power mode): `begin({ durable })` is one, shared with the arrival of the call; every step end is one; the outcome is
// one. What nobody has to wait for (arrival, accepted arguments, the start of a body that may rerun) rides with the next.

import { PawlError } from '../../core/errors.ts'
import type { Outcome } from '../../core/outcome.ts'
import {
  type CallOptions,
  type CallProgress,
  type CallRecord,
  type CallTerms,
  type Interruption,
  interruptionOf,
  type Resolution,
  type StepRecord,
} from '../../store/records/call-record.ts'
import type { AttachmentRecord } from '../../store/store.ts'
import { secretOf } from '../../security/host-keys.ts'
import { derived } from '../wait-key.ts'
import { encodeResolution } from '../../store/records/resolution.ts'
import {
  type FleetPlace,
  type Execution,
  NoRoom,
  type StepEnd,
  type StepSpec,
  type Stop,
  type Wait,
  type WaitSpec,
} from '../engine.ts'
import { CallAsks } from './waits/approval-waits.ts'
import { AttachedWrites } from './leases/attached-writes.ts'
import { CallSemaphores } from './leases/call-semaphores.ts'
import { cancelBefore } from './cancellation/cancel-record.ts'
import { atRisk, forgiven } from './leases/worker-deaths.ts'
import { type Ended, LeasedCall } from './leases/leased-call.ts'
import type { EngineState } from './engine-state.ts'
import { JournalCache } from './leases/journal-cache.ts'
import { park, type Parked } from './waits/park.ts'
import type { Read } from './load-journal.ts'
import { BodyWaits } from './waits/body-waits.ts'
import { CallWaits } from './waits/call-waits.ts'

const noOptions: CallOptions = {}
const none: never[] = []

export class LocalExecution implements Execution {
  readonly request: CallRecord
  readonly options: CallOptions
  readonly interrupted: Interruption | null
  readonly landed: Resolution | null
  readonly held: LeasedCall
  readonly #host: EngineState
  readonly #known: JournalCache
  #places: CallSemaphores | null = null
  #asks: CallAsks | null = null
  #beside: AttachedWrites | null = null
  #ownWaits: CallWaits | null = null
  /** The waits and sleeps of the body, and how many steps run. */
  #waiting: BodyWaits | null = null
  #running = 0
  /** Its body has begun, in this execution: what is recorded before that does not show that it gets anywhere. */
  #begun = false
  /** Hears that it may be idle now. */
  onIdle: (() => void) | null = null
  /** What it was before its body was to begin, until it does. */
  #before: CallProgress | null = null

  constructor(host: EngineState, record: CallRecord, read: Read) {
    this.#host = host
    this.request = record
    this.held = new LeasedCall(host, record, read.lapses)
    this.options = read.options ?? (record.options === null ? noOptions : (JSON.parse(record.options) as CallOptions))
    this.interrupted = interruptionOf(record)
    this.landed = read.landed ?? null
    this.#known = new JournalCache(read)
    if (read.waits?.length) this.asks.goesOn()
    const cancel = cancelBefore(this.#known)
    if (cancel) this.held.cancelledBefore(cancel)
  }

  get callId(): string {
    return this.options.callId ?? this.request.position.id
  }
  get args(): string | null {
    return this.held.progress.args
  }
  get terms(): CallTerms | null {
    const { terms } = this.held.progress
    return terms === null ? null : (JSON.parse(terms) as CallTerms)
  }
  get attempt(): number {
    return this.held.progress.attempt
  }
  get retries(): number {
    return this.#known.retries
  }
  get places(): CallSemaphores {
    this.#places ??= new CallSemaphores(this.held, this.options)
    return this.#places
  }
  get asks(): CallAsks {
    this.#asks ??= new CallAsks(this.#host, this.held, this.#known)
    return this.#asks
  }
  get attached(): AttachedWrites {
    this.#beside ??= new AttachedWrites(this.held)
    return this.#beside
  }
  get tally(): Execution['tally'] {
    return (tally) => this.#host.tallies.add({ held: this.held, known: this.#known, tally })
  }
  get claimed(): boolean {
    return this.#known.read
  }
  get deaths(): number {
    return this.held.progress.deaths + this.held.spared
  }
  get resting(): boolean {
    return this.#known.resting(this.#host.clock.now())
  }
  get stopped(): Stop | null {
    return this.held.stopped
  }
  onStop(listener: (why: Stop) => void): () => void {
    return this.held.onStop(listener)
  }
  end(over: PawlError): void {
    this.held.end(over)
  }
  /** Nothing but waits and sleeps is under way: the body may be let go and taken up again elsewhere. */
  get idle(): boolean {
    return this.#waiting !== null && this.#waiting.open && this.#running === 0
  }
  /** Whether it would be if all that it called were: no step runs, and its body may be run again. */
  get mayBeIdle(): boolean {
    return this.#running === 0 && this.held.progress.state === 'running' && this.terms?.onCrash === 'rerun'
  }

  accept(args: string, terms: string): string {
    const { held } = this
    const { state, attempt, startedAt, wait, outcome, settledAt, deaths, trouble } = held.progress
    held.progress = { state, args, terms, attempt, startedAt, wait, outcome, settledAt, deaths, trouble }
    return args
  }

  atRisk<T>(run: () => Promise<T>): Promise<T> {
    return this.claimed ? atRisk(this.held, run) : run()
  }

  /** It waits for its turn or its next try, so that letting go of it interrupts nothing. A nested call belongs to the body above it. */
  get unbegun(): boolean {
    const { state, args } = this.held.progress
    return (
      args !== null &&
      (state === 'received' || state === 'queued') &&
      this.landed === null &&
      this.options.root === undefined
    )
  }

  begin<T>(how: { durable: boolean; places: readonly FleetPlace[] }, body: () => T): T | Promise<Awaited<T>> {
    const { held } = this
    if (this.#host.closing() && this.options.root === undefined) held.end(new PawlError('runtime_closed'))
    held.check()
    const at = this.#host.clock.now()
    if (held.progress.state === 'running') this.#account(at)
    const { args, terms, wait, outcome, settledAt, deaths, trouble } = held.progress
    const attempt = held.progress.attempt + 1
    this.#before = held.progress
    held.move({
      state: 'running',
      args,
      terms,
      attempt,
      startedAt: at,
      wait,
      outcome,
      settledAt,
      deaths: deaths + held.spared,
      trouble,
    })
    const change = held.moved(held.event('call.started', at, { attempt }))
    if (how.places.length > 0)
      return this.#beginOnceHeld(held.write({ ...change, take: this.places.taking(how.places) }), body)
    // From here on a death counts again: also if it dies in its first moment.
    if (how.durable || held.spared > 0) return this.#beginOnceHeld(held.write(change), body)
    held.ride(change)
    if (!held.surelyHeld()) return this.#beginOnceHeld(held.verifyHeld(), body)
    this.#before = null
    this.#begun = true
    return body()
  }

  async #beginOnceHeld<T>(ready: Promise<void>, body: () => T): Promise<Awaited<T>> {
    try {
      await ready
    } catch (error) {
      if (error instanceof NoRoom) this.held.progress = this.#before as CallProgress
      throw error
    }
    while (!this.held.surelyHeld()) await this.held.verifyHeld()
    this.#before = null
    this.#begun = true
    this.held.spared = 0
    return await body()
  }

  recorded(key: string): StepEnd | null {
    const found = this.#known.step(key)
    return found?.state === 'done' ? { done: found.value as string } : null
  }

  async run(spec: StepSpec, body: () => Promise<StepEnd>): Promise<StepEnd> {
    const { held } = this
    const round = this.retries + 1
    const known = this.#known.endOf(spec, round)
    if (known) return known
    const { attempt } = this
    if (spec.once) {
      const started = this.#step(spec.key, 'started', null, round, spec.input)
      this.#known.keep(started)
      await held.write(
        held.held({ steps: [started], events: [held.event('step.started', started.at, { step: spec.key })] }),
      )
    }
    if (!held.surelyHeld()) {
      while (!held.surelyHeld()) await held.verifyHeld()
      // Nothing starts after a cancel that is heard of only now.
      if (held.stopped) throw new PawlError('attempt_over')
    }
    this.#running++
    const end = await body().finally(() => this.#running--)
    // The attempt was given up meanwhile: a later one may be at the same step, and what this one found must not pass for it.
    if (this.attempt !== attempt || held.letGo !== 'not yet') throw new PawlError('attempt_over')
    const [state, value] = 'done' in end ? (['done', end.done] as const) : (['failed', end.failed] as const)
    const ended = this.#step(spec.key, state, value, round, spec.input)
    const { documents = none, tells = none } = ('done' in end && end.beside) || {}
    const events = [
      held.event(`step.${state}`, ended.at, { step: spec.key }),
      ...tells.map(({ type, body }) => held.event(type, ended.at, body)),
    ]
    await held.write(
      held.held({
        ...(this.#begun ? forgiven(held) : {}),
        steps: [ended],
        ...(documents.length > 0 ? { documents: documents } : {}),
        events,
      }),
    )
    this.#known.keep(ended)
    return end
  }

  wait(spec: WaitSpec): Promise<Wait> {
    return this.#waits.open(spec)
  }

  abandon(): Promise<readonly Wait[]> {
    return this.#waits.abandon()
  }

  async answer(wait: Wait, signal: AbortSignal): Promise<Resolution> {
    await this.#waits.announce(wait)
    const resolution = await this.#idly.asked(() => this.#host.waiters.answer(wait.id, signal))
    this.#known.answered(wait.name, encodeResolution(resolution))
    return resolution
  }

  aside<T>(wait: () => Promise<T>): Promise<T> {
    return this.#idly.asked(wait)
  }

  async sleep(key: string, ms: number, signal: AbortSignal): Promise<void> {
    const until = await this.#instant(key, ms)
    await this.#idly.asked(() => this.#host.timers.sleep(until, signal))
  }

  async now(key: string): Promise<number> {
    return this.#instant(key, 0)
  }

  async again(delayMs: number, code: string): Promise<void> {
    const { held } = this
    const at = this.#host.clock.now()
    const until = at + delayMs
    this.#known.retries++
    this.#account(at)
    held.move({ ...held.progress, state: 'queued' })
    const step = this.#step(`retry:${this.retries}`, 'done', String(until), this.retries)
    this.#known.keep(step)
    const events = [held.event('call.queued', at, { attempt: held.progress.attempt, until, code })]
    await held.write(held.held({ updateCall: held.update(), ...held.giving(), steps: [step], events }))
    await this.delayed()
  }

  delayed(): Promise<void> | undefined {
    const until = this.#known.delayedUntil
    return until !== null && !this.stopped ? this.#idly.delay(until, this.held) : undefined
  }

  async late(attempt: number, end: StepEnd): Promise<void> {
    const [state, value] = 'done' in end ? (['done', end.done] as const) : (['failed', end.failed] as const)
    await this.held.late(this.#step(`late:${attempt}`, state, value, this.retries + 1), attempt)
  }

  recordDiagnostics(text: string): void {
    this.held.progress = { ...this.held.progress, trouble: text }
  }

  derive(purpose: string): Uint8Array {
    return derived(secretOf(this.#host.keys, this.options.secret), this.request.position, purpose)
  }

  attach(attachment: AttachmentRecord): void {
    this.held.check()
    this.held.attachments = [...(this.held.attachments ?? []), attachment]
  }

  async attachment(id: string): Promise<AttachmentRecord | undefined> {
    const { tenant } = this.request.position
    return this.held.attachments?.find((each) => each.id === id) ?? (await this.#host.store.attachment(tenant, id))
  }

  /** Ends the call, and hears how that went. */
  settle(status: Outcome['status'], text: string, heard: (how: Ended) => void): void {
    this.held.check()
    const at = this.#host.clock.now()
    if (this.#waiting !== null && this.#waiting.ms > 0) this.#account(at)
    this.held.settle(at, status, text, heard, this.#ownWaits || this.claimed ? this.asks.closing() : undefined)
  }

  /** Parks the call on an open wait and lets go of it, unless the wait is answered already or the call is no longer ours. */
  async park(wait: Wait): Promise<Parked> {
    this.held.check()
    this.#account(this.#host.clock.now())
    const parked = await park(this.held, this.#waits, wait)
    if (parked === 'answered') this.places.leave()
    return parked
  }

  /** Gives the call back as it stands, for whoever claims it next. */
  async handBack(): Promise<void> {
    // Its start was being written and its body has not begun: then nothing is uncertain about it.
    await this.held.handBack(this.#before)
  }

  async #instant(key: string, inMs: number): Promise<number> {
    const end = await this.run({ key, input: null, once: false }, async () => ({
      done: String(this.#host.clock.now() + inMs),
    }))
    return Number((end as { done: string }).done)
  }

  #step(
    key: string,
    state: StepRecord['state'],
    value: string | null,
    round: number,
    input: string | null = null,
  ): StepRecord {
    return { call: this.request.uid, key, state, input, value, round, at: this.#host.clock.now() }
  }

  get #waits(): CallWaits {
    this.#ownWaits ??= new CallWaits(this.#host, this.held, this.#known, secretOf(this.#host.keys, this.options.secret))
    return this.#ownWaits
  }

  /** With the write that follows: where the time went until now. */
  #account(at: number): void {
    this.held.account(at, this.#waiting?.taken() ?? 0)
  }

  /** Only while the call is ours. */
  get #idly(): BodyWaits {
    this.held.check()
    this.#waiting ??= new BodyWaits(this.#host.clock, () => this.onIdle?.())
    return this.#waiting
  }
}
