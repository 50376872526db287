// testRuntime(): a runtime in memory with a manual clock.

import { createRuntime } from '../index.ts'
import type { Runtime, RuntimeOptions } from '../index.ts'
import type { Session } from '../index.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'

export interface TestRuntimeOptions extends Omit<RuntimeOptions, 'store' | 'clock'> {
  /** Default: in memory. */
  readonly store?: RuntimeOptions['store']
  /** Default: a new clock. Pass the same clock to several runtimes to share time. */
  readonly clock?: ManualClock
}

export interface TestRuntime {
  readonly runtime: Runtime
  readonly clock: ManualClock
  /** A session named `test`. */
  readonly session: Session
  /** Log entries of the runtime and its tools; empty if a logger was given. */
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
