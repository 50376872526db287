import { agent, createRuntime, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

async function world(agentLines: Parameters<typeof scriptedModel>[0], bossLines: Parameters<typeof scriptedModel>[0]) {
  const { clock, store } = freshMemory()
  const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
  const expert = scriptedModel(agentLines, { name: 'expert' })
  const boss = scriptedModel(bossLines, { name: 'boss' })
  const ask = agent({ name: 'ask', description: 'd', model: expert, tools: ['pay'] })
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [pay, ask], models: [boss, expert] })
  runtimes.push(runtime)
  const session = runtime.session('s')
  const turn = session.turn({ model: boss, message: 'Go' })
  turn.outcome.catch(() => {})
  await clock.advance(2_000)
  const [agentRow] = await store.documentsOf({
    of: 'session-agent',
    tenant: 'default',
    session: 's',
    after: '',
    limit: 10,
  })
  return { clock, store, runtime, turn, boss, of: agentRow?.key ?? '' }
}

// Erasing a session that has agents. By default (`refuse`) nothing is erased while a call is open, agents included.
test('DUR-10 SESS-6: erase refuses a session with an open call and keeps its agents’ data', async () => {
  const { clock, runtime, of } = await world(
    ['Found it.'],
    [{ call: { name: 'ask', input: { task: 'Find it' } } }, { call: { name: 'pay' } }, 'ok'],
  )
  expect((await runtime.inbox()).length).toBe(1) // the turn waits for approval, its agent is done
  expect((await runtime.session(of).messages.list()).length).toBe(2)
  const refused = await after(runtime.erase({ session: 's' }), clock, 30_000, 1_000)
  expect(refused).toMatchObject({ error: { code: 'erase_open' } })
  expect((refused as { error: Error }).error.message).toContain('Nothing was erased')
  expect((await runtime.session(of).messages.list()).length).toBe(2)
})

// With `open: 'cancel'` open calls are cancelled before the session is erased.
test('DUR-10 SESS-6: erase cancels the turn first, so no model is called after its agent stopped', async () => {
  const { clock, runtime, boss } = await world(
    [{ call: { name: 'pay' } }, 'ok'],
    [
      { call: { name: 'ask', input: { task: 'Pay it' } } },
      { call: { name: 'ask', input: { task: 'Then try again' } } },
      'ok',
      'ok',
    ],
  )
  expect(boss.asked).toBe(1)
  expect(await after(runtime.erase({ session: 's', open: 'cancel' }), clock, 30_000, 10)).toMatchObject({ value: {} })
  expect(boss.asked).toBe(1)
})

// The guide (turns.md) promises that agents are erased with their session.
test('DUR-10 SESS-6: erase removes all data of the session and of agents started in it', async () => {
  const { clock, store, runtime } = await world(
    [{ call: { name: 'pay' } }, 'ok'],
    [
      { call: { name: 'ask', input: { task: 'Pay it' } } },
      { call: { name: 'ask', input: { task: 'Then try again' } } },
      'ok',
      'ok',
    ],
  )
  expect(await after(runtime.erase({ session: 's', open: 'cancel' }), clock, 30_000, 10)).toMatchObject({ value: {} })
  await clock.advance('1m')
  const left = await store.documentsOf({ of: 'message', tenant: 'default', after: '', limit: 100 })
  expect(left.map(({ value }) => value)).toEqual([])
})
