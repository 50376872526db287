// One execution of the body. Whatever it does becomes a value: an outcome, or the wait to park on. Its clocks bind even when it ignores
// its signal: abort, a grace, then the call goes on without it, and what it returns later is kept but never delivered (TIME-1).

import { type Driven, type Execution, NoRoom, type ToSettle } from '../../engine/engine.ts'
import { isLoss, PawlError } from '../../core/errors.ts'
import type { Failure, Outcome } from '../../core/outcome.ts'
import { fits } from '../../core/size-limits.ts'
import { isThenable, type MaybePromise } from '../../core/maybe-promise.ts'
import { encode, type Json } from '../../core/value.ts'
import { onCrashOf } from '../../tools/hints.ts'
import { RequiredConnection, successOf } from '../../tools/result.ts'
import type { Tool } from '../../tools/tool.ts'
import type { ValidatedInput } from '../admission/validated-input.ts'
import type { CallCost } from './call-cost.ts'
import { handOut } from '../authorization/client-call.ts'
import { Watch } from './timeouts.ts'
import { required, withoutTokens } from '../authorization/connection.ts'
import { untold } from '../authorization/known-connections.ts'
import { Context } from '../context/context.ts'
import type { Pace } from '../scheduling/nested-calls.ts'
import type { CallHost } from '../ports.ts'
import { scope } from '../async-context.ts'
import { settleThrown } from './error-to-outcome.ts'
import type { Slot } from '../scheduling/slot.ts'
import { isAbort, isTold, isOver, notStarted, outcomeOfStop, type Why, wordsOf } from './stop-outcome.ts'
import { waitOf } from '../context/later.ts'

type Ended = { readonly returned: unknown } | { readonly threw: unknown }

/** Other workers have what it needs: nothing of it has begun. */
export type Full = { readonly full: NoRoom }

/** The body ended for want of a connection; what of it it had seen. */
export type Lacks = { readonly lacks: RequiredConnection; readonly seen: string }

/** At once, if the body was. */
export const attempt = (
  execution: Execution,
  tool: Tool,
  accepted: ValidatedInput,
  slot: Slot,
  host: CallHost,
  bill: CallCost,
): MaybePromise<Driven | Full | Lacks> => new Attempt(execution, tool, accepted, slot, host, bill).run()

class Attempt implements Pace {
  readonly #execution: Execution
  readonly #tool: Tool
  readonly #accepted: ValidatedInput
  /** Gives its place in the queue up while it waits for the outside, and takes it again. */
  readonly #slot: Slot
  readonly #host: CallHost
  readonly #watch: Watch
  readonly #unwatch: () => void
  readonly #bill: CallCost
  #context: Context | null = null
  /** What stopped it first. */
  #why: Why | null = null
  #onStop: ((why: Why) => void) | null = null

