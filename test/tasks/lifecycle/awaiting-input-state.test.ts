import { agent, createRuntime, type Tool, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach } from '../../kit/open-runtime.ts'
import { rerunTask } from '../../kit/simple-tools.ts'

const runtimes = closedAfterEach()
const input = { type: 'object' } as const
const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })

// The state `awaiting_input` and tasks.wait(id, { until: 'input' }) cover requests made by nested calls and agents.
for (const [what, work, args] of [
  [
    'its body calls a tool that needs approval',
    () => rerunTask('work', async (_, ctx) => (await ctx.call(pay, {})).status),
    {},
  ],
  [
    'its agent calls a tool that needs approval',
    () =>
      agent({
        name: 'work',
        description: 'd',
        model: scriptedModel([{ call: { name: 'pay' } }, 'ok'], { name: 'expert' }),
        tools: ['pay'],
      }),
    { task: 'Pay it' },
  ],
] as [string, () => Tool, object][])
  test(`TASK-2, SESS-6: a task is awaiting_input while ${what}`, async () => {
    const { clock, store } = freshMemory()
    const runtime = await createRuntime({ store, clock, logger: quiet, tools: [pay, work()] })
    runtimes.push(runtime)
    const session = runtime.session('s')
    const { id } = await session.tasks.start({ tool: 'work', input: args })
    await clock.advance(2_000)
    expect((await runtime.inbox({ tenant: 'default', session: 's' })).length).toBe(1)
    expect((await session.tasks.get(id))?.state).toBe('awaiting_input')
    expect(await after(session.tasks.wait(id, { until: 'input' }), clock, 10_000, 1_000)).toMatchObject({
      value: { state: 'awaiting_input' },
    })
  })
