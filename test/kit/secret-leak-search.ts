// Shared by the tests of hidden arguments, secrets and narration.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { createRuntime, type FeedEvent, type LiveEvent, type Logger, type Runtime, type RuntimeOptions } from 'pawl'
import { afterEach } from 'vitest'

const dirs: string[] = []
const runtimes: Runtime[] = []
/** Everything logged in this test. */
export const logged: unknown[] = []
const log = (...given: unknown[]): void => void logged.push(given)
const logger: Logger = { debug: log, info: log, warn: log, error: log }

afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true })
  logged.length = 0
})

export async function opened(options: Partial<RuntimeOptions> = {}): Promise<Runtime> {
  const runtime = await createRuntime({ store: 'memory:', logger, ...options })
  runtimes.push(runtime)
  return runtime
}

export interface Disk {
  readonly store: `sqlite:${string}`
  /** True if the text occurs in any file of the store. */
  holds(text: string): boolean
}

export function disk(): Disk {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-values-'))
  dirs.push(dir)
  return {
    store: `sqlite:${join(dir, 'a.db')}`,
    holds: (text) =>
      readdirSync(dir)
        .filter((name) => !name.endsWith('-key'))
        .some((name) => readFileSync(join(dir, name)).includes(text)),
  }
}

/** The value as JSON and as util.inspect prints it. */
export const printed = (shown: unknown): string =>
  `${JSON.stringify(shown)} ${inspect(shown, { depth: 20, maxStringLength: null })}`

/** Collects events until `enough` returns true. */
export async function read(
  events: AsyncIterable<FeedEvent | LiveEvent>,
  enough: (event: FeedEvent | LiveEvent, all: readonly (FeedEvent | LiveEvent)[]) => boolean,
): Promise<(FeedEvent | LiveEvent)[]> {
  const found: (FeedEvent | LiveEvent)[] = []
  for await (const event of events) {
    found.push(event)
    if (enough(event, found)) break
  }
  return found
}
