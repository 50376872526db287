// One execution of a call on this worker: implements the engine seam as store commits, each guarded by the fence
// (leases/leased-call.ts).
//
// Disk syncs in power mode: one for `begin({ durable })` and the insert of the call; one per step end; one for the
// outcome. Writes that need no answer (insert, validated arguments, start of a rerunnable body) join the next one.

import { PawlError } from '../../core/errors.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
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
  parseCallOptions,
  parseCallTerms,
} from '../../store/records/call-record.ts'
import type { AttachmentRecord } from '../../store/store.ts'
import { secretById } from '../../security/host-secrets.ts'
import { deriveBytes } from '../wait-key.ts'
import { encodeResolution } from '../../store/records/wait-resolution.ts'
import {
  type SlotRequest,
  type Execution,
  NoSlotFree,
  type StepEnd,
  type StepSpec,
  type Stop,
  type Wait,
  type WaitSpec,
} from '../engine.ts'
import { ApprovalWaits } from './waits/approval-waits.ts'
import { AttachedWrites } from './leases/writes-with-next-commit.ts'
import { CallSemaphores } from './leases/call-semaphores.ts'
import { recordedCancel } from './cancellation/write-cancel.ts'
import { countDeathWhile, deathMark, markOfRest, resetDeaths, restoreDeaths } from './leases/worker-deaths.ts'
import { CallTrial, notAtRiskWhile } from './leases/call-trial.ts'
import { type SettleResult, LeasedCall } from './leases/leased-call.ts'
import type { EngineState } from './engine-state.ts'
import { JournalCache, type LoadedJournal } from './leases/journal-cache.ts'
import { park, type ParkResult, CallWaits } from './waits/waits-of-call.ts'
import { BodyWaits } from './waits/waits-inside-body.ts'
import { stepKeys } from '../../store/journal-keys.ts'

const none: never[] = []
type StepState = StepRecord['state']

export class LocalExecution implements Execution {
  readonly request: CallRecord
  readonly options: CallOptions
  readonly interrupted: Interruption | null
  readonly lostWorker: boolean
  readonly landed: Resolution | null
  readonly leased: LeasedCall
  readonly generation: number
  readonly #host: EngineState
  readonly #journal: JournalCache
  #semaphores: CallSemaphores | null = null
  #approvals: ApprovalWaits | null = null
  #attached: AttachedWrites | null = null
  #callWaits: CallWaits | null = null
  /** Open waits and sleeps of the body, and the number of running steps. */
  #bodyWaits: BodyWaits | null = null
  #runningSteps = 0
  /** The body has started in this execution. Steps recorded before that are not a sign of progress. */
  #bodyStarted = false
  /** Set if the call is a suspect. */
  #trial: CallTrial | null = null
  /** Called when the execution may have become idle. */
  onIdle: (() => void) | null = null
  /** The progress to restore if the body does not start after all; null once it runs. */
  #progressBeforeStart: CallProgress | null = null

