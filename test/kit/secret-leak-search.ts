// What the tests of hidden arguments, secrets and narration share.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { createRuntime, type FeedEvent, type LiveEvent, type Logger, type Runtime, type RuntimeOptions } from 'pawl'
import { afterEach } from 'vitest'

const dirs: string[] = []
const runtimes: Runtime[] = []
/** All that was logged in this test. */
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
  /** Whether any byte of it is on the disk. */
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

/** However it is looked at. */
export const printed = (shown: unknown): string => `${JSON.stringify(shown)} ${inspect(shown, { depth: 20, maxStringLength: null })}`

/** What a reader gets until `enough` of it is there. */
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
