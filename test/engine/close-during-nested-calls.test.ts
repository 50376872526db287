// close() in the middle of everything (CALL-2, DUR-13, FEED-1).

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { storeOf } from '../kit/stores/killable-store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'

const empty = z.object({})

describe.each(['memory', 'sqlite'] as const)('adversary: close on %s', (kind) => {
  function place() {
    const clock = manualClock()
    const store = storeOf(kind, join(mkdtempSync(join(tmpdir(), 'pawl-adv-')), 'a.db'), clock)
    const open = (tools: Parameters<typeof createRuntime>[0]['tools']) =>
      createRuntime({ store, tools: tools ?? [], clock, logger: quiet, keys: { secret: 'x'.repeat(32) } })
    return { clock, open }
  }

  test('CALL-2 DUR-13: a body that makes a nested call during the grace of close is handed back, not failed', async () => {
    const { clock, open } = place()
    let go = (): void => {}
    const child = tool({ name: 'child', description: 'Child', input: empty, hints: { readOnly: true }, execute: () => 'child' })
    const make = (wait: boolean) =>
      tool({
        name: 'parent',
        description: 'Parent',
        input: empty,
        onCrash: 'rerun',
        async execute(_, ctx) {
          if (wait) await new Promise<void>((resolve) => (go = resolve))
          const end = await ctx.call(child, {})
          return end.status === 'success' ? end.value : end.status
        },
      })
    const one = await open([child, make(true)])
    one
      .session('s')
      .run([{ id: 'a', name: 'parent' }])
      .catch(() => {})
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

  test('DUR-13: a call that waits for its turn does not start while the runtime closes', async () => {
    const { clock, open } = place()
    const started: string[] = []
    let go = (): void => {}
    const write = tool({
      name: 'write',
      description: 'Writes',
      input: z.object({ n: z.string() }),
      execute: ({ n }) => {
        started.push(n)
        return new Promise<void>((resolve) => (go = resolve))
      },
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
    go() // a is done within the grace
    await after(closed, clock)
    expect(started).toEqual(['a'])
  })

  test('FEED-1 DUR-13: close writes no cancel of nested calls into the feed', async () => {
    const { clock, open } = place()
    let first = true
    const child = tool({
      name: 'child',
      description: 'Child',
      input: empty,
      hints: { readOnly: true },
      execute: () => (first ? new Promise<string>(() => {}) : 'child'),
    })
    const parent = tool({
      name: 'parent',
      description: 'Parent',
      input: empty,
      onCrash: 'rerun',
      execute: async (_, ctx) => (await ctx.call(child, {})).status,
    })
    const one = await open([child, parent])
    one
      .session('s')
      .run([{ id: 'a', name: 'parent' }])
      .catch(() => {})
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
