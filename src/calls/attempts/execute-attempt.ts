// Runs the body once and turns the result into an outcome or a wait to park on. Timeouts hold even if the body ignores
// its signal: abort, grace period, then the call continues without it; a late result is recorded but never delivered.

import { type Driven, type Execution, NoSlotFree, type ToSettle } from '../../engine/engine.ts'
import { runTraced } from '../../engine/trace-scope.ts'
import { isStoreOrLeaseLost, PawlError } from '../../core/errors.ts'
import { type Failure, type Outcome, revealsSecrets } from '../../core/outcome.ts'
import { fits } from '../../core/size-limits.ts'
import { isThenable, type MaybePromise } from '../../core/maybe-promise.ts'
import { encode, type Json } from '../../core/tool-value.ts'
import { onCrashOf } from '../../tools/tool-hints.ts'
import { RequiredConnection, successOf } from '../../tools/result.ts'
import type { Tool } from '../../tools/tool.ts'
import type { ValidatedInput } from '../admission/read-arguments.ts'
import type { CallRun } from '../call-run.ts'
import { handOutToClient } from '../authorization/hand-call-to-client.ts'
import { AttemptTimeouts } from './attempt-timeouts.ts'
import { connectionRequiredOutcome, withoutTokens } from '../authorization/request-connection.ts'
import { withoutUsedSecrets } from '../authorization/used-connections.ts'
import { Context } from '../context/context.ts'
import type { AttemptControl } from '../scheduling/nested-calls.ts'
import type { CallHost } from '../ports.ts'
import { type Scope, scope } from '../async-context.ts'
import { outcomeOfThrown } from './error-to-outcome.ts'
import { observeAttempt } from './observe-attempt.ts'
import type { Slot } from '../scheduling/slot.ts'
import {
  isAbort,
  isEmittedEnd,
  isOver,
  notStarted,
  outcomeOfStop,
  type StopReason,
  stopMessage,
} from './outcome-when-stopped.ts'
import { returnedWait } from '../context/deferred-result.ts'

type BodyResult = { readonly returned: unknown } | { readonly threw: unknown }

/** Other workers hold the slots; the body has not begun. */
export type NoRoomResult = { readonly noRoom: NoSlotFree }

/** The body returned connectionRequired. `seen`: the mark of the connection that it had read, or ''. */
export type MissingConnection = { readonly missing: RequiredConnection; readonly seen: string }

/** Synchronous if the body is. */
export const executeAttempt = (run: CallRun): MaybePromise<Driven | NoRoomResult | MissingConnection> => {
  const { host } = run
  const attempt = new Attempt(run)
  return host.observers.current ? observeAttempt(run, attempt) : attempt.start()
}

class Attempt implements AttemptControl {
  readonly #run: CallRun
  readonly #execution: Execution
  readonly #tool: Tool
  readonly #host: CallHost
  readonly #input: ValidatedInput
  /** Released while the body waits, and acquired again before it continues. */
  readonly #slot: Slot
  readonly #timeouts: AttemptTimeouts
  readonly #offStop: () => void
  #context: Context | null = null
  /** Set only if there is an observer. */
  onStart: (() => void) | null = null
  /** The first reason; later ones are ignored. */
  #stopReason: StopReason | null = null
  #onStop: ((reason: StopReason) => void) | null = null

