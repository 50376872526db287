import { agent, createRuntime, type Runtime, type Tool, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'

const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})
const input = { type: 'object' } as const
const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })

// docs/guide/background.md: "`awaiting_input`: it waits for a person (an approval, a question, a connection: see the inbox)"; `tasks.wait(id, { until: 'input' })`.
for (const [what, work, args] of [
  [
    'its body calls a tool that asks',
    () =>
      tool({
        name: 'work',
        description: 'd',
        input,
        background: true,
        onCrash: 'rerun',
        execute: async (_, ctx) => (await ctx.call(pay, {})).status,
      }),
    {},
  ],
  [
    'its agent asks',
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
  test(`TASK-2 SESS-6: a task that waits for a person says so: ${what}`, async () => {
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
