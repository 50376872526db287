import { agent, createRuntime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach } from '../../kit/open-runtime.ts'
import { rerunTask } from '../../kit/simple-tools.ts'

const runtimes = closedAfterEach()

async function world(how: object = {}) {
  const { clock, store } = freshMemory()
  const stopped: string[] = []
  const began: string[] = []
  const slow = rerunTask('slow', async (_, ctx) => {
    began.push('slow')
    ctx.signal.addEventListener('abort', () => void stopped.push('slow'))
    await ctx.sleep('10s')
    const question = await ctx.ask({ text: 'All of it?', deadline: '1h' })
    return (await question.value).status
  })
  const expert = scriptedModel(
    [{ call: { name: 'spawn_background', input: { tool: 'slow', args: {}, ...how } } }, 'It is on its way.'],
    {
      name: 'expert',
    },
  )
  const boss = scriptedModel([{ call: { name: 'ask', input: { task: 'Begin it' } } }, 'Begun.'], { name: 'boss' })
  const ask = agent({ name: 'ask', description: 'd', model: expert })
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [slow, ask], models: [boss, expert] })
  runtimes.push(runtime)
  const session = runtime.session('s')
  const turn = session.turn({ model: boss, message: 'Go' })
  const ended = await after(turn.outcome, clock, 30_000, 1_000)
  expect(ended).toMatchObject({ value: { status: 'success', value: { text: 'Begun.' } } })
  const [row] = await store.documentsOf({ of: 'session-agent', tenant: 'default', session: 's', after: '', limit: 10 })
  return { clock, runtime, session, stopped, began, agentSession: runtime.session(row?.key ?? ''), expert }
}

// Ending a session cancels its open tasks by default, including those that its agents have started.
test('TASK-10 SESS-6: ending a session cancels the background tasks of its agents', async () => {
  const { clock, session, agentSession } = await world()
  expect((await agentSession.tasks.list()).length).toBe(1)
  expect(await session.end({ reason: 'The customer has left' })).toBe(true)
  await clock.advance('1m')
  expect((await agentSession.tasks.list()).map(({ state }) => state)).toEqual(['cancelled'])
})

test('TASK-10 CRON-2 SESS-6: schedules created by an agent start nothing after the session ended', async () => {
  const { clock, session, began, agentSession } = await world({
    schedule: { cron_expression: '*/5 * * * *', timezone: 'UTC' },
  })
  expect((await agentSession.schedules.list()).length).toBe(1)
  expect(await session.end({ reason: 'The customer has left' })).toBe(true)
  await clock.advance('1m')
  const before = began.length
  for (let n = 0; n < 12; n++) await clock.advance('5m')
  expect(began.length).toBe(before)
})

// The inbox of a session includes the requests of its agents.
test('POL-4 SESS-6: a question of a task started by an agent is in the inbox of the parent', async () => {
  const { clock, runtime } = await world()
  await clock.advance('1m')
  expect((await runtime.inbox()).length).toBe(1)
  expect((await runtime.inbox({ tenant: 'default', session: 's' })).length).toBe(1)
})
