// A worker notices changes of another worker on the same store when the store signals them, not at the next heartbeat.
// Heartbeats are 10 s apart here (a third of the lease) and SQLite is polled every 100 ms, so no test waits for a
// heartbeat.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime, type RuntimeOptions, type Tool, tool, type ToolContext } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Hint, Store } from '../../src/store/store.ts'
import { mortal, storeOf } from '../kit/stores/killable-store.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'
import { hang } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const call = { id: 'a', name: 'work' }
const work = (run: (ctx: ToolContext) => unknown, more: object = {}): Tool =>
  tool({
    name: 'work',
    description: 'Works',
    input: z.object({}),
    onCrash: 'rerun',
    execute: (_, ctx) => run(ctx),
    ...more,
  })

let clock: ManualClock
let open: Runtime[]
beforeEach(() => {
  clock = manualClock()
  open = []
})
afterEach(async () => {
  await Promise.all(open.map((runtime) => runtime.close({ grace: 0 })))
})
const start = async (
  store: RuntimeOptions['store'],
  tools: readonly Tool[],
  more: Partial<RuntimeOptions> = {},
): Promise<Runtime> => {
  const runtime = await createRuntime({ store, tools, clock, logger: quiet, ...more })
  open.push(runtime)
  return runtime
}
/** Captures the value of a promise once it is settled. */
const seen = <T>(promise: Promise<T>): { value?: T } => {
  const box: { value?: T } = {}
  void promise.then((value) => (box.value = value))
  return box
}

describe('two runtimes on one SQLite file', () => {
  let dir: string
  let url: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'pawl-outside-'))
    url = `sqlite:${join(dir, 'agent.db')}`
  })
  afterEach(() => rmSync(dir, { recursive: true, force: true }))

  test('DUR-3: a caller gets the outcome as soon as the other runtime settles the call', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const tools = [work(() => promise, { onCrash: 'stop' })]
    const [one, two] = [await start(url, tools), await start(url, tools)]
    const here = one.session('s').run([call])
    await clock.advance(0)
    const there = seen(two.session('s').run([call]))
    resolve('done')
    expect(await here).toMatchObject([{ value: 'done' }])
    expect(there.value).toBeUndefined()
    await clock.advance(100)
    expect(there.value).toMatchObject([{ value: 'done', attempts: 1 }])
  })

  test('WAIT-2: a waiting body continues with an answer from the other runtime', async () => {
    let key = ''
    const tools = [
      work(async (ctx) => {
        const later = await ctx.later()
        key = later.key
        return later.value
      }),
    ]
    const [one, two] = [await start(url, tools), await start(url, tools)]
    const here = seen(one.session('s').run([call]))
    await clock.advance(50)
    expect(await two.resolve(key, { value: 7 })).toEqual({ answer: 'accepted' })
    await clock.advance(100)
    expect(here.value).toMatchObject([{ value: 7, attempts: 1 }])
  })

  test('WAIT-2: the caller of a parked call gets its outcome from either runtime', async () => {
    let key = ''
    const tools = [
      work(async (ctx) => {
        const later = await ctx.later()
        key = later.key
        return later
      }),
    ]
    const [one, two] = [await start(url, tools), await start(url, tools)]
    const here = seen(one.session('s').run([call]))
    await clock.advance(50)
    await two.resolve(key, { value: 7 })
    await clock.advance(100)
    expect(here.value).toMatchObject([{ value: 7 }])
  })

  test('WAIT-1: a deadline set by a runtime that has closed is enforced on time', async () => {
    const tools = [work((ctx) => ctx.later({ deadline: '5s' }))]
    const [one, two] = [await start(url, tools), await start(url, tools)]
    const begun = clock.now()
    ignoreResult(two.session('s').run([call]))
    await clock.advance(100)
    await two.close({ grace: 0 })
    await clock.advance(4_900)
    for await (const event of one.session('s').events()) {
      if (event.type !== 'wait.resolved') continue
      expect(event).toMatchObject({ at: begun + 5_000, body: { by: 'timeout' } })
      break
    }
  })
})

test('DUR-3: any hint from another process triggers a claim, not only a wake hint', async () => {
  const store = memoryStore({ clock })
  const listeners: ((hint: Hint) => void)[] = []
  const silent: Store = { ...store, onHint: (listener) => (listeners.push(listener), () => {}) }
  const first = mortal(store)
  void (await createRuntime({ store: first.store, tools: [work(hang)], clock, logger: quiet })).session('s').run([call])
  await clock.advance(100)
  first.die()
  await clock.advance('31s')
  let taken = 0
  const away: Store = {
    ...silent,
    claim: (worker, tools, limit) => (taken++ === 0 ? [] : store.claim(worker, tools, limit)),
  }
  const runtime = await start(away, [work(() => 'done')])
  const run = seen(runtime.session('s').run([call]))
  await clock.advance(0)
  expect(run.value).toBeUndefined()
  for (const hear of listeners) hear({ wakes: false, outside: true })
  await clock.advance(0)
  expect(run.value).toMatchObject([{ value: 'done', attempts: 2 }])
})

test('DUR-7: an execution whose deferred write is rejected ends and starts nothing more', async () => {
  const store = memoryStore({ clock })
  const gate = Promise.withResolvers<void>()
  // Deferred writes wait here until another worker has recorded the same call.
  const slow: Store = {
    ...store,
    write: (change, heard, how) =>
      void (how?.ride ? gate.promise.then(() => store.write(change, heard, how)) : store.write(change, heard, how)),
  }
  const told: unknown[] = []
  const ran: string[] = []
  const loser = work(
    (ctx) =>
      new Promise((_, reject) => {
        ctx.signal.addEventListener('abort', () => {
          told.push((ctx.signal.reason as { code: string }).code)
          ctx.step('more', () => ran.push('more')).catch((error: { code: string }) => told.push(error.code))
          reject(ctx.signal.reason as Error)
        })
      }),
  )
  const one = await start(slow, [loser])
  const lost = seen(one.session('s').run([call]))
  await clock.advance(0)
  const two = await start(store, [work(() => 'first on record')])
  const outcome = await two.session('s').run([call])
  expect([told, lost.value]).toEqual([[], undefined])
  gate.resolve()
  await clock.advance(100)
  expect(told).toEqual(['lease_lost', 'lease_lost'])
  expect(ran).toEqual([])
  expect(lost.value).toEqual(outcome)
})

test('DUR-3: a starting worker recovers all pages of open calls before any heartbeat', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-outside-'))
  try {
    const file = join(dir, 'agent.db')
    const limits = { perSession: 500 }
    const wide = { concurrency: 'parallel' }
    const calls = Array.from({ length: 150 }, (_, n) => ({ id: `c${n}`, name: 'work' }))
    const left = storeOf('sqlite', file, clock)
    const first = mortal(left)
    const dying = await createRuntime({ store: first.store, tools: [work(hang, wide)], clock, logger: quiet, limits })
    void dying.session('s').run(calls)
    await clock.advance(100)
    first.die()
    await clock.advance('31s')
    let begun = 0
    const runtime = await start(`sqlite:${file}`, [work(() => (begun++, hang()), wide)], { limits })
    await clock.advance(0)
    expect(begun).toBe(150)
    await runtime.close({ grace: 0 })
    await left.close()
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
