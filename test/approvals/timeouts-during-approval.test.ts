// Timeouts while people decide: the total timeout pauses, an absolute deadline does not.

import { connectionRequired, retry, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ada, bea, parks, worldOn } from '../kit/approval-workers.ts'
import { rerunTool, simpleTool } from '../kit/simple-tools.ts'

const empty = z.object({})

describe.each(['memory', 'sqlite'] as const)('timeouts on %s', (kind) => {
  const world = worldOn(kind)

  test('TIME-2: time spent waiting for an answer does not count against the total timeout of a retry', async () => {
    let tries = 0
    const ask = rerunTool('ask', { timeout: { total: '1m' } }, async (_, ctx) => {
      const asked = await ctx.ask({ text: 'Which?', deadline: '1h' })
      const { answer } = await asked.value
      if (++tries === 1) throw retry({ after: 10 })
      return answer
    })
    const runtime = await world.start([ask])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'ask' }])
    const { id } = await world.item(runtime)
    await world.clock.advance('5m')
    await runtime.decide(id, { answer: 'this', ...bea })
    await world.clock.advance('5s')
    expect(await run).toMatchObject([{ status: 'success', value: 'this' }])
  })

  test('TIME-2: the total timeout stays paused until both of two questions are answered', async () => {
    const ask = rerunTool('ask', { timeout: { total: '1m' } }, async (_, ctx) => {
      const asked = await Promise.all(['one', 'two'].map((name) => ctx.ask({ name, text: `${name}?`, deadline: '1h' })))
      const answers = await Promise.all(asked.map(({ value }) => value))
      return answers.map(({ answer }) => answer)
    })
    const runtime = await world.start([ask])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'ask' }])
    await world.item(runtime)
    const [first, second] = await runtime.inbox()
    await world.clock.advance('10s')
    await runtime.decide(first?.id ?? '', { answer: 'x', ...bea })
    await world.clock.advance('5m')
    expect(await runtime.decide(second?.id ?? '', { answer: 'x', ...bea })).toMatchObject({ answer: 'accepted' })
    await world.clock.advance('1s')
    expect(await run).toMatchObject([{ status: 'success', value: ['x', 'x'] }])
  })

  test('TIME-2: the total timeout of a body pauses while a nested call waits for approval', async () => {
    const charge = simpleTool('charge', { hints: { destructive: true } }, () => 'charged')
    const shop = rerunTool('shop', { timeout: { total: '1m' } }, async (_, ctx) => {
      const inner = await ctx.call(charge, {})
      return inner.status
    })
    const runtime = await world.start([shop, charge])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'shop' }])
    const { id } = await world.item(runtime)
    await world.clock.advance('5m')
    expect(await runtime.decide(id, { approve: true, ...bea })).toMatchObject({ answer: 'accepted' })
    await world.clock.advance('5s')
    expect(await run).toMatchObject([{ status: 'success', value: 'success' }])
  })

  const deadline = async (make: () => ReturnType<typeof tool>): Promise<unknown> => {
    const runtime = await world.start([make()])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'slow', deadline: world.clock.now() + 60_000 }])
    let end: unknown = 'still waits'
    void run.then(([outcome]) => (end = outcome))
    await world.clock.advance('2m')
    return end
  }
  const late = { status: 'failure', failure: { class: 'timeout' } }

  test('TIME-2: a deadline still expires while the call waits for a connection', async () => {
    const end = await deadline(() =>
      tool({ name: 'slow', description: 'd', input: empty, execute: () => connectionRequired('github') }),
    )
    expect(end).toMatchObject(late)
  })
  test('TIME-2: a deadline still expires while the call is parked on a question', async () => {
    const end = await deadline(
      () =>
        tool({
          name: 'slow',
          description: 'd',
          input: empty,
          execute: (_, ctx) => ctx.ask({ text: 'Which?', deadline: '1h' }),
        }) as never,
    )
    expect(end).toMatchObject(late)
  })
  test('TIME-2, SESS-7: a deadline still expires while the client has the call', async () => {
    const end = await deadline(() => tool({ name: 'slow', description: 'd', input: empty, client: true }))
    expect(end).toMatchObject(late)
  })
  test('TIME-2: the total timeout runs again after the approval request is withdrawn', async () => {
    const policy = { rules: [{ tool: 'work', then: 'ask' as const }] }
    let tries = 0
    const work = simpleTool(
      'work',
      {
        timeout: { total: '2m' },
        retry: { attempts: 100 },
        hints: { idempotent: true },
      },
      () => {
        tries++
        throw retry({ after: 20_000 })
      },
    )
    // The worker dies after it opened the approval request and before the call parks.
    const { runtime } = await world.doomed([work], { policy }, parks)
    void runtime.session('s', ada).run([{ id: 'a', name: 'work' }])
    await world.clock.advance(10)
    const second = await world.takeOver([work])
    const run = second.session('s', ada).run([{ id: 'a', name: 'work' }])
    let end: unknown = null
    void run.then(([outcome]) => (end = outcome))
    for (let minute = 0; minute < 5; minute++) await world.clock.advance('1m')
    expect(end).toMatchObject({ status: 'failure' })
    expect(tries).toBeLessThan(10)
  })

  test('TIME-2: queued, running and waiting times add up over approval, question and retry', async () => {
    let tries = 0
    const work = rerunTool('work', { approval: 'always' }, async (_, ctx) => {
      const asked = await ctx.ask({ text: 'Which?', deadline: '1h' })
      const { answer } = await asked.value
      if (++tries === 1) throw retry({ after: 1_000 })
      return answer
    })
    const runtime = await world.start([work])
    const from = world.clock.now()
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'work' }])
    const first = await world.item(runtime)
    await world.clock.advance('3m')
    await runtime.decide(first.id, { approve: true, ...bea })
    await world.clock.advance(10)
    const second = await world.item(runtime)
    await world.clock.advance('7m')
    await runtime.decide(second.id, { answer: 'this', ...bea })
    let at = 0
    void run.then(() => (at = world.clock.now()))
    for (let second = 0; second < 40 && at === 0; second++) await world.clock.advance(100)
    const [outcome] = await run
    const { queuedMs, runningMs, waitingMs } = outcome as { queuedMs: number; runningMs: number; waitingMs: number }
    expect(Math.abs(queuedMs + runningMs + waitingMs - (at - from))).toBeLessThan(120)
    expect(waitingMs).toBeGreaterThanOrEqual(600_000)
  })
})
