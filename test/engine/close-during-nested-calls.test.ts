// close() while nested calls, queued calls and feed readers are active.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime } from 'pawl'
import { manualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { storeOf } from '../kit/stores/killable-store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { argumentTool, readOnlyTool, rerunTool } from '../kit/simple-tools.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'

describe.each(['memory', 'sqlite'] as const)('close() on %s', (kind) => {
  function place() {
    const clock = manualClock()
    const store = storeOf(kind, join(mkdtempSync(join(tmpdir(), 'pawl-adv-')), 'a.db'), clock)
    const open = (tools: Parameters<typeof createRuntime>[0]['tools']) =>
      createRuntime({ store, tools: tools ?? [], clock, logger: quiet, keys: { secret: 'x'.repeat(32) } })
    return { clock, open }
  }

  test('CALL-2 DUR-13: a body with a nested call in the grace period is handed back, not failed', async () => {
    const { clock, open } = place()
    let go = (): void => {}
    const child = readOnlyTool('child', () => 'child')
    const make = (wait: boolean) =>
      rerunTool('parent', async (_, ctx) => {
        if (wait) await new Promise<void>((resolve) => (go = resolve))
        const end = await ctx.call(child, {})
        return end.status === 'success' ? end.value : end.status
      })
    const one = await open([child, make(true)])
    ignoreResult(one.session('s').run([{ id: 'a', name: 'parent' }]))
    await clock.advance('1s')
    const closed = one.close({ grace: '5s' })
    await clock.advance(100)
    go()
    await after(closed, clock)
    const two = await open([child, make(false)])
    const end = await after(two.session('s').run([{ id: 'a', name: 'parent' }]), clock)
    await two.close({ grace: 0 })
    expect(end).toMatchObject({ value: [{ status: 'success', value: 'child' }] })
  })

  test('DUR-13: a queued call does not start while the runtime closes', async () => {
    const { clock, open } = place()
    const started: string[] = []
    let go = (): void => {}
    const write = argumentTool('write', z.object({ n: z.string() }), {}, ({ n }) => {
      started.push(n)
      return new Promise<void>((resolve) => (go = resolve))
    })
    const runtime = await open([write])
    runtime
      .session('s')
      .run(
        ['a', 'b'].map((n) => ({ id: n, name: 'write', input: { n } })),
        { batch: 'm' },
      )
      .catch(() => {})
    await clock.advance('1s')
    const closed = runtime.close({ grace: '5s' })
    await clock.advance(100)
    go() // call a ends within the grace period
    await after(closed, clock)
    expect(started).toEqual(['a'])
  })

  test('FEED-1 DUR-13: close() records no cancel of nested calls in the feed', async () => {
    const { clock, open } = place()
    let first = true
    const child = readOnlyTool('child', () => (first ? new Promise<string>(() => {}) : 'child'))
    const parent = rerunTool('parent', async (_, ctx) => (await ctx.call(child, {})).status)
    const one = await open([child, parent])
    ignoreResult(one.session('s').run([{ id: 'a', name: 'parent' }]))
    await clock.advance('1s')
    await one.close({ grace: 0 })
    first = false
    const two = await open([child, parent])
    const end = await after(two.session('s').run([{ id: 'a', name: 'parent' }]), clock)
    const types: string[] = []
    for await (const event of two.session('s').events()) {
      types.push(event.type)
      if (types.filter((type) => type === 'call.settled').length === 2) break
    }
    await two.close({ grace: 0 })
    expect(end).toMatchObject({ value: [{ status: 'success', value: 'success' }] })
    expect(types).not.toContain('call.cancelling')
  })
})
