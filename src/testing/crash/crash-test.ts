// crashTest(): kills a tool at every write of its call and checks that outcome and effects stay the same. See
// docs/guide/testing.md; docs/decisions/0017 explains why it needs the module of the tool.

import { checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Duration, milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { systemClock } from '../../core/clock.ts'
import type { Json } from '../../core/tool-value.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Answer } from '../../store/records/wait-resolution.ts'
import { Child } from './child-process.ts'
import { compareRuns, type CrashPoint, type CrashReport, type CrashRun, CrashTestError } from './report.ts'
import { childEnvVariable, type Orders } from './ipc-messages.ts'
import { claimLabel, type CrashAt } from './crashing-store.ts'

/** The options of crashTest(). */
export interface CrashTestOptions {
  /** The module that exports the tool, such as `import.meta.resolve('./refund.ts')`. A child process loads it. */
  readonly module: string | URL
  /** Returns all external effects so far. Called before and after each run; the entries added are the run's effects. */
  readonly effects: () => readonly Json[] | Promise<readonly Json[]>
  /** Resets the external service before each run. Needed if it deduplicates requests. */
  readonly reset?: () => void | Promise<void>
  /** Answers a wait of the tool by its name (`later` by default). Without an answer, the wait expires at once. */
  readonly answer?: (wait: string) => Answer | undefined
  /** `postgres://…` or `pg` options; temporary schemas are created and dropped there. Default: a SQLite file. */
  readonly store?: string | object
  /** Time limit of one run. Default: 30 s. */
  readonly patience?: Duration
}

export const crashTestOptions = {
  module: option.required(option.either(option.string, option.object)),
  effects: option.required(option.func),
  reset: option.func,
  answer: option.func,
  store: option.either(option.string, option.object),
  patience: option.duration,
} satisfies OptionTable<CrashTestOptions>

/**
 * Kills a call of the tool before and after each write and recovers it. Throws if a result differs from a clean run.
 */
export async function crashTest<Ask>(
  tool: Tool<Ask>,
  input: NoInfer<Ask>,
  options: CrashTestOptions,
): Promise<CrashReport> {
  if (process.env[childEnvVariable] !== undefined) {
    throw new PawlError(
      'config_invalid',
      'crashTest() was called by the module that it loads in a child process. Move the tool to a module that only exports it.',
    )
  }
  checkRequiredOptions(options, crashTestOptions, 'crashTest()')
  const runs = new CrashRuns(tool.name, input, options)
  try {
    const first = await runs.one(null)
    if (first.problem !== null) throw new Error(`crashTest: '${tool.name}' fails without a crash: ${first.problem}`)
    const { run: clean, writes } = first
    const points: CrashPoint[] = []
    for (const [index, what] of writes.entries()) {
      for (const when of what === claimLabel ? (['after'] as const) : (['before', 'after'] as const)) {
        const write = index + 1
        const { run, problem } = await runs.one({ write, when })
        points.push({ write, what, when, ...run, ...compareRuns(clean, run, problem) })
      }
    }
    const report = { tool: tool.name, clean, writes, points }
    if (points.some(({ verdict }) => verdict === 'differs')) throw new CrashTestError(report)
    return report
  } finally {
    await runs.cleanUp()
  }
}

interface RunResult {
  readonly run: CrashRun
  readonly writes: readonly string[]
  readonly problem: string | null
}

/** The minimum lease. SQLite detects the death of a process at once; on PostgreSQL its lease must expire first. */
const leaseMs = 100

class CrashRuns {
  readonly #tool: string
  readonly #input: unknown
  readonly #options: CrashTestOptions
  readonly #dir = mkdtempSync(join(tmpdir(), 'pawl-crash-'))
  readonly #schema = `pawl_crash_${randomBytes(6).toString('hex')}`
  readonly #schemas: string[] = []
  // The same in all runs, so that derived values such as ctx.uuid() are comparable.
  readonly #secret = randomBytes(32).toString('hex')
  readonly #from = systemClock.now()
  readonly #patienceMs: number
  /** The next child process, which loads while the current one works. */
  #spare: Child

  constructor(tool: string, input: unknown, options: CrashTestOptions) {
    this.#tool = tool
    this.#input = input
    this.#options = options
    this.#patienceMs = milliseconds(options.patience ?? '30s', 'patience')
    this.#spare = this.#child()
  }

  /** Runs one call on an empty store to its end; with a crash, in two processes. */
  async one(crashAt: CrashAt | null): Promise<RunResult> {
    const { effects, reset } = this.#options
    const orders = this.#orders()
    await reset?.()
    const before = (await effects()).length
    let problem: string | null = null
    let end = await this.#next({ ...orders, crashAt })
    if (crashAt !== null && 'killed' in end) {
      if ('postgres' in orders.store) await new Promise<void>((over) => void systemClock.timer(leaseMs * 1.5, over))
      end = await this.#next({ ...orders, crashAt: null })
    } else if (crashAt !== null) problem = 'this write did not occur again: the tool is not deterministic'
    if ('killed' in end) problem = end.killed
    const outcome = 'killed' in end ? null : end.ended
    return {
      run: { outcome, effects: (await effects()).slice(before) },
      writes: 'killed' in end ? [] : end.writes,
      problem,
    }
  }

  async cleanUp(): Promise<void> {
    await this.#spare.kill()
    rmSync(this.#dir, { recursive: true, force: true })
    if (this.#schemas.length === 0) return
    const { dropSchemas } = await import('../../store/postgres/drop-schemas.ts')
    await dropSchemas(this.#options.store as string, this.#schemas)
  }

  async #next(orders: Orders): ReturnType<Child['end']> {
    const child = this.#spare
    this.#spare = this.#child()
    return child.end(orders, this.#patienceMs, this.#options.answer)
  }

  #child(): Child {
    return new Child(this.#options.module, join(this.#dir, 'compiled'))
  }

  #orders(): Orders {
    const { store } = this.#options
    const run = this.#schemas.length
    const dir = mkdtempSync(join(this.#dir, 'run-'))
    if (store !== undefined) this.#schemas.push(`${this.#schema}_${run}`)
    return {
      tool: this.#tool,
      input: this.#input,
      store:
        store === undefined ? { sqlite: join(dir, 'agent.db') } : { postgres: store, schema: `${this.#schema}_${run}` },
      clock: { from: this.#from, file: join(dir, 'clock') },
      secret: this.#secret,
      leaseMs,
      crashAt: null,
    }
  }
}
