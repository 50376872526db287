// ctx.step: checks its id, applies retries and the timeout, and returns the input, result and error in their recorded
// form, so that the first run sees what a replay will see.

import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import type { StepEnd } from '../../engine/engine.ts'
import { milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { isName } from '../../core/ids.ts'
import { failure, type Failure, ToolFailure } from '../../core/outcome.ts'
import { utf8Bytes, fits, truncateToBytes } from '../../core/size-limits.ts'
import { decode, encode } from '../../core/tool-value.ts'
import type { StepOptions, ToolContext } from '../../tools/context/tool-context.ts'
import { scope } from '../async-context.ts'
import { withoutUsedSecrets } from '../authorization/used-connections.ts'
import type { CallHost } from '../ports.ts'
import type { CallEnvironment } from './call-environment.ts'
import { stepKeys } from '../../store/journal-keys.ts'
import { observeStep } from './observe-step.ts'

const stepOptions = {
  once: option.boolean,
  timeout: option.duration,
  retry: option.nested({
    attempts: option.required(option.wholeNumber(1)),
    delay: option.duration,
  } satisfies OptionTable<NonNullable<StepOptions['retry']>>),
} satisfies OptionTable<StepOptions>

export function steps(context: CallEnvironment): Pick<ToolContext, 'step'> {
  const { execution, tool, host, control } = context
  const usedIds = new Set<string>()
  const step = async (id: string, ...rest: unknown[]): Promise<unknown> => {
    const withInput = typeof rest[0] !== 'function'
    const [run, options] = (withInput ? rest.slice(1) : rest) as [(input?: unknown) => unknown, StepOptions | undefined]
    if (typeof id !== 'string' || id.trim() === '') throw new PawlError('step_id_empty')
    if (!isName(id)) throw new PawlError('step_id_invalid', `The id is ${JSON.stringify(String(id).slice(0, 60))}.`)
    if (typeof run !== 'function')
      throw new PawlError('config_invalid', `Step '${id}' has no function. Write ctx.step('${id}', async () => …).`)
    checkOptions(options, stepOptions, 'ctx.step()')
    context.assertUsable('step')
    control?.assertInTime()
    if (usedIds.has(id)) throw new PawlError('step_id_duplicate', `The id is '${id}'.`)
    usedIds.add(id)
    context.countEntry()
    context.warnIfNoRerun('step')
    const input = withInput ? encode(rest[0]) : null
    if (input !== null && !fits(input, host.sizes.step)) throw stepTooLarge(id, 'input', input, host)
    const spec = { key: stepKeys.step(id), input, once: options?.once ?? false }
    context.replay?.reach(spec.key)
    const { callId, request } = execution
    const { session, tenant } = request.position
    const about = { tool: tool.name, callId, call: request.uid, session, tenant, logger: host.logger, step: id }
    const observed = host.observers.current && observeStep(context, id)
    const end = await execution.runStep(spec, () => {
      observed?.start()
      return scope.run(about, () =>
        runStep(() => run(input === null ? undefined : decode(input)), id, options, context),
      )
    })
    observed?.end(end)
    if ('done' in end) return decode(end.done)
    throw stepError(id, end.failed)
  }
  return { step: step as ToolContext['step'] }
}

/** Never throws what the step function throws: every result or error is returned as a value to record. */
async function runStep(
  run: () => unknown,
  id: string,
  options: StepOptions | undefined,
  environment: CallEnvironment,
): Promise<StepEnd> {
  const { host, execution } = environment
  const attempts = options?.once ? 1 : (options?.retry?.attempts ?? 1)
  let delay = milliseconds(options?.retry?.delay ?? 500, `The retry delay of step '${id}'`)
  for (let attempt = 1; ; attempt++) {
    // The body returned or was abandoned before the step started.
    if (environment.ended) throw new PawlError('attempt_over')
    try {
      const value = encode(await runWithTimeout(run, id, options, host))
      // The function succeeded, so a value that is too large is not retried: that would repeat the side effect.
      return fits(value, host.sizes.step)
        ? { done: value }
        : { failed: encodeFault(stepTooLarge(id, 'value', value, host), environment) }
    } catch (error) {
      if (attempt >= attempts) return { failed: encodeFault(error, environment) }
      await waitForRetry(delay, environment)
      // Do not retry after a stop: the side effect of another try would not be recorded.
      const { stopped } = execution
      if (stopped && 'over' in stopped) throw stopped.over
      if (environment.stopRequested) throw new PawlError('attempt_over')
      delay = Math.min(delay * 2, 30_000)
    }
  }
}

/** Waits for the delay, or until the attempt is stopped. Leaves no timer behind. */
async function waitForRetry(ms: number, environment: CallEnvironment): Promise<void> {
  let unsubscribe = (): void => {}
  let cancelTimer = (): void => {}
  await new Promise<void>((resolve) => {
    cancelTimer = environment.host.clock.timer(ms, resolve)
    unsubscribe = environment.onStopRequested(resolve)
    if (environment.stopRequested) resolve()
  })
  cancelTimer()
  unsubscribe()
}

async function runWithTimeout(
  run: () => unknown,
  id: string,
  options: StepOptions | undefined,
  host: CallHost,
): Promise<unknown> {
  if (options?.timeout === undefined) return run()
  const ms = milliseconds(options.timeout, `The timeout of step '${id}'`)
  let cancelTimer = (): void => {}
  const timeout = new Promise<never>((_, reject) => {
    cancelTimer = host.clock.timer(ms, () => reject(new PawlError('step_timeout', `Step '${id}' had ${ms} ms.`)))
  })
  try {
    return await Promise.race([run(), timeout])
  } finally {
    cancelTimer()
  }
}

export function stepTooLarge(id: string, what: 'input' | 'value', text: string, host: CallHost): PawlError {
  return new PawlError(
    'step_too_large',
    `The ${what} of step '${id}' has ${utf8Bytes(text)} bytes; the limit is ${host.sizes.step}.`,
  )
}

/** The recorded form of a step's error. If it is too large, only the code and the start of the message are kept. */
function encodeFault(error: unknown, { host: { sizes }, usedConnections: told }: CallEnvironment): string {
  const fault = withoutUsedSecrets(toFault(error), told)
  const text = encode(fault)
  if (fits(text, sizes.step)) return text
  const { code, message } = 'failure' in fault ? fault.failure : fault
  return encode({ code: truncateToBytes(code, 200), message: truncateToBytes(message, Math.floor(sizes.step / 8)) })
}

type StepFault = { failure: Failure; cost?: number } | { code: string; message: string }

/** A declared failure is recorded completely; of other errors, only the code and the message are recorded. */
function toFault(error: unknown): StepFault {
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

/** Thrown by ctx.step if the step failed. Made from the recorded error, both on the first run and on every replay. */
export class StepError extends Error {
  override readonly name = 'StepError'
  /** The code of the error that the step threw, or `step_failed`. */
  readonly code: string
  /** Id of the step that failed. */
  readonly step: string
  constructor(step: string, fault: { code: string; message: string }) {
    super(fault.message)
    this.step = step
    this.code = fault.code
  }
}

function stepError(step: string, recorded: string): Error {
  const fault = decode(recorded) as unknown as StepFault
  return 'failure' in fault ? new ToolFailure(failure(fault.failure).failure, fault) : new StepError(step, fault)
}