  constructor(host: EngineState, record: CallRecord, loaded: LoadedJournal) {
    this.#host = host
    this.request = record
    this.generation = record.fence
    this.leased = new LeasedCall(host, record, loaded.lapses)
    this.options = loaded.options ?? parseCallOptions(record.options)
    this.interrupted = interruptionOf(record)
    this.landed = loaded.landed ?? null
    this.#journal = new JournalCache(loaded)
    this.lostWorker = this.claimed && restoreDeaths(this.leased, this.#journal.step(stepKeys.deaths), loaded.blame)
    if (loaded.waits?.length) this.approvals.clearAnsweredWait()
    const cancel = this.#journal.wasLoaded && recordedCancel(this.#journal)
    if (cancel) this.leased.restoreCancel(cancel)
  }

  get callId(): string {
    return this.options.callId ?? this.request.position.id
  }
  get args(): string | null {
    return this.leased.progress.args
  }
  get terms(): CallTerms | null {
    const { terms } = this.leased.progress
    return terms === null ? null : parseCallTerms(terms)
  }
  get attempt(): number {
    return this.leased.progress.attempt
  }
  get retries(): number {
    return this.#journal.retries
  }
  get semaphores(): CallSemaphores {
    return (this.#semaphores ??= new CallSemaphores(this.leased, this.options))
  }
  get approvals(): ApprovalWaits {
    return (this.#approvals ??= new ApprovalWaits(this.#host, this.leased, this.#journal))
  }
  get attached(): AttachedWrites {
    return (this.#attached ??= new AttachedWrites(this.leased))
  }
  get updateCounters(): Execution['updateCounters'] {
    return (update) => this.#host.counters.add({ leased: this.leased, journal: this.#journal, update })
  }
  get claimed(): boolean {
    return this.#journal.wasLoaded
  }
  get interruptions(): number {
    return this.leased.deaths.all
  }
  get deaths(): number {
    return this.leased.deaths.counted
  }
  get isSuspended(): boolean {
    return this.#journal.isSuspended(this.#host.clock.now())
  }
  get hasWaits(): boolean {
    return this.#journal.waits.length > 0
  }
  get stopped(): Stop | null {
    return this.leased.stopped
  }
  onStop(listener: (why: Stop) => void): () => void {
    return this.leased.onStop(listener)
  }
  end(over: PawlError): void {
    this.leased.end(over)
  }
  /** Only waits and sleeps are open: the call may be released and resumed elsewhere. */
  get idle(): boolean {
    return this.#bodyWaits !== null && this.#bodyWaits.open && this.#runningSteps === 0
  }
  /** True if the call would be idle once its nested calls are: no step runs, and the body may run again. */
  get couldBeIdle(): boolean {
    return this.#runningSteps === 0 && this.leased.progress.state === 'running' && this.terms?.onCrash === 'rerun'
  }

  accept(args: string, terms: string): string {
    const { leased } = this
    const { state, attempt, startedAt, wait, outcome, settledAt, deaths, trouble } = leased.progress
    leased.progress = { state, args, terms, attempt, startedAt, wait, outcome, settledAt, deaths, trouble }
    return args
  }

  runAtRisk<T>(run: () => Promise<T>): Promise<T> {
    return this.claimed ? countDeathWhile(this.leased, this.#trial?.uptimeMs ?? null, run) : run()
  }

  awaitTrial(poisonAfter: number): MaybePromise<void> {
    if (this.interruptions < Math.max(1, poisonAfter - 1)) return undefined
    const mayRun = (): boolean => this.landed !== null || !this.isSuspended
    const trial = (this.#trial = new CallTrial(this.leased, this.options.root, this.semaphores, mayRun))
    return this.#openBodyWaits.during(() => trial.enter())
  }

  leaveTrial(): void {
    this.#trial?.leave()
  }

  /**
   * Queued or waiting for a retry, so releasing it interrupts nothing. A nested call belongs to the body of its parent.
   */
  get hasNotStarted(): boolean {
    const { state, args } = this.leased.progress
    return (
      args !== null &&
      (state === 'received' || state === 'queued') &&
      this.landed === null &&
      this.options.root === undefined
    )
  }

  begin<T>(how: { durable: boolean; slots: readonly SlotRequest[] }, body: () => T): T | Promise<Awaited<T>> {
    const { leased } = this
    if (this.#host.closing() && this.options.root === undefined) leased.end(new PawlError('runtime_closed'))
    leased.check()
    const at = this.#host.clock.now()
    if (leased.progress.state === 'running') this.#accountTime(at)
    const { args, terms, wait, outcome, settledAt, deaths, trouble } = leased.progress
    const attempt = leased.progress.attempt + 1
    this.#progressBeforeStart = leased.progress
    leased.move({ state: 'running', args, terms, attempt, startedAt: at, wait, outcome, settledAt, deaths, trouble })
    let change = leased.progressChange(leased.event('call.started', at, { attempt }))
    if (leased.isMarked) change = { ...change, steps: [deathMark(leased, true, this.#trial?.uptimeMs)] }
    if (how.slots.length > 0)
      return this.#beginWhenReady(leased.write({ ...change, takeSlots: this.semaphores.takeRequest(how.slots) }), body)
    if (how.durable) return this.#beginWhenReady(leased.write(change), body)
    leased.writeLazily(change)
    if (!leased.isSurelyLeased()) return this.#beginWhenReady(leased.verifyLease(), body)
    this.#progressBeforeStart = null
    this.#bodyStarted = true
    return body()
  }

  async #beginWhenReady<T>(ready: Promise<void>, body: () => T): Promise<Awaited<T>> {
    try {
      await ready
    } catch (error) {
      if (error instanceof NoSlotFree) this.leased.progress = this.#progressBeforeStart as CallProgress
      throw error
    }
    while (!this.leased.isSurelyLeased()) await this.leased.verifyLease()
    this.#progressBeforeStart = null
    this.#bodyStarted = true
    return await body()
  }

  recordedStep(key: string): StepEnd | null {
    return this.#journal.recordedStep(key)
  }
  recordedSteps(): readonly string[] {
    return this.#journal.bodySteps()
  }

  async runStep(spec: StepSpec, body: () => Promise<StepEnd>): Promise<StepEnd> {
    const { leased } = this
    const round = this.retries + 1
    const recordedEnd = this.#journal.stepEnd(spec, round)
    if (recordedEnd) return recordedEnd
    const { attempt } = this
    if (spec.once) {
      const started = this.#step(spec.key, 'started', null, round, spec.input)
      this.#journal.setStep(started)
      await leased.write(
        leased.fenced({ steps: [started], events: [leased.event('step.started', started.at, { step: spec.key })] }),
      )
    }
    if (!leased.isSurelyLeased()) {
      while (!leased.isSurelyLeased()) await leased.verifyLease()
      // The lease check may have found a cancel: start nothing after it.
      if (leased.stopped) throw new PawlError('attempt_over')
    }
    this.#runningSteps++
    const end = await body().finally(() => this.#runningSteps--)
    // The attempt was abandoned while the step ran: a later one may be at the same step, so this result must not be
    // recorded for it.
    if (this.attempt !== attempt || leased.releaseState !== 'not yet') throw new PawlError('attempt_over')
    const [state, value] = 'done' in end ? (['done', end.done] as const) : (['failed', end.failed] as const)
    const ended = this.#step(spec.key, state, value, round, spec.input)
    const { documents = none, events: attachedEvents = none } = ('done' in end && end.attached) || {}
    const events = [
      leased.event(`step.${state}`, ended.at, { step: spec.key }),
      ...attachedEvents.map(({ type, body }) => leased.event(type, ended.at, body)),
    ]
    const reset = this.#bodyStarted ? resetDeaths(leased) : { steps: none }
    await leased.write(
      leased.fenced({
        ...reset,
        steps: [ended, ...reset.steps],
        ...(documents.length > 0 ? { documents } : {}),
        events,
      }),
    )
    this.#journal.setStep(ended)
    return end
  }

  openWait(spec: WaitSpec): Promise<Wait> {
    return this.#waits.open(spec)
  }

  cancelWaits(): Promise<readonly Wait[]> {
    return this.#waits.cancelOpen()
  }

  async awaitAnswer(wait: Wait, signal: AbortSignal): Promise<Resolution> {
    await this.#waits.announce(wait)
    const resolution = await this.#openBodyWaits.timed(() => this.#host.waiters.answer(wait.id, signal))
    this.#journal.setAnswer(wait.name, encodeResolution(resolution))
    return resolution
  }

  idleWhile<T>(wait: () => Promise<T>, isForTask = false): Promise<T> {
    const idle = (): Promise<T> => this.#openBodyWaits.timed(wait)
    if (this.interruptions === 0 && !isForTask) return idle()
    return notAtRiskWhile(this.leased, this.#trial, isForTask, idle)
  }

  async sleep(key: string, ms: number, signal: AbortSignal): Promise<void> {
    const until = await this.#recordInstant(key, ms)
    await this.#openBodyWaits.timed(() => this.#host.timers.sleep(until, signal))
  }

  async now(key: string): Promise<number> {
    return this.#recordInstant(key, 0)
  }

  async scheduleRetry(delayMs: number, code: string): Promise<void> {
    const { leased } = this
    const at = this.#host.clock.now()
    const until = at + delayMs
    this.#journal.retries++
    this.#accountTime(at)
    leased.move({ ...leased.progress, state: 'queued' })
    const step = this.#step(stepKeys.retry(this.retries), 'done', String(until), this.retries)
    this.#journal.setStep(step)
    const events = [leased.event('call.queued', at, { attempt: leased.progress.attempt, until, code })]
    await leased.write(leased.fenced({ updateCall: leased.update(), ...leased.releaseSlots(), steps: [step], events }))
    await this.awaitRetryDelay()
  }

  awaitRetryDelay(): Promise<void> | undefined {
    const until = this.#journal.delayedUntil
    return until !== null && !this.stopped ? this.#openBodyWaits.delay(until, this.leased) : undefined
  }

  async recordLateEnd(attempt: number, end: StepEnd): Promise<void> {
    const [state, value] = 'done' in end ? (['done', end.done] as const) : (['failed', end.failed] as const)
    await this.leased.recordLateEnd(this.#step(stepKeys.late(attempt), state, value, this.retries + 1), attempt)
  }

  recordDiagnostics(text: string): void {
    this.leased.progress = { ...this.leased.progress, trouble: text }
  }

  derive(purpose: string): Uint8Array {
    return deriveBytes(secretById(this.#host.keys, this.options.secret), this.request.position, purpose)
  }

  attach(attachment: AttachmentRecord): void {
    this.leased.check()
    this.leased.attachments = [...(this.leased.attachments ?? []), attachment]
  }

  async attachment(id: string): Promise<AttachmentRecord | undefined> {
    const { tenant } = this.request.position
    return this.leased.attachments?.find((each) => each.id === id) ?? (await this.#host.store.attachment(tenant, id))
  }

  /** Writes the outcome and reports how the write went. */
  settle(status: Outcome['status'], text: string, onResult: (how: SettleResult) => void): void {
    this.leased.check()
    const at = this.#host.clock.now()
    if (this.#bodyWaits !== null && this.#bodyWaits.ms > 0) this.#accountTime(at)
    const closed = this.#callWaits || this.claimed ? this.approvals.closeItems() : undefined
    this.leased.settle(at, status, text, onResult, closed)
  }

  /** Parks the call on an open wait and releases it, unless the wait is already answered or the call is lost. */
  async park(wait: Wait): Promise<ParkResult> {
    this.leased.check()
    this.#accountTime(this.#host.clock.now())
    const parked = await park(this.leased, this.#waits, wait)
    if (parked === 'answered') this.semaphores.release()
    return parked
  }

  /** Releases the call for the next worker. If its start was being written, the earlier progress is correct. */
  async handBack(): Promise<void> {
    await this.leased.handBack(this.#progressBeforeStart, markOfRest(this.leased))
  }

  async #recordInstant(key: string, inMs: number): Promise<number> {
    const end = await this.runStep({ key, input: null, once: false }, async () => ({
      done: String(this.#host.clock.now() + inMs),
    }))
    return Number((end as { done: string }).done)
  }

  #step(key: string, state: StepState, value: string | null, round: number, input: string | null = null): StepRecord {
    return { call: this.request.uid, key, state, input, value, round, at: this.#host.clock.now() }
  }

  get #waits(): CallWaits {
    const secret = secretById(this.#host.keys, this.options.secret)
    this.#callWaits ??= new CallWaits(this.#host, this.leased, this.#journal, secret)
    return this.#callWaits
  }

  /** Adds the time spent so far to the next write. */
  #accountTime(at: number): void {
    this.leased.accountTime(at, this.#bodyWaits?.takeMs() ?? 0)
  }

  /** The body's waits; throws if the call is no longer ours. */
  get #openBodyWaits(): BodyWaits {
    this.leased.check()
    this.#bodyWaits ??= new BodyWaits(this.#host.clock, () => this.onIdle?.())
    return this.#bodyWaits
  }
}
