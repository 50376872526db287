// TESTING: tools that misbehave in one known way each, to see what a program makes of them. They keep no state of their own, so a crash, a
// rerun or another worker finds them as they were.

import { type FailureClass, fail, retry } from '../core/outcome.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import type { Json } from '../core/value.ts'
import type { ToolContext } from '../tools/context/context.ts'
import { type Tool, tool, type ToolDefinition } from '../tools/tool.ts'

const anything = { type: 'object' } as const

/** Everything else about the tool, as in tool(). Its input is any object. */
export interface TestToolOptions extends Partial<
  Pick<
    ToolDefinition<typeof anything, unknown>,
    'description' | 'hints' | 'timeout' | 'retry' | 'onCrash' | 'concurrency' | 'limits'
  >
> {
  readonly name?: string
}

type Input = { [key: string]: Json }
export type TestTool<T> = Tool<Input, T>

function made<T>(
  name: string,
  options: TestToolOptions,
  execute: (input: Input, ctx: ToolContext) => T | Promise<T>,
): TestTool<T> {
  const { description = 'For tests', hints, timeout, retry: tries, onCrash, concurrency, limits } = options
  const given = { hints, timeout, retry: tries, onCrash, concurrency, limits }
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return tool({ name: options.name ?? name, description, input: anything, ...said, execute }) as TestTool<T>
}

/** Never succeeds: it fails with what the model reads, or throws what it is given, which is internal. */
export function failingTool(
  options: TestToolOptions & {
    readonly message?: string
    readonly code?: string
    readonly class?: FailureClass
    readonly throws?: unknown
  } = {},
): TestTool<never> {
  const { message = 'This tool always fails', code, class: kind } = options
  return made('failing', options, () => {
    if ('throws' in options) throw options.throws
    throw fail(message, { ...(code === undefined ? {} : { code }), ...(kind === undefined ? {} : { class: kind }) })
  })
}

/** Never ends. It does not even stop when it is told to, unless it listens. */
export function hangingTool(options: TestToolOptions & { readonly listens?: boolean } = {}): TestTool<never> {
  return made(
    'hanging',
    options,
    (_, ctx) => new Promise<never>((_resolve, reject) => options.listens && whenAborted(ctx.signal, reject)),
  )
}

/** Says `retry` in its first `failures` attempts, then succeeds. It may be tried once more than it fails, unless `retry` says otherwise. */
export function flakyTool<T extends Json = string>(
  options: TestToolOptions & { readonly failures: number; readonly after?: Duration; readonly value?: T },
): TestTool<T> {
  const { failures, after, value = 'done' as T } = options
  return made('flaky', { ...options, retry: options.retry ?? { attempts: failures + 1 } }, (_, ctx) => {
    if (ctx.attempt <= failures)
      throw retry({ message: `Attempt ${ctx.attempt} failed`, ...(after === undefined ? {} : { after }) })
    return value
  })
}

/** Takes its time on the clock it is given, and stops when it is told to. */
export function slowTool<T extends Json = string>(
  options: TestToolOptions & { readonly takes: Duration; readonly clock: Clock; readonly value?: T },
): TestTool<T> {
  const { clock, value = 'done' as T } = options
  const ms = milliseconds(options.takes, 'takes')
  return made(
    'slow',
    options,
    (_, ctx) =>
      new Promise<T>((resolve, reject) => {
        const callOff = clock.timer(ms, () => resolve(value))
        whenAborted(ctx.signal, (reason) => {
          callOff()
          reject(reason)
        })
      }),
  )
}

function whenAborted(signal: AbortSignal, then: (reason: Error) => void): void {
  signal.addEventListener('abort', () => then(signal.reason as Error), { once: true })
}
