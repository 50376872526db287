// Adversary: what the host hands over and never answers, and what of it is checked (TIME-1, TIME-3, TOOL-7, CALL-4, CALL-6).

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime, tool, type Tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { mortal, storeOf } from '../kit/stores/killable-store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'

const empty = z.object({})
const never = (): Promise<never> => new Promise(() => {})

onEachStore('adversary: the host', (bench) => {
  test('TIME-1 TIME-3 CALL-11: a prepare that never answers does not outlive a cancel', async () => {
    const clock = manualClock()
    const stuck = tool({ name: 'stuck', description: 'Stuck', input: empty, prepare: never, execute: () => 1 })
    const runtime = await bench.open([stuck], { clock })
    const call = runtime.session('s').call(stuck, {})
    await clock.advance('1s')
    await call.cancel()
    expect(await after(call.outcome, clock)).toMatchObject({ value: { status: 'cancelled' } })
  })

  test('TIME-1: a total deadline binds while prepare runs', async () => {
    const clock = manualClock()
    const stuck = tool({ name: 'stuck', description: 'Stuck', input: empty, timeout: { total: '10s' }, prepare: never, execute: () => 1 })
    const runtime = await bench.open([stuck], { clock })
    const end = await after(runtime.session('s').run([{ id: 'a', name: 'stuck' }]), clock)
    expect(end).toMatchObject({ value: [{ status: 'failure', failure: { code: 'deadline_exceeded' } }] })
  })

  test('TIME-1 TIME-3 CALL-11: a before hook that never answers does not outlive a cancel or a deadline', async () => {
    const clock = manualClock()
    const plain = tool({
      name: 'plain',
      description: 'Plain',
      input: z.object({ n: z.number() }),
      timeout: { total: '10s' },
      execute: () => 1,
    })
    const hooks = [{ name: 'slow', before: ({ input }: { input: unknown }) => ((input as { n: number }).n === 1 ? never() : undefined) }]
    const runtime = await bench.open([plain], { clock, hooks })
    const stop = new AbortController()
    const run = runtime.session('s').run(
      [1, 2].map((n) => ({ id: `${n}`, name: 'plain', input: { n } })),
      { batch: 'b', signal: stop.signal },
    )
    await clock.advance('30s')
    stop.abort()
    expect(await after(run, clock)).not.toBe('hangs')
  })

  test('CALL-2 CALL-11: an after hook that never answers loses no outcome', async () => {
    const clock = manualClock()
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 'done' })
    const runtime = await bench.open([plain], { clock, hooks: [{ name: 'slow', after: never }] })
    const stop = new AbortController()
    const run = runtime.session('s').run([{ id: 'a', name: 'plain' }], { signal: stop.signal })
    await clock.advance('30s')
    stop.abort()
    expect(await after(run, clock)).toMatchObject({ value: [{ callId: 'a' }] })
  })

  test('POL-1 TIME-1 TIME-3: a policy function that never answers does not outlive a cancel or a deadline', async () => {
    const clock = manualClock()
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, timeout: { total: '10s' }, execute: () => 'done' })
    const runtime = await bench.open([plain], { clock, policy: { decide: never } })
    const stop = new AbortController()
    const run = runtime.session('s').run([{ id: 'a', name: 'plain' }], { signal: stop.signal })
    await clock.advance('30s')
    stop.abort()
    expect(await after(run, clock)).toMatchObject({ value: [{ callId: 'a' }] })
  })

  test('TIME-1 TOOL-7: an output schema that never answers does not outlive a cancel or a deadline', async () => {
    const clock = manualClock()
    const plain = tool({
      name: 'plain',
      description: 'Plain',
      input: empty,
      output: z.string().refine(never),
      timeout: { total: '10s' },
      execute: () => 'done',
    })
    const runtime = await bench.open([plain], { clock })
    const stop = new AbortController()
    const run = runtime.session('s').run([{ id: 'a', name: 'plain' }], { signal: stop.signal })
    await clock.advance('30s')
    stop.abort()
    expect(await after(run, clock)).not.toBe('hangs')
  })
})

describe.each(['memory', 'sqlite'] as const)('adversary: recovery on %s', (kind) => {
  /** A first worker that can die, and a second one on the same store. */
  async function two(): Promise<{
    clock: ManualClock
    first(tools: Tool[], more?: object): Promise<{ runtime: Runtime; die(): void }>
    second(tools: Tool[], more?: object): Promise<Runtime>
  }> {
    const clock = manualClock()
    const file = join(mkdtempSync(join(tmpdir(), 'pawl-adv-')), 'a.db')
    const store = storeOf(kind, file, clock)
    const keys = { secret: 'x'.repeat(32) }
    return {
      clock,
      async first(tools, more = {}) {
        const one = mortal(store)
        const runtime = await createRuntime({ store: one.store, tools, clock, keys, logger: quiet, lease: '1s', ...more })
        return { runtime, die: () => one.die() }
      },
      second: (tools, more = {}) => createRuntime({ store, tools, clock, keys, logger: quiet, lease: '1s', ...more }),
    }
  }

  test('TIME-1 TIME-3 DUR-3: a reconcile that never answers does not outlive a cancel', async () => {
    const w = await two()
    const make = (reconcile?: () => unknown) =>
      tool({ name: 'pay', description: 'Pays', input: empty, execute: never, ...(reconcile ? { reconcile: reconcile as never } : {}) })
    const one = await w.first([make()])
    void one.runtime
      .session('s')
      .run([{ id: 'a', name: 'pay' }])
      .catch(() => {})
    await w.clock.advance(0)
    one.die()
    await w.clock.advance('10s')
    const runtime = await w.second([make(never)])
    const stop = new AbortController()
    const run = runtime.session('s').run([{ id: 'a', name: 'pay' }], { signal: stop.signal })
    await w.clock.advance('2m')
    stop.abort()
    const end = await after(run, w.clock)
    await runtime.close({ grace: 0 })
    expect(end).toMatchObject({ value: [{ callId: 'a', status: 'unknown' }] })
  })
})
