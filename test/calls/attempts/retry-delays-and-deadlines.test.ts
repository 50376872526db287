// TIME, DUR: what stands between attempts: delays, deadlines, claims, lines.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, fail, retry, type Runtime, type Tool, tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Store } from '../../../src/store/store.ts'
import { type Mortal, mortal, type StoreKind, storeOf } from '../../kit/stores/killable-store.ts'

const empty = z.object({})
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const hang = (): Promise<never> => new Promise(() => {})

describe.each(['memory', 'sqlite'] as const)('attempts on %s', (kind: StoreKind) => {
  let dir: string
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const open: Runtime[] = []

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'pawl-attempts-'))
    clock = manualClock()
    store = storeOf(kind, join(dir, 'agent.db'), clock)
    first = mortal(store)
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((runtime) => runtime.close({ grace: 0 })))
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  })
  const start = async (tools: readonly Tool[], on: Store = store): Promise<Runtime> => {
    const runtime = await createRuntime({ store: on, tools, clock, logger })
    if (on !== first.store) open.push(runtime)
    return runtime
  }

  test('TIME-4: after a restart the rest of a retry’s delay is waited for, no less and no more', async () => {
    const tries: number[] = []
    const began = clock.now()
    const flaky = tool({
      name: 'flaky',
      description: 'Fails once',
      input: empty,
      retry: { attempts: 3, cap: '10m' },
      execute: () => (tries.push(clock.now() - began), tries.length === 1 ? Promise.reject(retry({ after: '100s' })) : 'done'),
    })
    const dying = await start([flaky], first.store)
    void dying.session('s').run([{ id: 'a', name: 'flaky' }])
    await clock.advance('20s')
    first.die()
    const runtime = await start([flaky])
    await clock.advance('40s')
    const run = runtime.session('s').run([{ id: 'a', name: 'flaky' }])
    await clock.advance('1m')
    expect((await run)[0]).toMatchObject({ value: 'done', attempts: 2 })
    expect(tries).toEqual([0, 100_000])
  })

  test('TIME-1: a deadline in the past ends a call before the queue: its body never runs', async () => {
    let ran = 0
    const late = tool({
      name: 'late',
      description: 'Late',
      input: empty,
      onCrash: 'rerun',
      concurrency: 'parallel',
      execute: () => ran++,
    })
    const runtime = await start([late])
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'late', deadline: clock.now() }])
    expect(outcome).toMatchObject({ attempts: 0, failure: { code: 'deadline_exceeded' } })
    expect(ran).toBe(0)
  })

  test('TIME-4: a retry that would come after the deadline is refused at once', async () => {
    const busy = tool({
      name: 'busy',
      description: 'Busy',
      input: empty,
      timeout: { total: '10s' },
      execute: () => Promise.reject(retry({ after: '10s' })),
    })
    const runtime = await start([busy])
    const run = runtime.session('s').run([{ id: 'a', name: 'busy' }])
    let ended = false
    void run.then(() => (ended = true))
    await clock.advance(0)
    expect(ended).toBe(true)
    expect((await run)[0]).toMatchObject({ attempts: 1, failure: { code: 'deadline_exceeded' } })
  })

  test('SCHED-1 CALL-3: a call that parks leaves the line of a batch that stops at failures', async () => {
    const ran: string[] = []
    let key = ''
    const parks = tool({
      name: 'parks',
      description: 'Parks',
      input: empty,
      onCrash: 'rerun',
      async execute(_, ctx) {
        const later = await ctx.later()
        key = later.key
        return later
      },
    })
    const write = tool({ name: 'write', description: 'Writes', input: empty, execute: () => ran.push('write') })
    const runtime = await start([parks, write])
    const run = runtime.session('s').run(
      [
        { id: 'p', name: 'parks' },
        { id: 'w', name: 'write' },
      ],
      { batch: 'm', onFailure: 'stop' },
    )
    await clock.advance(0)
    expect(ran).toEqual(['write'])
    await runtime.resolve(key, { value: 1 })
    await clock.advance(0)
    expect((await run).map(({ status }) => status)).toEqual(['success', 'success'])
  })

  test('DUR-2: a recovered body that may rerun begins only when its start is on record', async () => {
    let runs = 0
    const work = tool({
      name: 'work',
      description: 'Works',
      input: empty,
      onCrash: 'rerun',
      execute: () => (++runs === 1 ? hang() : 'done'),
    })
    const dying = await start([work], first.store)
    void dying.session('s').run([{ id: 'a', name: 'work' }])
    await clock.advance('1s')
    first.die()
    const held: (() => void)[] = []
    const slow: Store = {
      ...store,
      write: (change, heard, how) =>
        change.events.some(({ type }) => type === 'call.started')
          ? void held.push(() => store.write(change, heard, how))
          : store.write(change, heard, how),
    }
    const runtime = await start([work], slow)
    await clock.advance('31s')
    expect([runs, held.length]).toEqual([1, 1])
    held[0]?.()
    await clock.advance(0)
    expect((await runtime.session('s').run([{ id: 'a', name: 'work' }]))[0]).toMatchObject({ value: 'done', attempts: 2 })
  })

  test('TIME-1 TIME-3: what a cancelled body returns too late is on record, and never delivered', async () => {
    let finish: (value: string) => void = () => {}
    const late = tool({
      name: 'late',
      description: 'Returns late',
      input: empty,
      execute: () => new Promise<string>((resolve) => (finish = resolve)),
    })
    const runtime = await start([late])
    const call = runtime.session('s').call(late, {})
    await clock.advance(0)
    await call.cancel()
    await clock.advance(100)
    expect(await call.outcome).toMatchObject({ status: 'cancelled', cancellation: { mayStillRun: true } })
    finish('at last')
    await clock.advance(0)
    for await (const event of runtime.events()) {
      if (event.type !== 'call.late') continue
      expect(event.body).toEqual({ attempt: 1, status: 'success' })
      break
    }
    const steps = await store.steps((await store.events({ after: 0, limit: 1 }))[0]?.call ?? '')
    expect(steps.find(({ key }) => key === 'late:1')).toMatchObject({ state: 'done', value: expect.stringContaining('at last') })
  })

  test('CALL-3: a batch that was stopped before the store answered stops what it then joins', async () => {
    const remote: Store = { ...store, callAt: async (position) => store.callAt(position) }
    const work = tool({ name: 'work', description: 'Works', input: empty, concurrency: 'parallel', execute: hang })
    const runtime = await start([work], remote)
    const stop = new AbortController()
    const run = runtime.session('s').run([{ id: 'a', name: 'work' }], { signal: stop.signal })
    stop.abort('Enough')
    await clock.advance('1s')
    expect((await run)[0]).toMatchObject({ status: 'cancelled', cancellation: { message: 'Enough' } })
  })

  test('TIME-1: that an attempt may still run is said by the outcome of a later one that was not given up', async () => {
    let attempts = 0
    const twice = tool({
      name: 'twice',
      description: 'Hangs, then says no',
      input: empty,
      hints: { idempotent: true },
      timeout: '1s',
      retry: { attempts: 2, base: 1 },
      execute: () => (++attempts === 1 ? hang() : Promise.reject(fail('No', { code: 'no' }))),
    })
    const runtime = await start([twice])
    const run = runtime.session('s').run([{ id: 'a', name: 'twice' }])
    await clock.advance('10s')
    expect((await run)[0]).toMatchObject({ attempts: 2, failure: { code: 'no', source: 'tool', mayStillRun: true } })
  })
})
