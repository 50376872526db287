// Child process with all cases of one checkout of Pawl. It measures a slice when the parent requests one.

import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { quantile } from '../kit/statistics.ts'
import type { Case, Side } from './cases.ts'

export interface Question {
  readonly name: string
  readonly ms: number
  /** Warms the case up first. */
  readonly warm: boolean
}
/** Microseconds of one call. */
export interface Measure {
  readonly floor: number
  readonly pawl: number
}
export type Answer = { names: readonly string[] } | { measured: Measure } | { error: string }

const [checkout, dir, url] = process.argv.slice(2) as [string, string, string | undefined]
const answer = (message: Answer): void => void process.send?.(message)
const fail = (error: unknown): void =>
  answer({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
process.on('unhandledRejection', fail)
process.on('disconnect', () => process.exit(0))

// A package may import itself by its name, so a file of the checkout as the parent module selects that checkout.
const parentURL = pathToFileURL(join(checkout, 'package.json')).href
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'pawl' || specifier.startsWith('pawl/')
      ? next(specifier, { ...context, parentURL })
      : next(specifier, context),
})

/**
 * Floor and Pawl alternate call by call, so that a slow disk or a busy machine affects both. The result is the lower
 * quartile: another process can only make a call slower, and the median moves once it slows every second call.
 */
async function measure({ floor, pawl }: Case, ms: number): Promise<Measure> {
  const times: Record<keyof Measure, number[]> = { floor: [], pawl: [] }
  const until = performance.now() + ms
  let at = performance.now()
  do {
    await floor.run()
    const between = performance.now()
    await pawl.run()
    const now = performance.now()
    times.floor.push(between - at)
    times.pawl.push(now - between)
    at = now
  } while (at < until)
  const us = ({ calls }: Side, all: readonly number[]): number => (quantile(all, 0.25) * 1000) / calls
  return { floor: us(floor, times.floor), pawl: us(pawl, times.pawl) }
}

async function warmUp({ floor, pawl, warm }: Case): Promise<void> {
  const until = performance.now() + 2_000
  for (let run = 0; run < warm && performance.now() < until; run++) await pawl.run()
  for (let run = 0; run < 20; run++) await floor.run()
}

try {
  const { openCases } = await import('./cases.ts')
  const cases = await openCases(dir, url)
  const run = async ({ name, ms, warm }: Question): Promise<Measure> => {
    const found = cases.get(name)
    if (!found) throw new Error(`There is no case '${name}'.`)
    if (warm) await warmUp(found)
    return measure(found, ms)
  }
  process.on('message', (question: Question) => void run(question).then((measured) => answer({ measured }), fail))
  answer({ names: [...cases.keys()] })
} catch (error) {
  fail(error)
}
