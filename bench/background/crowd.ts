// Child process: one tenant queues many tasks (`node crowd.ts <store> <count>`). Measures the memory of the process and
// the time until another tenant's first task starts, and sends both to the parent in one message.

import { openRuntime } from '../../src/runtime.ts'
import { median } from '../kit/statistics.ts'
import { keys, quiet, tools, tries, untilBegun, work } from './tools.ts'

export interface Crowd {
  /** Milliseconds until a task starts, with an idle and with a loaded queue. */
  readonly alone: number
  readonly loaded: number
  /** MB: RSS before the tasks were queued, peak RSS, and heap in use after a garbage collection. */
  readonly before: number
  readonly most: number
  readonly heap: number
  /** Seconds to record all tasks. */
  readonly toQueue: number
  /** Tasks that were still open when measured. */
  readonly left: number
}

async function crowd(store: string, count: number): Promise<Crowd> {
  const runtime = await openRuntime({ store, tools, keys, logger: quiet })
  await untilBegun(runtime, 0)
  const alone: number[] = []
  for (let n = 1; n <= tries; n++) alone.push(await untilBegun(runtime, n))
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  const from = performance.now()
  for (let n = 0; n < count; n += 500) {
    const some = Array.from({ length: Math.min(500, count - n) }, (_, at) =>
      runtime
        .session(`crowd${(n + at) % 1_000}`, { tenant: 'crowd' })
        .tasks.start({ tool: work, input: { ms: 250 }, wake: 'silent' }),
    )
    await Promise.all(some)
    process.stderr.write(`\r${n + some.length} of ${count} queued `)
  }
  process.stderr.write('\r')
  const toQueue = (performance.now() - from) / 1000
  const loaded: number[] = []
  for (let n = 1; n <= tries; n++) loaded.push(await untilBegun(runtime, tries + n))
  const open = Array.from({ length: 1_000 }, (_, n) =>
    runtime.session(`crowd${n}`, { tenant: 'crowd' }).tasks.list({ state: 'open', limit: 500 }),
  )
  const left = (await Promise.all(open)).reduce((sum, of) => sum + of.length, 0)
  const most = process.resourceUsage().maxRSS / 1024
  for (let time = 0; time < 3; time++) globalThis.gc?.()
  const heap = process.memoryUsage().heapUsed / 2 ** 20
  return { alone: median(alone), loaded: median(loaded), before: before / 2 ** 20, most, heap, toQueue, left }
}

process.on('disconnect', () => process.exit(1))
crowd(process.argv[2] as string, Number(process.argv[3])).then(
  (done) => process.send?.({ done }),
  (error: unknown) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
)
