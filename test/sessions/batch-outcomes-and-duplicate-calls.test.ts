// Outcomes of a batch: one per call, in order, whatever the tools do; a repeated call is the same call.

import { createRuntime, fail, PawlError, tool } from 'pawl'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { rerunTool, simpleTool } from '../kit/simple-tools.ts'

let runs = 0
const count = tool({
  name: 'count',
  description: 'Counts its runs',
  input: z.object({ by: z.number() }),
  execute: ({ by }) => (runs += by),
})
const fails = simpleTool('fails', () => Promise.reject(fail('No such order', { code: 'not_found' })))
const throws = simpleTool('throws', () => {
  throw new Error('password=hunter22', { cause: new Error('at db://user:hunter22@host') })
})
const slow = simpleTool('slow', () => new Promise<string>((resolve) => setImmediate(resolve, 'slow')))

onEachStore('batches', (bench) => {
  test('CALL-2: a batch returns one outcome per call in order and never rejects', async () => {
    const runtime = await bench.open([count, fails, throws, slow])
    const outcomes = await runtime.session('s').run([
      { id: 'a', name: 'slow' },
      { id: 'b', name: 'fails', input: '' },
      { id: 'c', name: 'throws', input: {} },
      { id: 'd', name: 'nowhere' },
      { id: 'e', name: 'count', input: { by: 'x' } },
      { id: 'f', name: 'count', input: '{"by": 1' },
      { id: 'g', name: '__proto__' },
    ])
    expect(outcomes.map(({ callId }) => callId).join('')).toBe('abcdefg')
    expect(outcomes.map((outcome) => (outcome.status === 'failure' ? outcome.failure.code : outcome.status))).toEqual([
      'success',
      'not_found',
      'internal_error',
      'tool_unavailable',
      'invalid_arguments',
      'invalid_arguments',
      'tool_unavailable',
    ])
    expect(await runtime.session('s').run([])).toEqual([])
  })

  test('an exception of a tool reaches only the log', async () => {
    const runtime = await bench.open([throws])
    const outcome = await runtime.session('s').run([{ id: 'a', name: 'throws' }])
    const feed = []
    for await (const event of runtime.events()) {
      feed.push(event)
      if (event.type === 'call.settled') break
    }
    expect(JSON.stringify([outcome, feed])).not.toContain('hunter22')
    expect(JSON.stringify(bench.logged)).toContain('hunter22')
    expect(JSON.stringify(bench.logged)).toContain('db://')
  })

  test('CALL-6: a repeated call returns its recorded outcome without running again', async () => {
    runs = 0
    const runtime = await bench.open([count])
    const session = runtime.session('s')
    const ask = [{ id: 'x', name: 'count', input: { by: 1 } }]
    const [first] = await session.run(ask, { batch: 'm1' })
    const again = await Promise.all([
      session.run(ask, { batch: 'm1' }),
      session.run([{ id: 'x', name: 'count', input: '{ "by": 1 }' }], { batch: 'm1' }),
    ])
    expect(again.flat()).toEqual([first, first])
    expect(runs).toBe(1)
  })

  test('CALL-6: 50 concurrent requests for one call run it once', async () => {
    runs = 0
    const runtime = await bench.open([count])
    const session = runtime.session('s')
    const all = await Promise.all(
      Array.from({ length: 50 }, () => session.run([{ id: 'x', name: 'count', input: { by: 1 } }])),
    )
    expect(new Set(all.map(([outcome]) => JSON.stringify(outcome))).size).toBe(1)
    expect(runs).toBe(1)
  })

  test('CALL-6: other content under the same call id is a conflict, settled or not', async () => {
    runs = 0
    const runtime = await bench.open([count, slow])
    const session = runtime.session('s')
    const running = session.run([{ id: 'y', name: 'slow' }])
    const [conflict] = await session.run([{ id: 'y', name: 'count', input: { by: 1 } }])
    expect(conflict).toMatchObject({
      status: 'failure',
      failure: { class: 'invalid_request', code: 'call_conflict' },
      attempts: 0,
    })
    expect((await running)[0]?.status).toBe('success')
    const [later] = await session.run([{ id: 'y', name: 'count', input: { by: 1 } }])
    expect(later).toMatchObject({ failure: { code: 'call_conflict' } })
    expect(runs).toBe(0)
  })

  test('CALL-6: equal ids in a batch are two calls; batch, session and tenant separate calls', async () => {
    runs = 0
    const runtime = await bench.open([count])
    const ask = { id: 'x', name: 'count', input: { by: 1 } }
    await runtime.session('s').run([ask, ask], { batch: 'm' })
    expect(runs).toBe(2)
    await runtime.session('s').run([ask], { batch: 'n' })
    await runtime.session('t').run([ask], { batch: 'm' })
    await runtime.session('s', { tenant: 'acme' }).run([ask], { batch: 'm' })
    expect(runs).toBe(5)
    await runtime.session('s').run([ask, ask], { batch: 'm' })
    expect(runs).toBe(5)
  })

  test('invalid arguments are rejected with every path and never reach the body', async () => {
    runs = 0
    const runtime = await bench.open([count])
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'count', input: { by: 'one' } }])
    expect(outcome?.parts).toEqual([
      {
        type: 'text',
        text: expect.stringMatching(/^\[Tool execution failed\]\nThe arguments are not valid:\n- by: .*number/),
      },
    ])
    expect(runs).toBe(0)
  })

  test('a malformed call is rejected before anything is recorded', async () => {
    const runtime = await bench.open([count])
    await expect(runtime.session('s').run([{ id: '', name: 'count' }])).rejects.toMatchObject({ code: 'call_invalid' })
    await expect(runtime.session('s').run([null as never])).rejects.toMatchObject({ code: 'call_invalid' })
    expect(() => runtime.session('')).toThrow(PawlError)
  })

  test('close() rejects open and new runs with runtime_closed', async () => {
    const parks = rerunTool('parks', (_, ctx) => ctx.later())
    const runtime = await bench.open([parks])
    const waiting = runtime.session('s').run([{ id: 'p', name: 'parks' }])
    const refused = expect(waiting).rejects.toMatchObject({ code: 'runtime_closed' })
    await runtime.close()
    await refused
    await expect(runtime.session('s').run([{ id: 'q', name: 'parks' }])).rejects.toMatchObject({
      code: 'runtime_closed',
    })
  })
})

test('a configuration error names the option', async () => {
  const open = (options: object) => createRuntime({ store: 'memory:', ...options })
  await expect(open({ limit: {} })).rejects.toThrow(/`createRuntime\(\)` has no option `limit`; did you mean `limits`/)
  await expect(open({ store: 'mysql://x' })).rejects.toThrow(/`store` is 'mysql:\/\/x'; it must be 'memory:'/)
  await expect(open({ lease: 'soon' })).rejects.toThrow(/`lease` is 'soon'; it must be a duration/)
  await expect(open({ commit: 'never' })).rejects.toThrow(/`commit` is 'never'/)
  await expect(open({ keys: { secret: 'short' } })).rejects.toThrow(/at least 32/)
  await expect(open({ tools: [count, count] })).rejects.toMatchObject({ code: 'tool_duplicate' })
})
