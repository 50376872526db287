// TESTING: a runtime in memory whose time stands still until it is moved.

import { createRuntime } from '../index.ts'
import type { Runtime, RuntimeOptions } from '../index.ts'
import type { Session } from '../index.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'

export interface TestRuntimeOptions extends Omit<RuntimeOptions, 'store' | 'clock'> {
  /** In memory if not said. */
  readonly store?: RuntimeOptions['store']
  /** Given to several runtimes, they share their time. */
  readonly clock?: ManualClock
}

export interface TestRuntime {
  readonly runtime: Runtime
  readonly clock: ManualClock
  /** One to begin with, named `test`. */
  readonly session: Session
  /** What the runtime and its tools logged, unless a logger was given. */
  readonly logged: readonly Logged[]
}

export interface Logged {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: Record<string, unknown> | undefined
}

export async function testRuntime(options: TestRuntimeOptions = {}): Promise<TestRuntime> {
  const { clock = manualClock() } = options
  const logged: Logged[] = []
  const at =
    (level: Logged['level']) =>
    (message: string, fields?: Record<string, unknown>): void =>
      void logged.push({ level, message, fields })
  const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const runtime = await createRuntime({ store: 'memory:', logger, ...options, clock })
  return { runtime, clock, session: runtime.session('test'), logged }
}
