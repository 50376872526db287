// The local engine: this process remembers on a store and wakes by itself. It starts calls, takes over calls whose worker
// died, and settles each exactly once. The pipeline it drives is handed in; it knows nothing about tools but their names.

import { PawlError } from '../../core/errors.ts'
import { failure, internalErrorMessage } from '../../core/outcome.ts'
import {
  absentTool,
  type CallPosition,
  type CallRecord,
  type Resolution,
  type WaitRecord,
} from '../../store/records/call-record.ts'
import { timesOf } from '../../store/records/call-times.ts'
import { isUnreadable } from '../../security/seal.ts'
import type { Hint } from '../../store/store.ts'
import type {
  AlsoWritten,
  Asked,
  Drive,
  Driven,
  Engine,
  Put,
  ResolveAnswer,
  Settled,
  Started,
  Wait,
} from '../engine.ts'
import { Cancels } from './cancellation/cancellation.ts'
import { takeDown } from './cancellation/stop-children.ts'
import { type EngineState, openEngineState } from './engine-state.ts'
import type { LocalEngineOptions } from './options.ts'
import { LocalExecution } from './execution.ts'
import { handOver } from './shutdown.ts'
import { heldElsewhere } from './leases/owned-elsewhere.ts'
import { joined } from './join-existing.ts'
import type { ActiveCall } from './active-calls.ts'
import { ActiveCalls } from './active-calls.ts'
import type { Lease } from './leases/lease.ts'
import { newRecord } from './new-record.ts'
import { RemoteChanges } from './remote-changes.ts'
import { journalOf, recordedForm } from './load-journal.ts'
import { arrival, put, submit } from './submit.ts'
import { ClaimLoop } from './claim-loop.ts'

const internalError = failure({ class: 'internal', code: 'internal_error', message: internalErrorMessage })

const overOf = ({ stopped }: LocalExecution): PawlError =>
  stopped && 'over' in stopped ? stopped.over : new PawlError('lease_lost')

export class LocalEngine implements Engine {
  readonly #host: EngineState
  readonly #cancels: Cancels
  readonly #drive: Drive
  readonly #sweeper: ClaimLoop
  readonly #lives: ActiveCalls
  readonly #outside: RemoteChanges
  readonly #stopListening: () => void
  readonly #works: boolean
  readonly #tools: () => readonly string[]
  #closing = false
  #closed = false

