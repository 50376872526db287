// One unreadable task row must not affect the other tasks of its session.

import { createRuntime, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { quiet } from '../kit/stores/fresh-store.ts'
import { closedAfterEach, stores } from '../kit/open-runtime.ts'
import { hang } from '../kit/simple-tools.ts'
import { damageTask } from '../kit/stores/killable-store.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

describe.each(stores)('an unreadable task on %s', (_kind, fresh) => {
  const world = async () => {
    const { clock, store } = fresh()
    const definition = { description: 'd', input, onCrash: 'rerun', background: true, execute: hang } as const
    const secret = tool({ name: 'secret', sensitive: true, ...definition })
    const plain = tool({ name: 'plain', ...definition })
    const runtime = await createRuntime({ store, clock, tools: [secret, plain], logger: quiet })
    runtimes.push(runtime)
    const session = runtime.session('s')
    await session.tasks.start({ tool: 'secret', id: 'a' })
    await session.tasks.start({ tool: 'plain', id: 'b' })
    await clock.advance(2_000)
    await damageTask(store, 'a')
    return { clock, store, session }
  }

  test('TASK-8: list() omits an unreadable task and returns the others', async () => {
    const { session } = await world()
    const listed = async (state?: 'open'): Promise<unknown> =>
      session.tasks.list(state ? { state } : {}).then(
        (all) => all.map(({ id }) => id),
        (error: { code: string }) => error.code,
      )
    expect({ all: await listed(), open: await listed('open') }).toEqual({ all: ['b'], open: ['b'] })
  })

  test('TASK-1: a model can start another task', async () => {
    const { clock, session } = await world()
    const run = session.run([{ id: 'c', name: 'spawn_background', input: { tool: 'plain', args: {} } }])
    await clock.advance(1_000)
    expect(await run).toMatchObject([{ status: 'success' }])
  })

  test('DUR-10: prune removes old tasks although the outcome of a newer one is unreadable', async () => {
    const { clock, store } = fresh()
    const definition = { description: 'd', input, onCrash: 'rerun', background: true, execute: () => 'ok' } as const
    const secret = tool({ name: 'secret', sensitive: true, ...definition })
    const plain = tool({ name: 'plain', ...definition })
    const runtime = await createRuntime({ store, clock, tools: [secret, plain], logger: quiet })
    runtimes.push(runtime)
    await runtime.session('old').tasks.start({ tool: 'plain', id: 'b' })
    await clock.advance(2_000)
    await clock.advance('2d')
    await runtime.session('new').tasks.start({ tool: 'secret', id: 'a' })
    await clock.advance(2_000)
    const [call] = await store.callsOf({ tenant: 'default', session: 'new' }, { after: '', limit: 1 })
    if (!call?.outcome) throw new Error('It has ended')
    const { state, args, terms, attempt, startedAt, wait, settledAt, deaths, trouble } = call
    const outcome = `${call.outcome.slice(0, -4)}AAAA`
    const progress = { state, args, terms, attempt, startedAt, wait, settledAt, deaths, trouble, outcome }
    await store.commit({ guards: [], updateCall: { uid: call.uid, progress }, events: [] })
    const pruned = await runtime.prune({ olderThan: '1d' }).then(
      () => 'pruned',
      (error: { code: string }) => error.code,
    )
    const left = await store.documentsOf({ of: 'task', tenant: 'default', session: 'old', after: '', limit: 10 })
    expect({ pruned, left: left.map(({ key }) => key) }).toEqual({ pruned: 'pruned', left: [] })
  })

  test('TASK-10: ending the session cancels the other tasks', async () => {
    const { clock, session } = await world()
    await session.end()
    for (let n = 0; n < 60; n++) await clock.advance(10_000)
    expect((await session.tasks.get('b'))?.state).toBe('cancelled')
  })
})
