// The function of a step while it runs: its tries, its timeout, and what is recorded of its end.

import type { Execution, StepEnd } from '../../engine/engine.ts'
import { milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { failure, type Failure, ToolFailure } from '../../core/outcome.ts'
import { bytesIn, fits, startOf } from '../../core/size-limits.ts'
import { decode, encode } from '../../core/value.ts'
import type { StepOptions } from '../../tools/context/context.ts'
import { type Connections, untold } from '../authorization/known-connections.ts'
import type { CallHost } from '../ports.ts'

/** The attempt that a step is in. */
export interface Around {
  readonly host: CallHost
  readonly execution: Execution
  /** The attempt is over. */
  readonly over: boolean
  /** It is, or was told to stop. */
  readonly unwanted: boolean
  /** Hears of that. What it gives back stops listening. */
  onUnwanted(listener: () => void): () => void
  /** What it was told in confidence: errors must not tell it on. */
  readonly told: Connections | null
}

/** Runs the function of a step: its tries, its timeout; every end is a value to record. */
export async function runStep(
  run: () => unknown,
  id: string,
  options: StepOptions | undefined,
  around: Around,
): Promise<StepEnd> {
  const { host, execution } = around
  const attempts = options?.once ? 1 : (options?.retry?.attempts ?? 1)
  if (!(Number.isInteger(attempts) && attempts >= 1))
    throw new PawlError('config_invalid', `Step '${id}': retry.attempts is ${attempts}.`)
  let delay = milliseconds(options?.retry?.delay ?? 500, `The retry delay of step '${id}'`)
  for (let attempt = 1; ; attempt++) {
    // Nobody waits for it any more: the body has returned, or was given up, while this was on its way.
    if (around.over) throw new PawlError('attempt_over')
    try {
      const value = encode(await timed(run, id, options, host))
      // It ran: trying again would repeat the effect and give the same.
      return fits(value, host.sizes.step)
        ? { done: value }
        : { failed: failed(tooLarge(id, 'value', value, host), around) }
    } catch (error) {
      if (attempt >= attempts) return { failed: failed(error, around) }
      await pause(delay, around)
      // Nobody wants it any more: another try would be an effect that nobody records.
      const { stopped } = execution
      if (stopped && 'over' in stopped) throw stopped.over
      if (around.unwanted) throw new PawlError('attempt_over')
      delay = Math.min(delay * 2, 30_000)
    }
  }
}

/** Until the delay is over, or nobody waits for it any more: then no timer stays behind. */
async function pause(ms: number, around: Around): Promise<void> {
  let forget = (): void => {}
  let callOff = (): void => {}
  await new Promise<void>((resolve) => {
    callOff = around.host.clock.timer(ms, resolve)
    forget = around.onUnwanted(resolve)
    if (around.unwanted) resolve()
  })
  callOff()
  forget()
}

async function timed(
  run: () => unknown,
  id: string,
  options: StepOptions | undefined,
  host: CallHost,
): Promise<unknown> {
  if (options?.timeout === undefined) return run()
  const ms = milliseconds(options.timeout, `The timeout of step '${id}'`)
  let callOff = (): void => {}
  const late = new Promise<never>((_, reject) => {
    callOff = host.clock.timer(ms, () => reject(new PawlError('step_timeout', `Step '${id}' had ${ms} ms.`)))
  })
  try {
    return await Promise.race([run(), late])
  } finally {
    callOff()
  }
}

/** Of a step's input or value. */
export function tooLarge(id: string, what: 'input' | 'value', text: string, host: CallHost): PawlError {
  return new PawlError(
    'step_too_large',
    `The ${what} of step '${id}' has ${bytesIn(text)} bytes; at most ${host.sizes.step} are kept.`,
  )
}

/** The recorded form of a step's error. One that is too long itself keeps its code and the beginning of its message. */
function failed(error: unknown, { host: { sizes }, told }: Around): string {
  const fault = untold(describe(error), told)
  const text = encode(fault)
  if (fits(text, sizes.step)) return text
  const { code, message } = 'failure' in fault ? fault.failure : fault
  return encode({ code: startOf(code, 200), message: startOf(message, Math.floor(sizes.step / 8)) })
}

type StepFault = { failure: Failure; cost?: number } | { code: string; message: string }

/** What is recorded of a step's error. A declared failure keeps all of itself; of others, what a body may branch on. */
function describe(error: unknown): StepFault {
  if (error instanceof ToolFailure)
    return { failure: error.failure, ...(error.cost === undefined ? {} : { cost: error.cost }) }
  const { code, message } = (
    typeof error === 'object' && error !== null ? error : { message: String(error) }
  ) as Record<string, unknown>
  return {
    code: typeof code === 'string' ? code : 'step_failed',
    message: typeof message === 'string' ? message.toWellFormed() : '',
  }
}

/** What a body catches when a step failed: the recorded error, on the first run as on every replay. */
export class StepError extends Error {
  override readonly name = 'StepError'
  /** The code of what the step threw, or `step_failed`. */
  readonly code: string
  readonly step: string
  constructor(step: string, fault: { code: string; message: string }) {
    super(fault.message)
    this.step = step
    this.code = fault.code
  }
}

export function stepError(step: string, recorded: string): Error {
  const fault = decode(recorded) as unknown as StepFault
  return 'failure' in fault ? new ToolFailure(failure(fault.failure).failure, fault) : new StepError(step, fault)
}
