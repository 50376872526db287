// Test tools that each misbehave in one known way. They have no state, so a crash, a rerun or another worker does
// not change their behaviour.

import { checkOptions, checkRequiredOptions, option } from '../core/check-options.ts'
import { type FailureClass, fail, failOptions, retry } from '../core/outcome.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import type { Json } from '../core/tool-value.ts'
import type { ToolContext } from '../tools/context/tool-context.ts'
import { type Tool, tool, type ToolDefinition, toolOptions } from '../tools/tool.ts'

const anyObject = { type: 'object' } as const

/** Other options of the tool, as in tool(). The input is any object. */
export interface TestToolOptions extends Partial<
  Pick<
    ToolDefinition<typeof anyObject, unknown>,
    'description' | 'hints' | 'timeout' | 'retry' | 'onCrash' | 'concurrency' | 'limits'
  >
> {
  /** Name of the tool. */
  readonly name?: string
}

type Input = { [key: string]: Json }
/** A tool for tests. */
export type TestTool<T> = Tool<Input, T>

function buildTool<T>(
  name: string,
  options: TestToolOptions,
  execute: (input: Input, ctx: ToolContext) => T | Promise<T>,
): TestTool<T> {
  const given = Object.entries(options).filter(([key, value]) => key in common && value !== undefined)
  const about = { name, description: 'For tests', ...Object.fromEntries(given) }
  return tool({ ...about, input: anyObject, execute }) as TestTool<T>
}

const { hints, timeout, retry: retries, onCrash, concurrency, limits } = toolOptions
const common = {
  name: option.string,
  description: option.string,
  hints,
  timeout,
  retry: retries,
  onCrash,
  concurrency,
  limits,
}
export const testToolOptions = {
  failingTool: {
    ...common,
    message: option.string,
    code: failOptions.code,
    class: failOptions.class,
    throws: option.anything,
  },
  hangingTool: { ...common, listens: option.boolean },
  flakyTool: {
    ...common,
    failures: option.required(option.wholeNumber(0)),
    after: option.duration,
    value: option.anything,
  },
  slowTool: {
    ...common,
    takes: option.required(option.duration),
    clock: option.required(option.withMethods('timer')),
    value: option.anything,
  },
}

/** Always fails: with a message for the model, or by throwing `throws`, which counts as an internal error. */
export function failingTool(
  options: TestToolOptions & {
    readonly message?: string
    readonly code?: string
    readonly class?: FailureClass
    readonly throws?: unknown
  } = {},
): TestTool<never> {
  checkOptions(options, testToolOptions.failingTool, 'failingTool()')
  const { message = 'This tool always fails', code, class: kind } = options
  return buildTool('failing', options, () => {
    if ('throws' in options) throw options.throws
    throw fail(message, { ...(code === undefined ? {} : { code }), ...(kind === undefined ? {} : { class: kind }) })
  })
}

/** Never returns. It ignores the abort signal unless `listens` is true. */
export function hangingTool(options: TestToolOptions & { readonly listens?: boolean } = {}): TestTool<never> {
  checkOptions(options, testToolOptions.hangingTool, 'hangingTool()')
  return buildTool(
    'hanging',
    options,
    (_, ctx) => new Promise<never>((_resolve, reject) => options.listens && whenAborted(ctx.signal, reject)),
  )
}

/** Asks for a retry in its first `failures` attempts, then succeeds. `retry` defaults to `failures + 1` attempts. */
export function flakyTool<T extends Json = string>(
  options: TestToolOptions & { readonly failures: number; readonly after?: Duration; readonly value?: T },
): TestTool<T> {
  checkRequiredOptions(options, testToolOptions.flakyTool, 'flakyTool()')
  const { failures, after, value = 'done' as T } = options
  return buildTool('flaky', { ...options, retry: options.retry ?? { attempts: failures + 1 } }, (_, ctx) => {
    if (ctx.attempt <= failures)
      throw retry({ message: `Attempt ${ctx.attempt} failed`, ...(after === undefined ? {} : { after }) })
    return value
  })
}

/** Succeeds after `takes` on the given clock, and stops when the signal is aborted. */
export function slowTool<T extends Json = string>(
  options: TestToolOptions & { readonly takes: Duration; readonly clock: Clock; readonly value?: T },
): TestTool<T> {
  checkRequiredOptions(options, testToolOptions.slowTool, 'slowTool()')
  const { clock, value = 'done' as T } = options
  const ms = milliseconds(options.takes, 'takes')
  return buildTool(
    'slow',
    options,
    (_, ctx) =>
      new Promise<T>((resolve, reject) => {
        const cancelTimer = clock.timer(ms, () => resolve(value))
        whenAborted(ctx.signal, (reason) => {
          cancelTimer()
          reject(reason)
        })
      }),
  )
}

function whenAborted(signal: AbortSignal, then: (reason: Error) => void): void {
  signal.addEventListener('abort', () => then(signal.reason as Error), { once: true })
}
