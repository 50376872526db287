// Reads event streams over real connections that are cut at random bytes, and servers that restart: the reader gets every
// recorded event once and in order.

import { createRuntime, type Runtime, type Tool } from 'pawl'
import type { StreamEvent } from 'pawl/client'
import { type RunningServer, startServer } from 'pawl/server'
import { expect, vi } from 'vitest'
import { buildClient } from '../../src/client/build-client.ts'
import { systemClock } from '../../src/core/clock.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { type CuttingProxy, cuttingProxy } from '../kit/cutting-proxy.ts'
import { long } from '../kit/long-run.ts'
import { seeded } from '../kit/seeded-random.ts'
import { rerunTool } from '../kit/simple-tools.ts'
import { freshDir, quiet } from '../kit/stores/fresh-store.ts'
import { join } from 'node:path'

const token = 'a-token-for-the-tests-of-the-client'
/** Pauses of the client are shorter; the silence after which a connection is dead is not. */
const hastyClock = {
  ...systemClock,
  timer: (ms: number, fire: () => void) => systemClock.timer(ms >= 45_000 ? ms : ms / 500, fire),
}

const steps: Tool = rerunTool('steps', async (_input, ctx) => {
  for (let current = 1; current <= 5; current++) {
    ctx.progress({ current, total: 5, label: 'Grüße 👋' })
    await new Promise(setImmediate)
  }
  return 'all done'
})

interface World {
  readonly store: Store
  readonly proxy: CuttingProxy
  runtime: Runtime
  server: RunningServer
}

async function open(world: World): Promise<void> {
  world.runtime = await createRuntime({ store: world.store, tools: [steps], logger: quiet })
  const roles = ['admin'] as const
  world.server = await startServer({
    runtime: world.runtime,
    port: 0,
    grace: 0,
    tokens: [{ token, roles, principal: 'user:test', tenant: null }],
  })
  world.proxy.target = Number(new URL(world.server.url).port)
}

/** Sometimes the connections break first, as when a process is killed; sometimes the server says goodbye. */
async function restart(world: World, breaksFirst: boolean): Promise<void> {
  world.proxy.target = null
  if (breaksFirst) world.proxy.cutAll()
  await world.server.close()
  world.proxy.cutAll()
  await open(world)
}

interface Reader {
  readonly seen: StreamEvent[]
  readonly failed: () => unknown
  readonly stop: () => Promise<void>
}

function read(stream: AsyncIterable<StreamEvent>, stop: AbortController): Reader {
  const seen: StreamEvent[] = []
  let failed: unknown
  const reading = (async () => {
    for await (const event of stream) seen.push(event)
  })().catch((error: unknown) => void (failed = error))
  return {
    seen,
    failed: () => failed,
    async stop() {
      stop.abort()
      await reading
    },
  }
}

const cursorsOf = (events: readonly StreamEvent[]): string[] =>
  events.flatMap((event) => ('cursor' in event ? [`${event.cursor} ${event.type}`] : []))

/** Progress comes before the end of its call, and none of it comes twice. Its start may be recorded with the end. */
function expectOrder(seen: readonly StreamEvent[]): number {
  const last = new Map<string, number>()
  let live = 0
  for (const event of seen) {
    if (event.type === 'call.settled') last.set(event.call, Infinity)
    if (event.type !== 'call.progress') continue
    live++
    const { current = 0 } = event.body
    expect(current).toBeGreaterThan(last.get(event.call) ?? 0)
    last.set(event.call, current)
  }
  return live
}

async function runSeed(seed: number): Promise<{ cuts: number; restarts: number; live: number; recorded: number }> {
  const random = seeded(seed)
  const proxy = await cuttingProxy(() => (random() < 0.1 ? Infinity : Math.floor(random() ** 2 * 6_000)))
  const file = join(freshDir(), 'a.db')
  const store = seed % 2 === 0 ? memoryStore() : sqliteStore({ file, clock: systemClock, commit: 'process' })
  const world = { store, proxy } as World
  await open(world)
  const client = buildClient({ url: proxy.url, token, retries: 10 }, { clock: hastyClock, random })
  const stop = new AbortController()
  const ofSession = read(client.sessions.events({ session: 's', live: true }, { signal: stop.signal }), stop)
  const ofAll = read(client.events.stream({}, { signal: stop.signal }), stop)
  let restarts = 0
  try {
    for (let n = 0; n < 25; n++) {
      const session = world.runtime.session(random() < 0.2 ? 'other' : 's')
      const chance = random()
      if (chance < 0.5) await session.values.set(`key ${n} ü`, n)
      else await session.run([{ id: `c${n}`, name: 'steps', input: {} }])
      if (random() < 0.08 && restarts < 3) {
        restarts++
        await restart(world, random() < 0.5)
      }
    }
    await world.runtime.session('s').values.set('last', true)
    const recorded = async (of: Pick<Runtime, 'events'>): Promise<string[]> => {
      const events: StreamEvent[] = []
      for await (const event of of.events({ until: 'now' })) events.push(event)
      return cursorsOf(events)
    }
    const expected = [await recorded(world.runtime.session('s')), await recorded(world.runtime)] as const
    await vi.waitUntil(
      () =>
        ofSession.failed() ??
        ofAll.failed() ??
        (cursorsOf(ofSession.seen).length >= expected[0].length && cursorsOf(ofAll.seen).length >= expected[1].length),
      { timeout: 15_000, interval: 2 },
    )
    expect([ofSession.failed(), ofAll.failed()]).toEqual([undefined, undefined])
    // One order, neither a gap nor a repeat.
    expect(cursorsOf(ofSession.seen)).toEqual(expected[0])
    expect(cursorsOf(ofAll.seen)).toEqual(expected[1])
    return { cuts: proxy.cuts, restarts, live: expectOrder(ofSession.seen), recorded: expected[1].length }
  } finally {
    await Promise.all([ofSession.stop(), ofAll.stop()])
    await world.server.close()
    await store.close()
    await proxy.close()
  }
}

/** Runs as many seeds as given. */
export async function noGapAndNoRepeat(count: number): Promise<void> {
  const seeds = Array.from({ length: count }, (_, index) => index + 1)
  const total = { cuts: 0, restarts: 0, live: 0, recorded: 0 }
  for (const seed of seeds) {
    const one = await runSeed(seed).catch((error: unknown) => {
      throw new Error(`Seed ${seed} failed: ${String(error)}`, { cause: error })
    })
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += one[name]
  }
  if (long) console.log(`${seeds.length} seeds:`, total)
  // The set-up does what the test is about.
  expect(total.cuts).toBeGreaterThan(seeds.length * 5)
  expect(total.restarts).toBeGreaterThan(seeds.length / 2)
  expect(total.live).toBeGreaterThan(seeds.length)
}
