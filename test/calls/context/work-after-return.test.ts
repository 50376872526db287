// Work that a body leaves running when it returns: it starts and records nothing more, and fails with attempt_over.

import { type Tool, tool, type ToolContext } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'

onEachStore('work after the body returned', (bench) => {
  let clock: ManualClock
  let ran: string[]
  let told: unknown[]
  beforeEach(() => {
    clock = manualClock()
    ;[ran, told] = [[], []]
  })

  const body = (run: (ctx: ToolContext) => unknown, more: object = {}): Tool =>
    tool({
      name: 'work',
      description: 'Leaves something running',
      input: z.object({}),
      onCrash: 'rerun',
      execute: (_, ctx) => run(ctx),
      ...more,
    })
  const ends = (floating: Promise<unknown>): void =>
    void floating.catch((error: { code: string }) => told.push(error.code))
  const second = (): Promise<void> => new Promise((resolve) => void clock.timer(1_000, resolve))
  const start = async (work: Tool) => {
    const runtime = await bench.open([work], { clock })
    return { runtime, run: runtime.session('s').run([{ id: 'a', name: 'work' }]) }
  }
  const facts = async (runtime: Awaited<ReturnType<typeof bench.open>>): Promise<string[]> => {
    const types: string[] = []
    for await (const event of runtime.session('s').events()) {
      types.push(event.type)
      if (event.type === 'call.settled') break
    }
    return types
  }

  test('TIME-1: a step that ends after its call settled is rejected and not recorded', async () => {
    const { runtime, run } = await start(body((ctx) => (ends(ctx.step('slow', second)), 'done')))
    expect(await run).toMatchObject([{ value: 'done' }])
    await clock.advance('2s')
    expect(told).toEqual(['attempt_over'])
    expect(await facts(runtime)).toEqual(['call.received', 'call.started', 'call.settled'])
  })

  test.for([
    ['while it is parked', '1h'],
    ['after its answer came', 500],
  ] as const)(
    'TIME-1 WAIT-1: a step that ends after its call parked, %s, is rejected and not recorded',
    async ([, deadline]) => {
      const parks = body(async (ctx) => {
        const later = await ctx.later({ deadline })
        ends(ctx.step('slow', second))
        return later
      })
      const { runtime, run } = await start(parks)
      await clock.advance('2s')
      expect(told).toEqual(['attempt_over'])
      await clock.advance('1h')
      expect(await run).toMatchObject([{ failure: { code: 'wait_timeout' } }])
      expect(await facts(runtime)).not.toContain('step.done')
    },
  )

  test('DUR-4: a once step whose start is being written when the body returns does not run', async () => {
    const { run } = await start(
      body((ctx) => (ends(ctx.step('charge', () => ran.push('charged'), { once: true })), 'done')),
    )
    await run
    await clock.advance('2s')
    expect([ran, told]).toEqual([[], ['attempt_over']])
  })

  test('DUR-4: a failed step is not retried after the body has returned', async () => {
    const step = (ctx: ToolContext) =>
      ctx.step('flaky', () => Promise.reject(new Error(`try ${ran.push('tried')}`)), {
        retry: { attempts: 5, delay: '1s' },
      })
    const { run } = await start(body((ctx) => (ends(step(ctx)), 'done')))
    await run
    await clock.advance('1m')
    expect([ran, told]).toEqual([['tried'], ['attempt_over']])
  })

  test('CALL-11: an unhandled late step is logged as attempt_over', async () => {
    const { run } = await start(body((ctx) => (void ctx.step('slow', second), 'done')))
    await run
    await clock.advance('2s')
    expect(bench.logged).toMatchObject([
      { level: 'error', fields: { tool: 'work', callId: 'a', error: { code: 'attempt_over' } } },
    ])
  })
})
