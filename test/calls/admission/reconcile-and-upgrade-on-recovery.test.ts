// Recovery after a crash: output checks of reconcile, version changes and cancels.

import { tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { after } from '../../kit/stores/fresh-store.ts'
import { hang, rerunTool } from '../../kit/simple-tools.ts'
import { dieDuringCall, ignoreResult, twoWorkers } from '../../kit/interrupted-calls.ts'

const empty = z.object({})

describe.each(['memory', 'sqlite'] as const)('reconcile and upgrade on %s', (kind) => {
  test('TOOL-7 CALL-1: the value from reconcile is checked against the output schema', async () => {
    const w = twoWorkers(kind)
    const make = (reconcile?: () => unknown) =>
      tool({
        name: 'pay',
        description: 'Pays',
        input: empty,
        output: z.object({ id: z.string() }),
        execute: hang,
        ...(reconcile ? { reconcile: reconcile as never } : {}),
      })
    const one = await w.first([make()])
    await dieDuringCall(one, w.clock, { id: 'a', name: 'pay' })
    const runtime = await w.second([make(() => ({ value: { wrong: true } }))])
    const end = await after(runtime.session('s').run([{ id: 'a', name: 'pay' }]), w.clock)
    await runtime.close({ grace: 0 })
    expect(end).toMatchObject({ value: [{ status: 'failure', failure: { code: 'invalid_output' } }] })
  })

  test('CALL-1 CALL-7: an answer to a parked call is kept when the tool version changes', async () => {
    const w = twoWorkers(kind)
    let key = ''
    const make = (version: string) =>
      rerunTool('sign', { version }, async (_, ctx) => {
        const later = await ctx.later<string>({ deadline: '1d' })
        key = later.key
        return later
      })
    const one = await w.first([make('1')])
    ignoreResult(one.runtime.session('s').run([{ id: 'a', name: 'sign' }]))
    await w.clock.advance('1s')
    await one.runtime.close({ grace: 0 })
    const runtime = await w.second([make('2')])
    await runtime.resolve(key, { value: 'signed' })
    const end = await after(runtime.session('s').run([{ id: 'a', name: 'sign' }]), w.clock)
    await runtime.close({ grace: 0 })
    expect(end).toMatchObject({ value: [{ status: 'success', value: 'signed' }] })
  })

  test('TIME-3: a cancelled call does not run again after a crash', async () => {
    const w = twoWorkers(kind)
    let ran = 0
    const make = () =>
      rerunTool('work', () => {
        ran++
        return ran === 1 ? hang() : 'again'
      })
    const one = await w.first([make()])
    const call = one.runtime.session('s').call(make(), {}, { id: 'a' })
    await w.clock.advance('1s')
    await call.cancel('stop it')
    await w.clock.advance(10) // on record, and inside the grace period
    one.die()
    await w.clock.advance('10s')
    const runtime = await w.second([make()])
    const end = await after(runtime.session('s').run([{ id: 'a', name: 'work' }]), w.clock)
    await runtime.close({ grace: 0 })
    expect([ran, end]).toMatchObject([1, { value: [{ status: 'cancelled' }] }])
  })
})