  constructor(execution: Execution, tool: Tool, accepted: ValidatedInput, slot: Slot, host: CallHost, bill: CallCost) {
    this.#execution = execution
    this.#tool = tool
    this.#accepted = accepted
    this.#slot = slot
    this.#bill = bill
    this.#host = host
    this.#watch = new Watch(host, execution, tool.clocks, (name) => this.#stop(name))
    this.#unwatch = execution.onStop((why) => {
      if ('over' in why) this.#context?.abort(why.over)
      this.#stop(why)
    })
  }

  run(): MaybePromise<Driven | Full | Lacks> {
    if (this.#why !== null) return this.#notWanted(this.#why)
    let given: unknown
    try {
      // DUR-2: a body that must not run twice waits until its start is on disk; one that may rerun need not.
      // And so does one that another worker may have died over: what ends its process in its first line must be counted (DUR-8).
      const durable = onCrashOf(this.#tool) === 'stop' || this.#execution.claimed
      given = this.#execution.begin({ durable, places: this.#slot.places }, () => this.#body())
      if (!isThenable(given)) return this.#ended({ returned: given })
    } catch (threw) {
      // A body that was stopped and then throws at once: the echo of our abort.
      return this.#why === null ? this.#ended({ threw }) : this.#notWanted(this.#why)
    }
    const body = Promise.resolve(given)
    return new Promise<Driven | Full | Lacks>((resolve, reject) => {
      const end = (ended: Ended): void => {
        if (this.#why !== null) return
        try {
          resolve(this.#ended(ended))
        } catch (error) {
          reject(error)
        }
      }
      this.#onStop = (why) => resolve(this.#stopped(why, body))
      if (this.#why !== null) this.#onStop(this.#why)
      body.then(
        (returned) => end({ returned }),
        (threw: unknown) => end({ threw }),
      )
    })
  }

  // The queue is left first and entered first: the clocks run only while the body does.
  pause(): void {
    this.#slot.leave()
    if (this.#slot.places.length > 0) this.#execution.places.leave()
    this.#watch.pause()
  }

  async resume(): Promise<void> {
    for (let back = false; !back;) {
      // Who was stopped takes nothing any more, and hears why.
      if (!(await this.#entered()))
        throw this.#why === null ? new PawlError('attempt_over') : this.#context?.signal.reason
      back = this.#slot.places.length === 0 || (await this.#tookPlaces())
    }
    this.#watch.resume()
    this.look()
  }

  /** A call above it lost the store as it was brought back: then this execution decides nothing either, and is taken up again with it. */
  async #entered(): Promise<boolean> {
    try {
      return await this.#slot.enter()
    } catch (error) {
      if (isLoss(error)) this.#execution.end(error)
      throw error
    }
  }

  look(): void {
    this.#watch.look()
    if (this.#why !== null) throw this.#context?.signal.reason ?? new PawlError('attempt_over')
  }

  /** Its places in the fleet once more. If others have them, it waits in line for them, and for nothing else meanwhile. */
  async #tookPlaces(): Promise<boolean> {
    const { places } = this.#execution
    try {
      await places.take(this.#slot.places)
      return true
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error
      this.#slot.leave()
      await places.awaitRoom(this.#slot.places, error, this.#context?.signal as AbortSignal)
      return false
    }
  }

  deciding(begin: boolean): void {
    this.#watch.deciding(begin)
  }

  told(end: ToSettle): void {
    this.#stop({ told: end })
  }

  abort(aborted: Failure): void {
    this.#stop({ aborted })
  }

  progress(): void {
    this.#watch.progress()
  }

  #body(): unknown {
    // It was stopped while its start was written: after a cancel nothing starts.
    if (this.#why !== null) throw new PawlError('attempt_over')
    const execution = this.#execution
    this.#context = new Context(execution, this.#tool, this.#host, this, this.#accepted.prepared)
    const about = {
      tool: this.#tool.name,
      callId: execution.callId,
      call: execution.request.uid,
      logger: this.#host.logger,
    }
    const context = this.#context
    context.args = this.#accepted.text
    if (this.#tool.client) return scope.run(about, () => handOut(context))
    const execute = this.#tool.execute as (input: Json, ctx: unknown) => unknown
    const { args } = this.#accepted
    if (this.#host.apps) return scope.run(about, () => context.handed((ctx) => execute(args, ctx)))
    return scope.run(about, execute, args, context.ctx)
  }

  #stop(why: Why): void {
    if (this.#why !== null) return
    this.#why = why
    this.#slot.close()
    this.#onStop?.(why)
  }

  /** What it took is charged when the call ends, or parks (POL-8). */
  #billed(driven: Driven): Driven {
    if (this.#host.budgets.length > 0) this.#bill.ms += this.#watch.ranMs
    if ('settle' in driven && driven.settle.cost !== undefined) this.#bill.costs(driven.settle.cost)
    return driven
  }

  /** Stopped, and nothing of it runs. */
  #notWanted(why: Why): Driven {
    this.#close()
    return notStarted(why)
  }

  #ended(ended: Ended): Driven | Full | Lacks {
    this.#close()
    if ('threw' in ended && ended.threw instanceof NoRoom) return { full: ended.threw }
    const driven = this.#billed(settled(ended, this.#execution, this.#host))
    const connections = this.#context?.told ?? null
    if ('returned' in ended && ended.returned instanceof RequiredConnection)
      return { lacks: ended.returned, seen: connections?.seen.get(ended.returned.provider) ?? '' }
    return 'settle' in driven ? withoutTokens(driven, connections, this.#tool) : driven
  }

  async #stopped(why: Why, body: Promise<unknown>): Promise<Driven> {
    if (this.#context === null) {
      // It will not begin, and says so; whether its start is on record, or was refused, is known then.
      const known = body.catch(() => {})
      if (!isOver(why)) await known
      return this.#notWanted(why)
    }
    try {
      return this.#billed(
        await stoppedBy(why, {
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
    this.#watch.stop()
    this.#unwatch()
    this.#context?.end()
    this.#slot.close()
    this.#host.queue.families.ended(this.#execution.request.uid, this)
  }
}

function settled(ended: Ended, execution: Execution, host: CallHost): Driven {
  try {
    if ('threw' in ended) throw ended.threw
    const wait = waitOf(ended.returned, execution.request.uid)
    if (wait) return { park: wait }
    if (ended.returned instanceof RequiredConnection) return required(ended.returned.provider)
    const outcome = successOf(ended.returned)
    // Refuses what has no recorded form while the body can still be blamed.
    return { settle: outcome, text: encode(outcome) }
  } catch (error) {
    return { settle: settleThrown(error, execution, host) }
  }
}

interface Running {
  readonly body: Promise<unknown>
  readonly context: Context
  readonly execution: Execution
  readonly host: CallHost
  readonly graceMs: number
}

/** Abort, grace, then go on without it. */
async function stoppedBy(why: Why, { body, context, execution, host, graceMs }: Running): Promise<Driven> {
  if (isOver(why)) {
    body.catch(() => {}) // nobody is left to hear of it
    throw why.over
  }
  context.abort(wordsOf(why))
  let callOff = (): void => {}
  let forget = (): void => {}
  const patience = new Promise<null>((resolve) => (callOff = host.clock.timer(graceMs, () => resolve(null))))
  // Should the call be taken from us meanwhile, nothing more is waited for.
  const over = new Promise<never>(
    (_, reject) => (forget = execution.onStop((stop) => ('over' in stop ? reject(stop.over) : undefined))),
  )
  const ended = body.then(
    (returned) => ({ returned }),
    (threw: unknown) => ({ threw }),
  )
  const last = await Promise.race([ended, patience, over]).finally(() => {
    callOff()
    forget()
  })
  // A result that arrives inside the grace wins, but not over a hook; an error then is only the echo of our abort.
  if (last && 'returned' in last && !isAbort(why) && !isTold(why)) {
    const end = settled(last, execution, host)
    return 'settle' in end ? withoutTokens(end, context.told, context.tool) : end
  }
  const mayStillRun = last === null
  if (mayStillRun) keepLate(body, context, execution, host)
  return outcomeOfStop(why, mayStillRun)
}

/** What a body that was given up returns in the end: on record, never delivered. */
function keepLate(body: Promise<unknown>, context: Context, execution: Execution, host: CallHost): void {
  const { attempt: number } = execution
  const keep = (given: Outcome): Promise<void> => {
    const outcome = untold(given, context.told)
    let value: string
    try {
      value = encode(outcome)
      if (!fits(value, host.sizes.result)) value = encode({ status: outcome.status })
    } catch {
      value = encode({ status: outcome.status })
    }
    return execution.late(number, outcome.status === 'success' ? { done: value } : { failed: value })
  }
  body
    .then((returned) => (waitOf(returned, execution.request.uid) ? successOf(null) : successOf(returned)))
    .then(keep, (error: unknown) => keep(settleThrown(error, execution, host)))
    .catch(() => {}) // the store is gone or the call is another's: then there is nowhere to keep it
}
