// One execution of the body. Whatever it does becomes a value: an outcome, or the wait to park on. Its clocks bind even when it ignores
// its signal: abort, a grace, then the call goes on without it, and what it returns later is kept but never delivered (TIME-1).

import type { Driven, Invocation, Stop, ToSettle } from '../engine/engine.ts'
import { failure, type Outcome } from '../kernel/outcome.ts'
import { fits } from '../kernel/sizes.ts'
import { encode, encodeOnce, type Json } from '../kernel/value.ts'
import { onCrashOf } from '../tool/hints.ts'
import { successOf } from '../tool/result.ts'
import type { Tool } from '../tool/tool.ts'
import { type ClockName, clockMs, tooLateAt, Watch } from './clocks.ts'
import { type Context, contextOf, waitOf } from './context.ts'
import type { CallHost } from './host.ts'
import { scope } from './scope.ts'
import { settleThrown } from './settle.ts'

export interface Attempted {
  readonly args: Json
  /** What prepare handed on. */
  readonly prepared: Json
  /** Gives its place in the queue up while it waits for the outside, and takes it again. */
  readonly slot: { leave(): void; enter(): Promise<void> }
}

type Ended = { readonly returned: unknown } | { readonly threw: unknown } | { readonly stopped: Stop | ClockName }

export const graceMs = 50

export async function attempt(invocation: Invocation, tool: Tool, given: Attempted, host: CallHost): Promise<Driven> {
  const { clock } = host
  const { options, request } = invocation
  let stop: (why: Stop | ClockName) => void = () => {}
  const watch = new Watch(
    clock,
    {
      attempt: clockMs('attempt', options, tool.clocks) as number,
      idle: clockMs('idle', options, tool.clocks),
      lateAt: tooLateAt(request.createdAt, options, tool.clocks),
    },
    (name) => stop(name),
  )
  // The queue is left first and entered first: the clocks run only while the body does.
  const pace = {
    pause: () => (given.slot.leave(), watch.pause()),
    resume: async () => {
      await given.slot.enter()
      watch.resume()
    },
    progress: () => watch.progress(),
  }
  let context: Context | undefined
  // DUR-2: a body that must not run twice waits until its start is on disk; one that may rerun need not.
  const durable = onCrashOf(tool) === 'stop' || invocation.interrupted !== null
  const about = { tool: tool.name, callId: invocation.callId, call: request.uid, logger: host.logger }
  const body = invocation.begin({ durable }, () => {
    context = contextOf(invocation, tool, { ...host, pace, prepared: given.prepared })
    return scope.run(about, () => (tool.execute as (input: Json, ctx: unknown) => unknown)(given.args, context?.ctx))
  })
  const unwatch = invocation.onStop((why) => stop(why))
  try {
    const ended = await new Promise<Ended>((resolve) => {
      stop = (stopped) => resolve({ stopped })
      if (invocation.stopped) stop(invocation.stopped)
      body.then(
        (returned) => resolve({ returned }),
        (threw: unknown) => resolve({ threw }),
      )
    })
    if (!('stopped' in ended)) return settled(ended, invocation, host)
    return await stoppedBy(ended.stopped, { body, context, invocation, host })
  } finally {
    watch.stop()
    unwatch()
    context?.end()
  }
}

function settled(ended: Exclude<Ended, { stopped: unknown }>, invocation: Invocation, host: CallHost): Driven {
  try {
    if ('threw' in ended) throw ended.threw
    const wait = waitOf(ended.returned, invocation.request.uid)
    if (wait) return { park: wait }
    const outcome = successOf(ended.returned)
    encodeOnce(outcome) // refuses what has no recorded form while the body can still be blamed
    return { settle: outcome }
  } catch (error) {
    return { settle: settleThrown(error, invocation, host) }
  }
}

interface Running {
  readonly body: Promise<unknown>
  readonly context: Context | undefined
  readonly invocation: Invocation
  readonly host: CallHost
}

/** Abort, grace, then go on without it. */
async function stoppedBy(why: Stop | ClockName, { body, context, invocation, host }: Running): Promise<Driven> {
  if (typeof why === 'object' && 'over' in why) {
    body.catch(() => {}) // nobody is left to hear of it
    throw why.over
  }
  context?.abort(typeof why === 'string' ? `The ${why} timeout ran out` : why.cancel)
  let callOff = (): void => {}
  const patience = new Promise<null>((resolve) => (callOff = host.clock.timer(graceMs, () => resolve(null))))
  const last = await Promise.race([
    body.then(
      (returned) => ({ returned }),
      (threw: unknown) => ({ threw }),
    ),
    patience,
  ])
  callOff()
  // A result that arrives inside the grace wins; an error then is only the echo of our abort.
  if (last && 'returned' in last) return settled(last, invocation, host)
  const mayStillRun = last === null
  if (mayStillRun) keepLate(body, invocation, host)
  return outcomeOfStop(why, mayStillRun)
}

export function outcomeOfStop(why: Exclude<Stop, { over: unknown }> | ClockName, mayStillRun: boolean): ToSettle {
  const still = mayStillRun ? { mayStillRun } : {}
  if (typeof why === 'object') {
    return { settle: { status: 'cancelled', cancellation: { message: why.cancel, source: 'cancellation', ...still } } }
  }
  return { settle: failure({ class: 'timeout', ...timeouts[why], ...still }) }
}

const timeouts: Readonly<Record<ClockName, { code: string; message: string }>> = {
  attempt: { code: 'attempt_timeout', message: 'The tool did not finish in time' },
  idle: { code: 'idle_timeout', message: 'The tool showed no progress for too long' },
  total: { code: 'deadline_exceeded', message: 'The call was not done before its deadline' },
  queue: { code: 'queue_timeout', message: 'The call waited too long for its turn and was not started' },
}

/** What a body that was given up returns in the end: on record, never delivered. */
function keepLate(body: Promise<unknown>, invocation: Invocation, host: CallHost): void {
  const { attempt: number } = invocation
  const keep = (outcome: Outcome): Promise<void> => {
    let value: string
    try {
      value = encode(outcome)
      if (!fits(value, host.sizes.result)) value = encode({ status: outcome.status })
    } catch {
      value = encode({ status: outcome.status })
    }
    return invocation.late(number, outcome.status === 'success' ? { done: value } : { failed: value })
  }
  body
    .then(
      (returned) => keep(waitOf(returned, invocation.request.uid) ? { status: 'success', value: null } : successOf(returned)),
      (error: unknown) => keep(settleThrown(error, invocation, host)),
    )
    .catch(() => {}) // the store is gone or the call is another's: then there is nowhere to keep it
}
