// The local engine: persists calls in a store, runs them in this process, takes over calls of dead workers, and settles
// each exactly once. Drivers are registered with it; the engine knows only the names of their tools.

import { chain, isThenable } from '../../core/maybe-promise.ts'
import { PawlError } from '../../core/errors.ts'
import { failure, internalErrorMessage } from '../../core/outcome.ts'
import type { CallPosition, CallRecord, Resolution, WaitRecord } from '../../store/records/call-record.ts'
import { timesOf } from '../../store/records/call-times.ts'
import { isUnreadable } from '../../security/seal.ts'
import type { Hint } from '../../store/store.ts'
import type {
  CancelReason,
  ExtraWrites,
  NewCall,
  Driven,
  Driver,
  Engine,
  SubmitResult,
  ResolveAnswer,
  SettledCall,
  StartResult,
  Wait,
} from '../engine.ts'
import { observeSettled } from '../observed-call.ts'
import { Cancellations } from './cancellation/cancellation.ts'
import { stopChildren } from './cancellation/stop-children.ts'
import { type EngineState, type LocalEngineOptions, openEngineState } from './engine-state.ts'
import { LocalExecution } from './local-execution.ts'
import { shutDown } from './shutdown.ts'
import { driveObserved } from './drive-observed.ts'
import { followOtherOwner } from './leases/follow-other-owner.ts'
import { joinExisting, type ActiveCall, ActiveCalls } from './active-calls.ts'
import { newRecord, insertChange, submitWith, submit } from './submit.ts'
import { RemoteChanges } from './changes-by-other-workers.ts'
import { loadJournal, encodeOutcome } from './leases/journal-cache.ts'
import { type Blame, findCulprit } from './leases/find-culprit.ts'
import { ClaimLoop } from './claim-loop.ts'
import { absentTool } from '../../store/journal-keys.ts'

const internalError = failure({ class: 'internal', code: 'internal_error', message: internalErrorMessage })

const endError = ({ stopped }: LocalExecution): PawlError =>
  stopped && 'over' in stopped ? stopped.over : new PawlError('lease_lost')

export class LocalEngine implements Engine {
  readonly #host: EngineState
  readonly #cancellations: Cancellations
  readonly #claimLoop: ClaimLoop
  readonly #activeCalls: ActiveCalls
  readonly #remoteChanges: RemoteChanges
  readonly #works: boolean
  #stopListening = (): void => {}
  #isOpen = false
  #closing = false
  #closed = false

