// The app context of the host (ctx.app): created by its factory once per session and process, for bodies and prepare;
// also ctx.frame.

import { createRuntime, result, tool } from 'pawl'
import { expect, test } from 'vitest'
import { scriptedModel } from 'pawl/testing'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { argumentTool, rerunTool, simpleTool } from '../../kit/simple-tools.ts'

const input = { type: 'object' } as const
const shows = rerunTool('shows', (_, ctx) => ctx.app?.currency ?? null)

onEachStore('CALL-9: ctx.app', (bench) => {
  test('is created once per session of a tenant, even for concurrent calls', async () => {
    const made: string[] = []
    const runtime = await bench.open([shows], {
      app: async ({ tenant, session }) => {
        made.push(`${tenant}/${session}`)
        await Promise.resolve()
        return { currency: `${tenant}-${session}` }
      },
    })
    const calls = [1, 2, 3].map((n) => ({ id: `c${n}`, name: 'shows' }))
    const all = await Promise.all([
      runtime.session('s', { tenant: 'a' }).run(calls),
      runtime.session('s', { tenant: 'b' }).run(calls),
      runtime.session('t', { tenant: 'a' }).run(calls),
    ])
    expect(all.flat().map((outcome) => outcome.status === 'success' && outcome.value)).toEqual(
      ['a-s', 'b-s', 'a-t'].flatMap((each) => [each, each, each]),
    )
    expect(made.toSorted()).toEqual(['a/s', 'a/t', 'b/s'])
  })

  test('fails the call if it cannot be created, and is created again for the next call', async () => {
    let times = 0
    const runtime = await bench.open([shows], {
      app: () => {
        if (++times === 1) throw new Error('The vault at 10.0.0.7 is closed')
        if (times === 2) return Promise.reject(new Error('The vault at 10.0.0.7 is closed'))
        return { currency: 'EUR' }
      },
    })
    const session = runtime.session('s')
    for (const id of ['a', 'b']) {
      const [outcome] = await session.run([{ id, name: 'shows' }])
      expect(outcome).toMatchObject({ status: 'failure', failure: { code: 'internal_error' } })
      expect(JSON.stringify(outcome)).not.toContain('vault')
    }
    expect(await session.run([{ id: 'c', name: 'shows' }])).toMatchObject([{ value: 'EUR' }])
  })
})

test('CALL-9: ctx.app is available in prepare and in the body', async () => {
  const seen: unknown[] = []
  const prepares = rerunTool('prepares', { prepare: (_, ctx) => ({ payload: ctx.app.currency }) }, async (_, ctx) => {
    seen.push([ctx.prepared, ctx.app.currency])
    return (await ctx.later<string>({ name: 'go' })).key
  })
  const runtime = await createRuntime({
    store: 'memory:',
    tools: [prepares],
    app: () => ({ currency: 'EUR' }),
    logger: quiet,
  })
  expect(await runtime.session('s').run([{ id: 'a', name: 'prepares' }])).toMatchObject([{ status: 'success' }])
  expect(seen).toEqual([['EUR', 'EUR']])
  await runtime.close()
})

test('CALL-9: a call cancelled while ctx.app is created does not begin', async () => {
  let begun = 0
  let make = (): void => {}
  const counts = tool({ name: 'counts', description: 'Counts', input, execute: () => void begun++ })
  const made = new Promise<{ currency: string }>((resolve) => (make = () => resolve({ currency: 'EUR' })))
  const runtime = await createRuntime({ store: 'memory:', tools: [counts], app: () => made, logger: quiet })
  const call = runtime.session('s').call(counts, {})
  await call.cancel('Enough')
  make()
  expect(await call.outcome).toMatchObject({ status: 'cancelled' })
  await made
  expect(begun).toBe(0)
  await runtime.close()
})

test('CALL-9: the app option must be a function', async () => {
  await expect(createRuntime({ store: 'memory:', app: { currency: 'EUR' } as never })).rejects.toThrow(
    '`app` is an object; it must be a function.',
  )
})

test('CALL-9 SESS-6: ctx.frame follows frame switches, nested calls and tasks, or is null', async () => {
  const seen: string[] = []
  const looks = argumentTool(
    'looks',
    { type: 'object', properties: { as: { type: 'string' } } },
    { onCrash: 'rerun', background: true },
    ({ as }: { as?: string }, ctx) => void seen.push(`${as}: ${ctx.frame}`),
  )
  const nests = rerunTool('nests', async (_, ctx) => {
    await ctx.call(looks, { as: 'nested' })
    const { id } = await ctx.tasks.start({ tool: 'looks', input: { as: 'task' } })
    await ctx.tasks.wait(id)
  })
  const hands = simpleTool('hands_over', () =>
    result('over', { control: { switchFrame: { frame: 'second', task: 'Go on' } } }),
  )
  const model = scriptedModel([{ call: { name: 'looks', input: { as: 'turn' } } }, { call: { name: 'hands_over' } }], {
    name: 'a',
  })
  const other = scriptedModel(
    [{ call: [{ name: 'looks', input: { as: 'after' } }, { name: 'nests' }] }, { say: 'Done' }],
    { name: 'b' },
  )
  const runtime = await createRuntime({
    store: 'memory:',
    tools: [looks, nests, hands],
    models: [model, other],
    frames: [{ name: 'first' }, { name: 'second', model: other }],
    logger: quiet,
  })
  const session = runtime.session('s')
  await session.run([{ id: 'a', name: 'looks', input: { as: 'outside' } }])
  expect(await session.turn({ model, frame: 'first', message: 'Look' }).outcome).toMatchObject({ status: 'success' })
  expect(seen).toEqual(['outside: null', 'turn: first', 'after: second', 'nested: second', 'task: second'])
  await runtime.close()
})
