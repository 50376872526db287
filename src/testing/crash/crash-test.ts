// TESTING: crashTest() kills a tool at every write of its call and looks whether anybody outside can tell. docs/guide/testing.md shows it;
// docs/decisions/0017 says why it is told which module the tool is in.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Duration, milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { systemClock } from '../../core/clock.ts'
import type { Json } from '../../core/value.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Answer } from '../../store/records/resolution.ts'
import { Child } from './child-process.ts'
import { compared, type CrashPoint, type CrashReport, type CrashRun, CrashTestError } from './report.ts'
import { childMark, type Orders } from './messages.ts'
import { claimed, type CrashAt } from './crashing-store.ts'

export interface CrashTestOptions {
  /** Where the tool comes from: a module that exports it, such as `import.meta.resolve('./refund.ts')`. A process of its own loads it. */
  readonly module: string | URL
  /** What has happened outside, in any order. It is asked before and after each run; what a run added is what it did. */
  readonly effects: () => readonly Json[] | Promise<readonly Json[]>
  /** Makes the outside forget, before each run: needed where it knows what it has done before. */
  readonly reset?: () => void | Promise<void>
  /** Answers the waits of the tool, by their names (`later` if it gave none). Without an answer the deadline of a wait passes, in no time. */
  readonly answer?: (wait: string) => Answer | undefined
  /** `postgres://…`, or what `pg` takes: schemas of its own are made there and taken away. A SQLite file if not said. */
  readonly store?: string | object
  /** How long one run may take. Default: 30 s. */
  readonly patience?: Duration
}

/** Runs a call of the tool, kills it before and after each of its writes, recovers, and throws unless all is as without a crash. */
export async function crashTest<Ask>(
  tool: Tool<Ask>,
  input: NoInfer<Ask>,
  options: CrashTestOptions,
): Promise<CrashReport> {
  if (process.env[childMark] !== undefined) {
    throw new PawlError(
      'config_invalid',
      'crashTest was called by the module it loads in another process: give the tool a module of its own, that only exports it.',
    )
  }
  const runs = new Runs(tool.name, input, options)
  try {
    const first = await runs.one(null)
    if (first.trouble !== null)
      throw new Error(`crashTest: '${tool.name}' does not even run without a crash: ${first.trouble}`)
    const { run: clean, writes } = first
    const points: CrashPoint[] = []
    for (const [index, what] of writes.entries()) {
      for (const when of what === claimed ? (['after'] as const) : (['before', 'after'] as const)) {
        const write = index + 1
        const { run, trouble } = await runs.one({ write, when })
        points.push({ write, what, when, ...run, ...compared(clean, run, trouble) })
      }
    }
    const report = { tool: tool.name, clean, writes, points }
    if (points.some(({ verdict }) => verdict === 'differs')) throw new CrashTestError(report)
    return report
  } finally {
    await runs.cleanUp()
  }
}

interface Ran {
  readonly run: CrashRun
  readonly writes: readonly string[]
  readonly trouble: string | null
}

/** The shortest that a runtime takes. On SQLite the death of a process is seen at once; on PostgreSQL its lease runs out first. */
const leaseMs = 100

class Runs {
  readonly #tool: string
  readonly #input: unknown
  readonly #options: CrashTestOptions
  readonly #dir = mkdtempSync(join(tmpdir(), 'pawl-crash-'))
  readonly #schema = `pawl_crash_${randomBytes(6).toString('hex')}`
  readonly #schemas: string[] = []
  // The same in all runs: what a call derives from it, such as ctx.uuid(), can be compared.
  readonly #secret = randomBytes(32).toString('hex')
  readonly #from = systemClock.now()
  readonly #patienceMs: number
  /** The next process loads while the one before works. */
  #spare: Child

  constructor(tool: string, input: unknown, options: CrashTestOptions) {
    this.#tool = tool
    this.#input = input
    this.#options = options
    this.#patienceMs = milliseconds(options.patience ?? '30s', 'patience')
    this.#spare = this.#child()
  }

  /** One call, from nothing to its end: with a crash, in two processes. */
  async one(crashAt: CrashAt | null): Promise<Ran> {
    const { effects, reset } = this.#options
    const orders = this.#orders()
    await reset?.()
    const before = (await effects()).length
    let trouble: string | null = null
    let end = await this.#next({ ...orders, crashAt })
    if (crashAt !== null && 'killed' in end) {
      if ('postgres' in orders.store) await new Promise<void>((over) => void systemClock.timer(leaseMs * 1.5, over))
      end = await this.#next({ ...orders, crashAt: null })
    } else if (crashAt !== null) trouble = 'this write was not made again: the tool does not do the same each time'
    if ('killed' in end) trouble = end.killed
    const outcome = 'killed' in end ? null : end.ended
    return {
      run: { outcome, effects: (await effects()).slice(before) },
      writes: 'killed' in end ? [] : end.writes,
      trouble,
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