  constructor(options: LocalEngineOptions) {
    this.#activeCalls = new ActiveCalls(options.clock)
    this.#works = options.works
    this.#host = openEngineState(options, () => this.#closing)
    const { store, waiters, timers, drivers } = this.#host
    this.#cancellations = new Cancellations(this.#host, this.#activeCalls)
    this.#claimLoop = new ClaimLoop(this.#host, {
      fenceHere: (uid) => this.#activeCalls.byUid.get(uid)?.execution?.request.fence ?? null,
      takeOver: async (records, lapses, isWhole) => {
        const resumeAll = async (): Promise<void> => {
          drivers.onReturning(records)
          const blameOf = await findCulprit(store, records, isWhole)
          await Promise.all(records.map((record) => this.#resume(record, lapses, blameOf(record))))
        }
        // The stale execution keeps its batch position and slots until it ends. Other claims need not wait for that.
        const staleExecutions = this.#activeCalls.dropStale(records)
        if (staleExecutions.length > 0) this.#logFailure(Promise.all(staleExecutions).then(resumeAll))
        else await resumeAll()
      },
    })
    this.#remoteChanges = new RemoteChanges({
      store,
      waiters,
      timers,
      activeCalls: this.#activeCalls.byUid,
      onSettled: (record) => void this.#watch(record),
      onUnreadable: (active, error) => (active.execution ? undefined : this.#giveUp(active, error)),
    })
  }

  register(driver: Driver): void {
    this.#host.drivers.register(driver)
  }

  /** Takes the lease, then takes over calls of dead workers. */
  async open(): Promise<void> {
    const { store, lease } = this.#host
    this.#stopListening = store.onHint((hint) => this.#onHint(hint))
    try {
      await lease.renew()
      lease.startRenewing(() => this.lookForWork())
      if (this.#works) await this.#takeOverCalls()
      this.#isOpen = true
    } catch (error) {
      // Release the lease and the timers.
      await this.close(0).catch(() => {})
      throw error
    }
  }

  async #takeOverCalls(): Promise<void> {
    await this.#claimLoop.sweep()
    await this.#host.timers.sweep()
  }

  running = (): readonly CallPosition[] => this.#activeCalls.running()
  get tools(): readonly string[] {
    return this.#host.drivers.tools()
  }

  canDrive(tool: string): boolean {
    return this.#host.drivers.canDrive(tool)
  }

  /** True while the engine opens: the calls it takes over then are not counted across workers. */
  isAlone(): boolean {
    return !this.#isOpen || this.#host.lease.workers <= 1
  }

  start(newCall: NewCall): StartResult | Promise<StartResult> {
    // During the grace period running bodies may still make nested calls.
    if (this.#closed || (this.#closing && newCall.options?.root === undefined)) throw new PawlError('runtime_closed')
    const { position } = newCall
    let active = this.#activeCalls.at(position)
    if (!active) {
      active = this.#openCall(newCall)
      if (isThenable(active)) this.#activeCalls.setAt(position, active)
    }
    return chain(active, (opened) => joinExisting(this.#host.store, opened, newCall))
  }

  #checkOpen(): void {
    if (this.#closing) throw new PawlError('runtime_closed')
  }

  async submit(newCall: NewCall, extra: (uid: string) => ExtraWrites): Promise<SubmitResult> {
    this.#checkOpen()
    return submitWith(this.#host, newCall, extra)
  }

  async recorded(position: CallPosition): Promise<CallRecord | undefined> {
    const active = await this.#activeCalls.at(position)
    await active?.recording
    const leased = active?.execution?.leased
    if (leased?.releaseState === 'under way') await leased.awaitRelease()
    // An empty write flushes the lazy writes before it.
    else if (leased?.releaseState === 'not yet') await leased.write(leased.fenced({ events: [] })).catch(() => {})
    return this.#host.store.callAt(position)
  }

  async settled(position: CallPosition): Promise<SettledCall | undefined> {
    const record = this.#activeCalls.at(position) ? undefined : await this.#host.store.callAt(position)
    const active = await (this.#activeCalls.at(position) ?? (record && this.#joinRecorded(record)))
    return active?.settled()
  }

  async resolve(key: string, resolution: Resolution): Promise<ResolveAnswer> {
    this.#checkOpen()
    return this.#host.answers.resolve(key, resolution)
  }

  async answer(wait: WaitRecord, call: CallRecord, resolution: Resolution, extra: ExtraWrites): Promise<boolean> {
    this.#checkOpen()
    return this.#host.answers.decide(wait, call, resolution, extra)
  }

  async answerClient(wait: WaitRecord, call: CallRecord, resolution: Resolution): Promise<ResolveAnswer> {
    this.#checkOpen()
    return this.#host.answers.answer(wait, call, resolution)
  }

  async cancel(uid: string, why: CancelReason): Promise<boolean> {
    return this.#cancellations.cancel(uid, why)
  }

  async close(graceMs: number): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    this.#stopListening()
    await shutDown(this.#host, {
      activeCalls: this.#activeCalls,
      claimLoop: this.#claimLoop,
      graceMs,
      onClosed: () => (this.#closed = true),
    })
  }

  /** Looks up the call and starts it if it is new. Synchronous on embedded stores. */
  #openCall(newCall: NewCall): ActiveCall | Promise<ActiveCall> {
    const found = this.#host.store.callAt(newCall.position)
    const joinOrStart = (record: CallRecord | undefined): ActiveCall => {
      // The engine closed while the store was read.
      if (this.#closed) throw new PawlError('runtime_closed')
      return record ? this.#joinRecorded(record, isThenable(found)) : this.#startNew(newCall)
    }
    return chain(found, joinOrStart)
  }

  /** Joins a recorded call. `mayBeStale`: the record was read a moment ago, so check for changes since. */
  #joinRecorded(record: CallRecord, mayBeStale = true): ActiveCall {
    const active = this.#watch(record)
    if (mayBeStale) this.#logFailure(this.#remoteChanges.checkCall(active))
    if (this.#claimLoop.isOrphan(record.uid)) this.lookForWork()
    // Settled calls are answered from their record; only open ones stay in memory.
    if (record.state === 'settled') this.#activeCalls.removeAt(record.position)
    else this.#activeCalls.setAt(record.position, active)
    return active
  }

  #startNew(newCall: NewCall): ActiveCall {
    // A call of an unknown tool fails here at once: perhaps no worker would ever claim it.
    const isOurs = this.#works || newCall.tool === absentTool || !this.canDrive(newCall.tool)
    const [record, options] = newRecord(newCall, this.#host, isOurs)
    const active = this.#activeCalls.add(record)
    // Registered before the body runs: its first line may request the same call.
    this.#activeCalls.setAt(newCall.position, active)
    if (!isOurs) {
      active.recording = submit(this.#host.store, record, newCall, (answer) => {
        if ('failed' in answer) this.#giveUp(active, answer.failed)
        else if (answer.ok) active.isRecorded = true
        else this.#onExecutionFailed(active, new PawlError('lease_lost')) // another process recorded it first
      })
      return active
    }
    const execution = new LocalExecution(this.#host, record, { options })
    execution.leased.writeLazily(insertChange(record, options?.name)) // written with the pipeline's first write
    this.#run(active, execution)
    return active
  }

  /** Tracks a recorded call until it settles. */
  #watch(record: CallRecord): ActiveCall {
    const active = this.#activeCalls.getOrAdd(record)
    if (record.state === 'settled')
      this.#activeCalls.settle(
        active,
        record,
        record.attempt,
        record.outcome as string,
        timesOf(record.createdAt, record),
      )
    else if (!active.execution) active.parked = record.state === 'parked'
    active.isRecorded = true
    return active
  }

  /** Runs the pipeline until the call settles, parks or is lost to another worker. */
  #run(active: ActiveCall, execution: LocalExecution): void {
    active.setExecution(execution)
    active.driving = driveObserved(this.#host, execution).then(
      (driven) => this.#onDriven(active, execution, driven),
      (error: unknown) => this.#onDriveError(active, execution, error),
    )
  }

  #onDriven(active: ActiveCall, execution: LocalExecution, driven: Driven, isSecondTry = false): void {
    execution.leaveTrial()
    if ('park' in driven)
      return void this.#park(active, execution, driven.park).catch((error: unknown) =>
        this.#onExecutionFailed(active, error, execution),
      )
    const [status, text] = encodeOutcome(driven, active.uid, this.#host.logger)
    try {
      execution.settle(status, text, (how) => {
        const { request, attempt, leased } = execution
        if (how === 'written') {
          if (status === 'cancelled' || status === 'unknown') stopChildren(execution, this.#host, this.#cancellations)
          observeSettled(this.#host.observers.current, request, driven, leased.progress)
          this.#activeCalls.settle(active, request, attempt, text, timesOf(request.createdAt, leased.progress))
        } else if (how === 'unwritable' && !isSecondTry)
          this.#onDriveError(active, execution, new Error('The store rejected the outcome'), true)
        else this.#onExecutionFailed(active, endError(execution), execution)
      })
    } catch (error) {
      this.#onExecutionFailed(active, error, execution)
    }
  }

  async #park(active: ActiveCall, execution: LocalExecution, wait: Wait): Promise<void> {
    const result = await execution.park(wait)
    if (active.execution !== execution) return // the call was claimed again before this write was answered
    if (result === 'parked') {
      active.park()
      return active.changedWhileDriven ? this.#logFailure(this.#remoteChanges.checkCall(active)) : undefined
    }
    if (result === 'lost') return this.#followOwner(active)
    // The answer arrived before the call could park: resume here with what is recorded, such as a cancel.
    await this.#resume(
      { ...execution.request, ...execution.leased.progress, state: 'queued', wait: wait.id },
      execution.leased.verifiedAtLapse,
    )
  }

  /**
   * The pipeline returns outcomes and should not throw. If it does, that is a bug of ours and the call still gets one
   * outcome.
   */
  #onDriveError(active: ActiveCall, execution: LocalExecution, error: unknown, isSecondTry = false): void {
    execution.leaveTrial()
    // A store failure says nothing about the call: it is claimed again.
    if (error instanceof PawlError && error.code === 'store_unavailable') execution.leased.end(error)
    if (execution.stopped && 'over' in execution.stopped)
      return this.#onExecutionFailed(active, execution.stopped.over, execution)
    this.#host.logger.error('The pipeline threw; the call settles with an internal error', {
      call: execution.request.uid,
      error,
    })
    this.#onDriven(active, execution, { settle: internalError }, isSecondTry)
  }

  /** This execution failed: another worker holds the call, or the store did not answer. */
  #onExecutionFailed(active: ActiveCall, error: unknown, execution: LocalExecution | null = null): void {
    // The call was claimed again and belongs to a newer execution.
    if (active.execution !== execution) return
    if (error instanceof PawlError && error.code === 'lease_lost') {
      this.#followOwner(active).catch((cause: unknown) => this.#giveUp(active, cause))
    } else this.#giveUp(active, error)
  }

  /**
   * Stops waiting for the call, which may still be recorded as ours. The claim loop releases it once the store answers.
   * An unreadable record is left alone.
   */
  #giveUp(active: ActiveCall, error: unknown): void {
    if (isUnreadable(error)) this.#host.logger.error('The record of a call cannot be read', { call: active.uid, error })
    else if (!this.#closing) this.#claimLoop.addOrphan(active)
    active.release()
    this.#activeCalls.remove(active)
    this.#activeCalls.removeAt(active.position)
    active.reject(error)
  }

  /** Another worker holds the call, or another process recorded it first: wait for the result from there. */
  #followOwner(active: ActiveCall): Promise<void> {
    return followOtherOwner(
      active,
      this.#activeCalls,
      this.#host.store,
      (record) => this.#watch(record),
      (other) => this.#logFailure(this.#remoteChanges.checkCall(other)),
    )
  }

  #onHint(hint: Hint): void {
    if (this.#closing) return
    if (this.#works && (hint.wakes || hint.outside)) this.#logFailure(this.#claimLoop.sweep())
    if (hint.outside) this.#logFailure(this.#remoteChanges.look())
  }

  /** Looks for work, for example after a tool was added. If the store does not answer, the next heartbeat retries. */
  lookForWork(): void {
    if (this.#closing) return
    for (const { execution } of this.#activeCalls.byUid.values()) execution?.leased.recheckLease()
    // Each hint is sent only once, so a failed check is repeated here.
    if (this.#remoteChanges.lastLookFailed) this.#logFailure(this.#remoteChanges.look())
    this.#logFailure(this.#host.waiters.checkUncertain())
    this.#logFailure(this.#cancellations.retryPending())
    if (!this.#works) return this.#claimLoop.dropOrphans()
    this.#logFailure(this.#claimLoop.sweep())
    // The wall clock may have jumped past a deadline, which a timer does not notice.
    this.#logFailure(this.#host.timers.sweep())
    // Catches up on hints that were missed.
    this.#logFailure(this.#remoteChanges.look())
  }

  #logFailure(look: Promise<void>): void {
    look.catch((error: unknown) => {
      if (!this.#closing) this.#host.logger.warn('The store did not answer; the next heartbeat tries again', { error })
    })
  }

  /** Continues a claimed call from its journal. */
  async #resume(record: CallRecord, lapses: number, blame: Blame = 'company'): Promise<void> {
    const active = this.#activeCalls.getOrAdd(record)
    if (!this.#activeCalls.at(record.position)) this.#activeCalls.setAt(record.position, active)
    try {
      const { lookCount } = this.#remoteChanges
      const journal = await loadJournal(this.#host.store, record)
      const execution = new LocalExecution(this.#host, record, { ...journal, lapses, blame })
      this.#cancellations.applyPending(execution)
      this.#run(active, execution)
      // A cancel that was recorded while the journal was read has not reached any execution.
      if (this.#remoteChanges.lookCount !== lookCount) this.#logFailure(this.#remoteChanges.checkCancel(active))
    } catch (error) {
      if (isUnreadable(error)) return this.#giveUp(active, error)
      // We own the call but do not run it: release it once the store answers, so that it can be claimed again.
      active.release()
      this.#claimLoop.addOrphan(record)
      this.#logFailure(Promise.reject(error))
    }
  }
}
