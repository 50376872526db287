// The time between attempts: delays, deadlines, claims and batch order.

import { fail, retry, tool } from 'pawl'
import type { ManualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Store } from '../../../src/store/store.ts'
import type { Mortal, StoreKind } from '../../kit/stores/killable-store.ts'
import { hang, rerunTool, simpleTool } from '../../kit/simple-tools.ts'
import { mortalWorld } from '../../kit/worker-takeover.ts'

const empty = z.object({})

describe.each(['memory', 'sqlite'] as const)('attempts on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const { open, start } = mortalWorld(kind, (fresh) => void ({ clock, store, first } = fresh))

  test('TIME-4: after a restart a retry waits exactly for the rest of its delay', async () => {
    const tries: number[] = []
    const began = clock.now()
    const flaky = simpleTool(
      'flaky',
      { retry: { attempts: 3, cap: '10m' } },
      () => (tries.push(clock.now() - began), tries.length === 1 ? Promise.reject(retry({ after: '100s' })) : 'done'),
    )
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

  test('TIME-1: a call with a past deadline fails before it is queued, and its body never runs', async () => {
    let ran = 0
    const late = rerunTool('late', { concurrency: 'parallel' }, () => ran++)
    const runtime = await start([late])
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'late', deadline: clock.now() }])
    expect(outcome).toMatchObject({ attempts: 0, failure: { code: 'deadline_exceeded' } })
    expect(ran).toBe(0)
  })

  test('TIME-4: a retry that would start after the deadline fails immediately', async () => {
    const busy = simpleTool('busy', { timeout: { total: '10s' } }, () => Promise.reject(retry({ after: '10s' })))
    const runtime = await start([busy])
    const run = runtime.session('s').run([{ id: 'a', name: 'busy' }])
    let ended = false
    void run.then(() => (ended = true))
    await clock.advance(0)
    expect(ended).toBe(true)
    expect((await run)[0]).toMatchObject({ attempts: 1, failure: { code: 'deadline_exceeded' } })
  })

  test('SCHED-1 CALL-3: a parked call leaves the batch order of a batch with onFailure stop', async () => {
    const ran: string[] = []
    let key = ''
    const parks = rerunTool('parks', async (_, ctx) => {
      const later = await ctx.later()
      key = later.key
      return later
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

  test('DUR-2: a recovered body begins only after its start is recorded', async () => {
    let runs = 0
    const work = rerunTool('work', () => (++runs === 1 ? hang() : 'done'))
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
    open.push(runtime)
    await clock.advance('31s')
    expect([runs, held.length]).toEqual([1, 1])
    held[0]?.()
    await clock.advance(0)
    expect((await runtime.session('s').run([{ id: 'a', name: 'work' }]))[0]).toMatchObject({
      value: 'done',
      attempts: 2,
    })
  })

  test('TIME-1 TIME-3: a late result of a cancelled body is recorded and never delivered', async () => {
    let finish: (value: string) => void = () => {}
    const late = simpleTool('late', () => new Promise<string>((resolve) => (finish = resolve)))
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
    expect(steps.find(({ key }) => key === 'late:1')).toMatchObject({
      state: 'done',
      value: expect.stringContaining('at last'),
    })
  })

  test('CALL-3: a batch aborted before the store answers cancels its calls', async () => {
    const remote: Store = { ...store, callAt: async (position) => store.callAt(position) }
    const work = tool({ name: 'work', description: 'Works', input: empty, concurrency: 'parallel', execute: hang })
    const runtime = await start([work], remote)
    open.push(runtime)
    const stop = new AbortController()
    const run = runtime.session('s').run([{ id: 'a', name: 'work' }], { signal: stop.signal })
    stop.abort('Enough')
    await clock.advance('1s')
    expect((await run)[0]).toMatchObject({ status: 'cancelled', cancellation: { message: 'Enough' } })
  })

  test('TIME-1: the outcome of a retry says that an abandoned attempt may still run', async () => {
    let attempts = 0
    const twice = simpleTool(
      'twice',
      {
        description: 'Hangs, then says no',
        hints: { idempotent: true },
        timeout: '1s',
        retry: { attempts: 2, base: 1 },
      },
      () => (++attempts === 1 ? hang() : Promise.reject(fail('No', { code: 'no' }))),
    )
    const runtime = await start([twice])
    const run = runtime.session('s').run([{ id: 'a', name: 'twice' }])
    await clock.advance('10s')
    expect((await run)[0]).toMatchObject({ attempts: 2, failure: { code: 'no', source: 'tool', mayStillRun: true } })
  })
})