  constructor(run: CallRun) {
    const { execution, tool, host } = run
    this.#run = run
    this.#execution = execution
    this.#tool = tool
    this.#host = host
    // Copied from the run, which holds those of the current attempt: an abandoned attempt keeps its own.
    this.#input = run.attemptInput
    this.#slot = run.slot as Slot
    this.#timeouts = new AttemptTimeouts(host, execution, tool.clocks, (name) => this.#stop(name))
    this.#offStop = execution.onStop((reason) => {
      if ('over' in reason) this.#context?.abort(reason.over)
      this.#stop(reason)
    })
  }

  start(): MaybePromise<Driven | NoRoomResult | MissingConnection> {
    if (this.#stopReason !== null) return this.#stoppedBeforeStart(this.#stopReason)
    let result: unknown
    try {
      // A body that must not run twice starts only after its start is durable. So does a claimed one: if it kills the
      // worker in its first line, that death must be counted.
      const durable = onCrashOf(this.#tool) === 'stop' || this.#execution.claimed
      result = this.#execution.begin({ durable, slots: this.#slot.slotRequests }, () => this.#body())
      if (!isThenable(result)) return this.#ended({ returned: result })
    } catch (threw) {
      // After a stop, an error is only the consequence of our abort.
      return this.#stopReason === null ? this.#ended({ threw }) : this.#stoppedBeforeStart(this.#stopReason)
    }
    const body = Promise.resolve(result)
    return new Promise<Driven | NoRoomResult | MissingConnection>((resolve, reject) => {
      const end = (ended: BodyResult): void => {
        if (this.#stopReason !== null) return
        try {
          resolve(this.#ended(ended))
        } catch (error) {
          reject(error)
        }
      }
      this.#onStop = (reason) => resolve(this.#stopped(reason, body))
      if (this.#stopReason !== null) this.#onStop(this.#stopReason)
      body.then(
        (returned) => end({ returned }),
        (threw: unknown) => end({ threw }),
      )
    })
  }

  // The slot is released before the timeouts pause and acquired before they resume: they run only while the body does.
  pause(): void {
    this.#slot.leave()
    if (this.#slot.slotRequests.length > 0) this.#execution.semaphores.release()
    this.#timeouts.pause()
  }

  async resume(): Promise<void> {
    for (let resumed = false; !resumed;) {
      // A stopped attempt acquires nothing and throws the reason.
      if (!(await this.#enterQueue()))
        throw this.#stopReason === null ? new PawlError('attempt_over') : this.#context?.signal.reason
      resumed = this.#slot.slotRequests.length === 0 || (await this.#takePlaces())
    }
    this.#timeouts.resume()
    this.assertInTime()
  }

  /**
   * Entering may resume an ancestor. If the ancestor lost the store or its lease, this execution ends too and is
   * claimed again with it.
   */
  async #enterQueue(): Promise<boolean> {
    try {
      return await this.#slot.enter()
    } catch (error) {
      if (isStoreOrLeaseLost(error)) this.#execution.end(error)
      throw error
    }
  }

  assertInTime(): void {
    this.#timeouts.checkDeadline()
    if (this.#stopReason !== null) throw this.#context?.signal.reason ?? new PawlError('attempt_over')
  }

  /**
   * Acquires the semaphore slots again. If none is free, the attempt leaves the queue and waits for one. False: enter
   * the queue again.
   */
  async #takePlaces(): Promise<boolean> {
    const { semaphores } = this.#execution
    try {
      await semaphores.acquire(this.#slot.slotRequests)
      return true
    } catch (error) {
      if (!(error instanceof NoSlotFree)) throw error
      this.#slot.leave()
      await semaphores.awaitSlot(this.#slot.slotRequests, error, this.#context?.signal as AbortSignal)
      return false
    }
  }

  setDeciding(begin: boolean): void {
    this.#timeouts.deciding(begin)
  }

  taskEnded(end: ToSettle): void {
    this.#stop({ emittedEnd: end })
  }

  abort(aborted: Failure): void {
    this.#stop({ aborted })
  }

  progress(): void {
    this.#timeouts.progress()
  }

  #body(): unknown {
    // Stopped while its start was being written: the body must not start after a cancel.
    if (this.#stopReason !== null) throw new PawlError('attempt_over')
    this.onStart?.()
    const execution = this.#execution
    this.#context = new Context(execution, this.#tool, this.#host, this, this.#input.prepared)
    const about = {
      tool: this.#tool.name,
      callId: execution.callId,
      call: execution.request.uid,
      session: execution.request.position.session,
      tenant: execution.request.position.tenant,
      logger: this.#host.logger,
    }
    const context = this.#context
    context.args = this.#input.text
    return runTraced(this.#host.observers, execution, () => this.#execute(about, context))
  }

  #execute(about: Scope, context: Context): unknown {
    if (this.#tool.client) return scope.run(about, () => handOutToClient(context))
    const execute = this.#tool.execute as (input: Json, ctx: unknown) => unknown
    const { args } = this.#input
    if (this.#host.apps) return scope.run(about, () => context.runWithApp((ctx) => execute(args, ctx)))
    return scope.run(about, execute, args, context.ctx)
  }

  #stop(reason: StopReason): void {
    if (this.#stopReason !== null) return
    this.#stopReason = reason
    this.#slot.close()
    this.#onStop?.(reason)
  }

  /** Adds the time and cost of this attempt to the call's. Budgets are charged when the call ends or parks. */
  #addCost(driven: Driven): Driven {
    if (this.#host.budgets.length > 0) this.#run.bodyMs += this.#timeouts.ranMs
    if ('settle' in driven && driven.settle.cost !== undefined) this.#run.addCost(driven.settle.cost)
    return driven
  }

  #stoppedBeforeStart(reason: StopReason): Driven {
    this.#close()
    return notStarted(reason)
  }

  #ended(result: BodyResult): Driven | NoRoomResult | MissingConnection {
    this.#close()
    if ('threw' in result && result.threw instanceof NoSlotFree) return { noRoom: result.threw }
    const driven = this.#addCost(toDriven(result, this.#execution, this.#host))
    const connections = this.#context?.usedConnections ?? null
    if ('returned' in result && result.returned instanceof RequiredConnection)
      return { missing: result.returned, seen: connections?.seen.get(result.returned.provider) ?? '' }
    if ('park' in driven || (!connections && !revealsSecrets(driven.settle))) return driven
    return withoutTokens(driven, connections, this.#tool)
  }

  async #stopped(reason: StopReason, body: Promise<unknown>): Promise<Driven> {
    if (this.#context === null) {
      // The body has not started and will not start. Wait until the write of its start has been accepted or rejected.
      const started = body.catch(() => {})
      if (!isOver(reason)) await started
      return this.#stoppedBeforeStart(reason)
    }
    try {
      return this.#addCost(
        await awaitStoppedBody(reason, {
          body,
          context: this.#context,
          execution: this.#execution,
          host: this.#host,
          graceMs: this.#tool.graceMs,
        }),
      )
    } finally {
      this.#close()
    }
  }

  #close(): void {
    this.#timeouts.stop()
    this.#offStop()
    this.#context?.end()
    this.#slot.close()
    this.#host.queue.nestedCalls.attemptEnded(this.#execution.request.uid, this)
  }
}

function toDriven(result: BodyResult, execution: Execution, host: CallHost): Driven {
  try {
    if ('threw' in result) throw result.threw
    const wait = returnedWait(result.returned, execution.request.uid)
    if (wait) return { park: wait }
    if (result.returned instanceof RequiredConnection)
      return connectionRequiredOutcome(result.returned.provider, execution.options)
    const outcome = successOf(result.returned)
    // Encoded here, so that a value without a recorded form is reported as an error of the body.
    return { settle: outcome, text: encode(outcome) }
  } catch (error) {
    return { settle: outcomeOfThrown(error, execution, host) }
  }
}

interface StoppedBody {
  readonly body: Promise<unknown>
  readonly context: Context
  readonly execution: Execution
  readonly host: CallHost
  readonly graceMs: number
}

/** Aborts the body, waits for the grace period, then continues without it. */
async function awaitStoppedBody(
  reason: StopReason,
  { body, context, execution, host, graceMs }: StoppedBody,
): Promise<Driven> {
  if (isOver(reason)) {
    body.catch(() => {}) // this execution is over; its result is ignored
    throw reason.over
  }
  context.abort(stopMessage(reason))
  let cancelTimer = (): void => {}
  let offStop = (): void => {}
  const grace = new Promise<null>((resolve) => (cancelTimer = host.clock.timer(graceMs, () => resolve(null))))
  // Stop waiting if this execution loses the call during the grace period.
  const over = new Promise<never>(
    (_, reject) => (offStop = execution.onStop((stop) => ('over' in stop ? reject(stop.over) : undefined))),
  )
  const ended = body.then(
    (returned) => ({ returned }),
    (threw: unknown) => ({ threw }),
  )
  const last = await Promise.race([ended, grace, over]).finally(() => {
    cancelTimer()
    offStop()
  })
  // A result within the grace period wins, except over a hook's abort or an emitted end. An error is only the
  // consequence of our abort.
  if (last && 'returned' in last && !isAbort(reason) && !isEmittedEnd(reason)) {
    const end = toDriven(last, execution, host)
    return 'settle' in end ? withoutTokens(end, context.usedConnections, context.tool) : end
  }
  const mayStillRun = last === null
  if (mayStillRun) recordLateResult(body, context, execution, host)
  return outcomeOfStop(reason, mayStillRun)
}

/** Records the late result of an abandoned body; it is never delivered. */
function recordLateResult(body: Promise<unknown>, context: Context, execution: Execution, host: CallHost): void {
  const { attempt: number } = execution
  const record = (late: Outcome): Promise<void> => {
    const outcome = withoutUsedSecrets(late, context.usedConnections)
    let value: string
    try {
      value = encode(outcome)
      if (!fits(value, host.sizes.result)) value = encode({ status: outcome.status })
    } catch {
      value = encode({ status: outcome.status })
    }
    return execution.recordLateEnd(number, outcome.status === 'success' ? { done: value } : { failed: value })
  }
  body
    .then((returned) => (returnedWait(returned, execution.request.uid) ? successOf(null) : successOf(returned)))
    .then(record, (error: unknown) => record(outcomeOfThrown(error, execution, host)))
    .catch(() => {}) // the store is unavailable or another worker owns the call: the result is lost
}