  private constructor(options: LocalEngineOptions) {
    const { store, clock } = options
    this.#drive = options.drive
    this.#lives = new ActiveCalls(clock)
    this.#works = options.works ?? true
    this.#tools = options.tools
    this.#host = openEngineState(options, () => this.#closing)
    const { waiters, timers } = this.#host
    this.#cancels = new Cancels(options, this.#host.answers, this.#lives)
    this.#sweeper = new ClaimLoop(this.#host, {
      tools: options.tools,
      drives: (uid) => this.#lives.byUid.get(uid)?.execution?.request.fence ?? null,
      gone: (position) => options.gone?.(position),
      take: async (records, lapses) => {
        const go = async (): Promise<void> => {
          options.returning?.(records)
          await Promise.all(records.map((record) => this.#adopt(record, lapses)))
        }
        // Its turn and its places are the lost one's until that has ended; what else there is to claim need not wait for that.
        const before = this.#lives.lost(records)
        if (before.length > 0) this.#looks(Promise.all(before).then(go))
        else await go()
      },
    })
    this.#outside = new RemoteChanges({
      store,
      waiters,
      timers,
      lives: this.#lives.byUid,
      settled: (record) => void this.#watch(record),
      broken: (live, error) => (live.execution ? undefined : this.#unknown(live, error)),
    })
    this.#stopListening = store.onHint((hint) => this.#hinted(hint))
  }

  /** Opens for work: takes the lease, then takes over what dead workers left. Bodies may begin meanwhile and make calls: so it is `made` first. */
  static async open(options: LocalEngineOptions, made: (engine: LocalEngine) => void): Promise<LocalEngine> {
    const engine = new LocalEngine(options)
    made(engine)
    try {
      await engine.#host.lease.renew()
      engine.#host.lease.keep(() => engine.look())
      if (engine.#works) await engine.#sweeper.sweep()
      if (engine.#works) await engine.#host.timers.sweep()
      return engine
    } catch (error) {
      // What opened half must not hold on to anything.
      await engine.close(0).catch(() => {})
      throw error
    }
  }

  start(asked: Asked): Started | Promise<Started> {
    // A body that may still finish may also call what it needs for that.
    if (this.#closed || (this.#closing && asked.options?.root === undefined)) throw new PawlError('runtime_closed')
    const { position } = asked
    let live = this.#lives.at(position)
    if (!live) {
      live = this.#open(asked)
      if (live instanceof Promise) this.#lives.stand(position, live)
    }
    const { store } = this.#host
    return live instanceof Promise ? live.then((opened) => joined(store, opened, asked)) : joined(store, live, asked)
  }

  #check(): void {
    if (this.#closing) throw new PawlError('runtime_closed')
  }

  get lease(): Lease {
    return this.#host.lease
  }

  async put(asked: Asked, also: (uid: string) => AlsoWritten): Promise<Put> {
    this.#check()
    return put(this.#host, asked, also)
  }

  async recorded(position: CallPosition): Promise<CallRecord | undefined> {
    const held = (await this.#lives.at(position))?.execution?.held
    // Order is kept: what rides before it is on record with this.
    if (held?.letGo === 'not yet') await held.write(held.held({ events: [] })).catch(() => {})
    return this.#host.store.callAt(position)
  }

  async settled(position: CallPosition): Promise<Settled | undefined> {
    const record = this.#lives.at(position) ? undefined : await this.#host.store.callAt(position)
    const live = await (this.#lives.at(position) ?? (record && this.#found(record)))
    return live?.settled()
  }

  async resolve(key: string, resolution: Resolution): Promise<ResolveAnswer> {
    this.#check()
    return this.#host.answers.resolve(key, resolution)
  }

  async answer(wait: WaitRecord, call: CallRecord, resolution: Resolution, also: AlsoWritten): Promise<boolean> {
    this.#check()
    return this.#host.answers.decide(wait, call, resolution, also)
  }

  async answerClient(wait: WaitRecord, call: CallRecord, resolution: Resolution): Promise<ResolveAnswer> {
    this.#check()
    return this.#host.answers.answered(wait, call, resolution)
  }

  async cancel(uid: string, why: { reason: string; by: string | null }): Promise<boolean> {
    return this.#cancels.cancel(uid, why)
  }

  async close(graceMs: number): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    this.#stopListening()
    await handOver(this.#host, {
      lives: this.#lives,
      sweeper: this.#sweeper,
      graceMs,
      closed: () => (this.#closed = true),
    })
  }

  /** Looks the call up, and starts it if it is new. Synchronous on embedded stores. */
  #open(asked: Asked): ActiveCall | Promise<ActiveCall> {
    const found = this.#host.store.callAt(asked.position)
    const go = (record: CallRecord | undefined): ActiveCall => {
      // It closed while the store was asked.
      if (this.#closed) throw new PawlError('runtime_closed')
      return record ? this.#found(record, found instanceof Promise) : this.#begin(asked)
    }
    return found instanceof Promise ? found.then(go) : go(found)
  }

  /** A call that is on record. `later`: it was read a moment ago. */
  #found(record: CallRecord, later = true): ActiveCall {
    const live = this.#watch(record)
    if (later) this.#looks(this.#outside.lookAt(live))
    if (this.#sweeper.isOrphan(record.uid)) this.look()
    // A settled call is answered from its record; only open ones stay in memory.
    if (record.state === 'settled') this.#lives.leave(record.position)
    else this.#lives.stand(record.position, live)
    return live
  }

  #begin(asked: Asked): ActiveCall {
    // What has no tool is not left to workers: there may be none, and anybody can say it.
    const isOurs = this.#works || asked.tool === absentTool || !this.#tools().includes(asked.tool)
    const [record, options] = newRecord(asked, this.#host, isOurs)
    const live = this.#lives.add(record)
    // Its body may begin at once: whoever asks for the same call in its first line must find it.
    this.#lives.stand(asked.position, live)
    if (!isOurs) {
      live.recording = submit(this.#host.store, record, asked, (answer) => {
        if ('failed' in answer) this.#unknown(live, answer.failed)
        else if (answer.ok) live.onRecord = true
        else this.#failed(live, new PawlError('lease_lost')) // another process was first
      })
      return live
    }
    const execution = new LocalExecution(this.#host, record, { options })
    execution.held.ride(arrival(record, options?.name)) // with whatever its pipeline writes next
    this.#run(live, execution)
    return live
  }

  /** Waits for a call that is on record. */
  #watch(record: CallRecord): ActiveCall {
    const live = this.#lives.of(record)
    if (record.state === 'settled')
      this.#lives.ended(live, record, record.attempt, record.outcome as string, timesOf(record.createdAt, record))
    else if (!live.execution) live.parked = record.state === 'parked'
    live.onRecord = true
    return live
  }

  /** Drives an execution to its end, or to where it waits, or to where it is somebody else's. */
  #run(live: ActiveCall, execution: LocalExecution): void {
    live.hold(execution)
    live.driving = this.#drive(execution).then(
      (driven) => this.#driven(live, execution, driven),
      (error: unknown) => this.#threw(live, execution, error),
    )
  }

  #driven(live: ActiveCall, execution: LocalExecution, driven: Driven, second = false): void {
    if ('park' in driven)
      return void this.#park(live, execution, driven.park).catch((error: unknown) =>
        this.#failed(live, error, execution),
      )
    const [status, text] = recordedForm(driven, live.uid, this.#host.logger)
    try {
      execution.settle(status, text, (how) => {
        const { request, attempt, held } = execution
        if (how === 'written' && (status === 'cancelled' || status === 'unknown'))
          takeDown(execution, this.#host, this.#cancels)
        if (how === 'written')
          this.#lives.ended(live, request, attempt, text, timesOf(request.createdAt, held.progress))
        else if (how === 'unwritable' && !second)
          this.#threw(live, execution, new Error('The store cannot hold the outcome'), true)
        else this.#failed(live, overOf(execution), execution)
      })
    } catch (error) {
      this.#failed(live, error, execution)
    }
  }

  async #park(live: ActiveCall, execution: LocalExecution, wait: Wait): Promise<void> {
    const parked = await execution.park(wait)
    if (live.execution !== execution) return // claimed anew before the answer to this write was heard
    if (parked === 'parked') live.park()
    if (parked === 'parked') return live.newsWhileHeld ? this.#looks(this.#outside.lookAt(live)) : undefined
    if (parked === 'lost') return this.#lost(live)
    // Its answer came before it could park: it is landed here and now, with what else is on record, such as a cancel.
    await this.#adopt(
      { ...execution.request, ...execution.held.progress, state: 'queued', wait: wait.id },
      execution.held.heldSince,
    )
  }

  /** The pipeline answers with values; should it ever throw, that is our fault and the call still gets its one outcome. */
  #threw(live: ActiveCall, execution: LocalExecution, error: unknown, second = false): void {
    // What the store did not answer says nothing about the call: it is taken up again.
    if (error instanceof PawlError && error.code === 'store_unavailable') execution.held.end(error)
    if (execution.stopped && 'over' in execution.stopped) return this.#failed(live, execution.stopped.over, execution)
    this.#host.logger.error('A call could not end as it did', { call: execution.request.uid, error })
    this.#driven(live, execution, { settle: internalError }, second)
  }

  /** This execution came to nothing: the call is another's, or the store did not answer and nobody knows. */
  #failed(live: ActiveCall, error: unknown, execution: LocalExecution | null = null): void {
    // Should it have been claimed anew, the call is another execution's.
    if (live.execution !== execution) return
    if (error instanceof PawlError && error.code === 'lease_lost') {
      this.#lost(live).catch((cause: unknown) => this.#unknown(live, cause))
    } else this.#unknown(live, error)
  }

  /** The call may be on record as ours. It is let go of as soon as the store answers again; one that cannot be opened stands still. */
  #unknown(live: ActiveCall, error: unknown): void {
    if (isUnreadable(error)) this.#host.logger.error('The record of a call cannot be read', { call: live.uid, error })
    else if (!this.#closing) this.#sweeper.orphaned(live)
    live.release()
    this.#lives.forget(live)
    this.#lives.leave(live.position)
    live.reject(error)
  }

  /** Another worker holds the call, or another process put it on record first: wait for what it makes of it. */
  #lost(live: ActiveCall): Promise<void> {
    return heldElsewhere(
      live,
      this.#lives,
      this.#host.store,
      (record) => this.#watch(record),
      (other) => this.#looks(this.#outside.lookAt(other)),
    )
  }

  #hinted(hint: Hint): void {
    if (this.#closing) return
    this.#host.places.hinted()
    if (this.#works && (hint.wakes || hint.outside)) this.#looks(this.#sweeper.sweep())
    if (hint.outside) this.#looks(this.#outside.look())
  }

  /** Looks for work; there may be more when a tool has come. Should the store not answer, the next heartbeat does. */
  look(): void {
    if (this.#closing) return
    for (const { execution } of this.#lives.byUid.values()) execution?.held.reconfirm()
    // A hint comes once: if the store did not answer then, it is asked now.
    if (this.#outside.missed) this.#looks(this.#outside.look())
    this.#looks(this.#host.waiters.lookAtDoubted())
    this.#looks(this.#cancels.lookAgain())
    if (!this.#works) return this.#sweeper.giveUp()
    this.#looks(this.#sweeper.sweep())
    // The wall clock may have jumped over a deadline, which a timer cannot see.
    this.#looks(this.#host.timers.sweep())
    // Should a look have failed, this one makes up for it.
    this.#looks(this.#outside.look())
  }

  #looks(look: Promise<void>): void {
    look.catch((error: unknown) => {
      if (!this.#closing)
        this.#host.logger.warn('The store did not answer; what it holds is looked at again soon', { error })
    })
  }

  /** Goes on with a claimed call from what is on record. */
  async #adopt(record: CallRecord, lapses: number): Promise<void> {
    const live = this.#lives.of(record)
    if (!this.#lives.at(record.position)) this.#lives.stand(record.position, live)
    try {
      const { looks } = this.#outside
      const read = await journalOf(this.#host.store, record)
      const execution = new LocalExecution(this.#host, record, { ...read, lapses })
      this.#cancels.tell(execution)
      this.#run(live, execution)
      // A cancel that came while it was read was told to nobody.
      if (this.#outside.looks !== looks) this.#looks(this.#outside.lookForCancel(live))
    } catch (error) {
      if (isUnreadable(error)) return this.#unknown(live, error)
      // It is ours on record and nobody drives it: let go of as soon as the store answers, and claimed again.
      live.release()
      this.#sweeper.orphaned(record)
      this.#looks(Promise.reject(error))
    }
  }
}
