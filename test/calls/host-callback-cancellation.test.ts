// Host callbacks that never return: a cancel or a deadline still ends the call.

import { type Runtime, tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { after } from '../kit/stores/fresh-store.ts'
import { argumentTool, hang, simpleTool } from '../kit/simple-tools.ts'
import { dieDuringCall, twoWorkers } from '../kit/interrupted-calls.ts'

const empty = z.object({})

/** Runs a call of `plain` and aborts its batch after 30 s. */
async function runUntilAborted(runtime: Runtime, clock: ManualClock): Promise<unknown> {
  const stop = new AbortController()
  const run = runtime.session('s').run([{ id: 'a', name: 'plain' }], { signal: stop.signal })
  await clock.advance('30s')
  stop.abort()
  return after(run, clock)
}

onEachStore('host callbacks that never return', (bench) => {
  test('TIME-1 TIME-3 CALL-11: a cancel ends a call whose prepare never returns', async () => {
    const clock = manualClock()
    const stuck = tool({ name: 'stuck', description: 'Stuck', input: empty, prepare: hang, execute: () => 1 })
    const runtime = await bench.open([stuck], { clock })
    const call = runtime.session('s').call(stuck, {})
    await clock.advance('1s')
    await call.cancel()
    expect(await after(call.outcome, clock)).toMatchObject({ value: { status: 'cancelled' } })
  })

  test('TIME-1: the total deadline applies while prepare runs', async () => {
    const clock = manualClock()
    const stuck = simpleTool('stuck', { timeout: { total: '10s' }, prepare: hang }, () => 1)
    const runtime = await bench.open([stuck], { clock })
    const end = await after(runtime.session('s').run([{ id: 'a', name: 'stuck' }]), clock)
    expect(end).toMatchObject({ value: [{ status: 'failure', failure: { code: 'deadline_exceeded' } }] })
  })

  test('TIME-1 TIME-3 CALL-11: a cancel or deadline ends a call whose before hook never returns', async () => {
    const clock = manualClock()
    const plain = argumentTool('plain', z.object({ n: z.number() }), { timeout: { total: '10s' } }, () => 1)
    const hooks = [
      {
        name: 'slow',
        before: ({ input }: { input: unknown }) => ((input as { n: number }).n === 1 ? hang() : undefined),
      },
    ]
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

  test('CALL-2 CALL-11: an after hook that never returns does not lose the outcome', async () => {
    const clock = manualClock()
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 'done' })
    const runtime = await bench.open([plain], { clock, hooks: [{ name: 'slow', after: hang }] })
    expect(await runUntilAborted(runtime, clock)).toMatchObject({ value: [{ callId: 'a' }] })
  })

  test('POL-1 TIME-1 TIME-3: a cancel or deadline ends a call whose policy function never returns', async () => {
    const clock = manualClock()
    const plain = simpleTool('plain', { timeout: { total: '10s' } }, () => 'done')
    const runtime = await bench.open([plain], { clock, policy: { decide: hang } })
    expect(await runUntilAborted(runtime, clock)).toMatchObject({ value: [{ callId: 'a' }] })
  })

  test('TIME-1 TOOL-7: a cancel or deadline ends a call whose output schema never returns', async () => {
    const clock = manualClock()
    const plain = simpleTool('plain', { output: z.string().refine(hang), timeout: { total: '10s' } }, () => 'done')
    const runtime = await bench.open([plain], { clock })
    expect(await runUntilAborted(runtime, clock)).not.toBe('hangs')
  })
})

describe.each(['memory', 'sqlite'] as const)('host callbacks during recovery on %s', (kind) => {
  test('TIME-1 TIME-3 DUR-3: a cancel ends a call whose reconcile never returns', async () => {
    const w = twoWorkers(kind)
    const make = (reconcile?: () => unknown) =>
      tool({
        name: 'pay',
        description: 'Pays',
        input: empty,
        execute: hang,
        ...(reconcile ? { reconcile: reconcile as never } : {}),
      })
    const one = await w.first([make()])
    await dieDuringCall(one, w.clock, { id: 'a', name: 'pay' })
    const runtime = await w.second([make(hang)])
    const stop = new AbortController()
    const run = runtime.session('s').run([{ id: 'a', name: 'pay' }], { signal: stop.signal })
    await w.clock.advance('2m')
    stop.abort()
    const end = await after(run, w.clock)
    await runtime.close({ grace: 0 })
    expect(end).toMatchObject({ value: [{ callId: 'a', status: 'unknown' }] })
  })
})
