import { agent, createRuntime, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

async function world(how: object = {}) {
  const { clock, store } = freshMemory()
  const stopped: string[] = []
  const began: string[] = []
  const slow = tool({
    name: 'slow',
    description: 'd',
    input,
    background: true,
    onCrash: 'rerun',
    async execute(_, ctx) {
      began.push('slow')
      ctx.signal.addEventListener('abort', () => void stopped.push('slow'))
      await ctx.sleep('10s')
      const question = await ctx.ask({ text: 'All of it?', deadline: '1h' })
      return (await question.value).status
    },
  })
  const expert = scriptedModel([{ call: { name: 'spawn_background', input: { tool: 'slow', args: {}, ...how } } }, 'It is on its way.'], {
    name: 'expert',
  })
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

// SPEC TASK-10: "Ending a session or parent applies cancel (default) or abandon to its tasks". background.md: "When a session ends, or the task that started others, their open tasks are cancelled".
test('TASK-10 SESS-6: when a session ends, what its agents have started in the background ends with it', async () => {
  const { clock, session, agentSession } = await world()
  expect((await agentSession.tasks.list()).length).toBe(1)
  expect(await session.end({ reason: 'The customer has left' })).toBe(true)
  await clock.advance('1m')
  expect((await agentSession.tasks.list()).map(({ state }) => state)).toEqual(['cancelled'])
})

test('TASK-10 CRON-2 SESS-6: nor does a schedule that an agent has made start anything once the session has ended', async () => {
  const { clock, session, began, agentSession } = await world({ schedule: { cron_expression: '*/5 * * * *', timezone: 'UTC' } })
  expect((await agentSession.schedules.list()).length).toBe(1)
  expect(await session.end({ reason: 'The customer has left' })).toBe(true)
  await clock.advance('1m')
  const before = began.length
  for (let n = 0; n < 12; n++) await clock.advance('5m')
  expect(began.length).toBe(before)
})

// docs/guide/turns.md: "What it asks of people is in the inbox of the session above it, too."
test('POL-4 SESS-6: what an agent has started in the background and asks of people is in the inbox of the session above it', async () => {
  const { clock, runtime } = await world()
  await clock.advance('1m')
  expect((await runtime.inbox()).length).toBe(1)
  expect((await runtime.inbox({ tenant: 'default', session: 's' })).length).toBe(1)
})
