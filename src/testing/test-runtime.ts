// testRuntime(): a runtime in memory with a manual clock.

import { createRuntime } from '../index.ts'
import type { Runtime, RuntimeOptions } from '../index.ts'
import type { Session } from '../index.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'

/** The options of testRuntime(): those of createRuntime(), all optional. */
export interface TestRuntimeOptions extends Omit<RuntimeOptions, 'store' | 'clock'> {
  /** Default: in memory. */
  readonly store?: RuntimeOptions['store']
  /** Default: a new clock. Pass the same clock to several runtimes to share time. */
  readonly clock?: ManualClock
}

/** A runtime for tests, with its clock, a session and its log. */
export interface TestRuntime {
  /** The runtime. Close it at the end of the test. */
  readonly runtime: Runtime
  /** Its clock. */
  readonly clock: ManualClock
  /** A session named `test`. */
  readonly session: Session
  /** Log entries of the runtime and its tools; empty if a logger was given. */
  readonly logged: readonly Logged[]
}

/** A log entry. */
export interface Logged {
  /** Its level. */
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /** Its text. */
  readonly message: string
  /** Its structured data. */
  readonly fields: Record<string, unknown> | undefined
}

/**
 * Opens a runtime in memory with a manual clock, a session and a log, for tests.
 *
 * @example
 * const { session, clock, runtime } = await testRuntime({ tools: [refund] })
 * const [outcome] = await session.run([{ id: '1', name: 'refund', input: { order: 'A1' } }])
 * await runtime.close()
 */
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
