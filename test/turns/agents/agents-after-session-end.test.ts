// Agents and their background tasks when the parent session ends.

import { expect, test } from 'vitest'
import { agent, createRuntime, type Runtime, type Task, tool } from '../../../src/index.ts'
import { scriptedModel } from '../../../src/testing/testing.ts'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach } from '../../kit/open-runtime.ts'
import { rerunTask } from '../../kit/simple-tools.ts'
import { keepOpen } from '../../kit/stores/killable-store.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

const slow = rerunTask('slow', async (_, ctx) => ctx.sleep('10d').then(() => 'done'))
const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
const spawn = { call: { name: 'spawn_background', input: { tool: 'slow', args: {} } } }

function world(lines: Parameters<typeof scriptedModel>[0]) {
  const { clock, store } = freshMemory()
  const shared = keepOpen(store)
  const expert = scriptedModel(lines, { name: 'expert' })
  const helper = scriptedModel([spawn, 'It is on its way.'], { name: 'helper' })
  const help = agent({ name: 'help', description: 'd', model: helper })
  const ask = agent({ name: 'ask', description: 'd', model: expert })
  const options = { store: shared, clock, logger: quiet, tools: [slow, pay, help, ask], models: [expert, helper] }
  const open = async (more: object = {}): Promise<Runtime> => {
    const runtime = await createRuntime({ ...options, ...more })
    runtimes.push(runtime)
    return runtime
  }
  const agentsOf = async (session: string): Promise<string[]> =>
    (await store.documentsOf({ of: 'session-agent', tenant: 'default', session, after: '', limit: 10 })).map(
      ({ key }) => key,
    )
  const states = async (runtime: Runtime, session: string): Promise<Task['state'][]> =>
    (await runtime.session(session).tasks.list()).map(({ state }) => state)
  return { clock, store, open, agentsOf, states }
}

test('TASK-10 SESS-6: ending a session cancels tasks of nested agents, even after a worker died', async () => {
  const { clock, open, agentsOf, states } = world([{ call: { name: 'help', input: { task: 'Begin it' } } }, 'Begun.'])
  const first = await open()
  await after(first.session('s').run([{ id: 'a', name: 'ask', input: { task: 'Begin it' } }]), clock, 30_000, 1_000)
  const [below = ''] = await agentsOf('s')
  const [deep = ''] = await agentsOf(below)
  expect(await states(first, deep)).toEqual(['running'])
  await first.close({ grace: 0 })
  const door = await open({ worker: false })
  expect(await door.session('s').end({ reason: 'Enough' })).toBe(true)
  const second = await open()
  await clock.advance('1m')
  expect(await states(second, deep)).toEqual(['cancelled'])
  expect((await second.session(deep).tasks.list())[0]).toMatchObject({ summary: 'Enough' })
})

test('TASK-10 SESS-6: agents of abandoned tasks and of direct calls continue after the end', async () => {
  const { clock, open, agentsOf } = world([{ call: { name: 'pay' } }, 'Paid.'])
  const runtime = await open()
  const session = runtime.session('s')
  const kept = await session.tasks.start({ tool: 'ask', input: { task: 'Pay it' }, onEnd: 'abandon' })
  const run = session.run([{ id: 'a', name: 'ask', input: { task: 'Pay it' } }])
  await clock.advance('2s')
  expect((await agentsOf('s')).length).toBe(2)
  expect(await session.end()).toBe(true)
  await clock.advance('1m')
  for (const { id } of await runtime.inbox({ tenant: 'default', session: 's' }))
    await runtime.decide(id, { approve: true, by: 'user:ada' })
  expect(await after(run, clock, 30_000, 1_000)).toMatchObject({ value: [{ status: 'success' }] })
  expect((await session.tasks.wait(kept.id)).state).toBe('succeeded')
})

test('POL-6 SESS-6: an agent is tracked only while it works or has open background tasks', async () => {
  const { clock, store, open, agentsOf } = world(['Nothing to do.'])
  const runtime = await open()
  const session = runtime.session('s')
  const working = async (): Promise<string[]> =>
    (await store.documentsOf({ of: 'session-working', tenant: 'default', session: 's', after: '', limit: 10 })).map(
      ({ value }) => value,
    )
  await after(session.run([{ id: 'a', name: 'help', input: { task: 'Begin it' } }]), clock, 30_000, 1_000)
  expect(await working()).toEqual(['left'])
  const [below = ''] = await agentsOf('s')
  const [task] = await runtime.session(below).tasks.list()
  await runtime.session(below).tasks.cancel(task?.id ?? '')
  await clock.advance('1m')
  await after(session.run([{ id: 'b', name: 'ask', input: { task: 'And?' } }]), clock, 30_000, 1_000)
  expect(await working()).toEqual([])
})
