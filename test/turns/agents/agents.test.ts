import { agent, createRuntime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { closedAfterEach, opening, replaceWorker, stores } from '../../kit/open-runtime.ts'
import { rerunTool } from '../../kit/simple-tools.ts'
import { ignoreOutcome } from '../../kit/wait-until.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

for (const [kind, fresh] of stores) {
  describe(`agents and ctx.complete on ${kind}`, () => {
    const open = opening(fresh)

    test('SESS-5 SESS-11: ctx.complete is recorded, paid for once and counted for its tool', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      let dies = true
      const asked = scriptedModel([({ last }) => `Short: ${last.length}`], {
        name: 'small',
        price: { input: 1_000_000, output: 0 },
      })
      const sums = rerunTool('sum_up', async (_, ctx) => {
        const { text, usage } = await ctx.complete({ prompt: 'A long text', model: 'small' })
        if (dies) await new Promise(() => {})
        return { text, cost: usage.cost }
      })
      const model = scriptedModel([{ call: { name: 'sum_up' } }, ({ last }) => last], { name: 'main' })
      const options = { clock, logger: quiet, tools: [sums], models: [model, asked] }
      const dying = mortal(shared)
      const first = await createRuntime({ ...options, store: dying.store })
      ignoreOutcome(first.session('s').turn({ model, message: 'Go', id: 't' }))
      await clock.advance(1_000)
      expect(asked.asked).toBe(1)
      dies = false
      const second = await replaceWorker(dying, clock, { ...options, store: shared }, runtimes)
      const session = second.session('s')
      expect(await after(session.turn({ model, message: 'Go', id: 't' }).outcome, clock)).toMatchObject({
        value: { value: { text: '{"text":"Short: 11","cost":3}' } },
      })
      expect(asked.asked).toBe(1)
      expect(await session.usage()).toMatchObject({
        total: { times: 3, cost: null },
        models: { main: { times: 2 }, small: { times: 1, cost: 3 } },
        tools: { sum_up: { times: 1, inputTokens: 3 } },
      })
    })

    test('SESS-6: an agent below the deepest level fails in words that its model can act on', async () => {
      const { clock, store } = fresh()
      const model = scriptedModel([{ call: { name: 'helper', input: { task: 'Go on' } } }, ({ last }) => last])
      const helper = agent({ name: 'helper', description: 'Helps', model: 'scripted' })
      const runtime = await createRuntime({ store, clock, logger: quiet, tools: [helper], models: [model] })
      runtimes.push(runtime)
      const ended = await after(runtime.session('s').turn({ model, message: 'Go' }).outcome, clock)
      expect(ended).toMatchObject({
        value: {
          value: {
            text: '[Tool execution failed]\nAgents are already nested 4 levels deep, which is the limit. Do this without another agent.',
          },
        },
      })
    })

    test('SESS-11 TOOL-3: a model named like an Object.prototype property has its own usage', async () => {
      const { clock, store } = fresh()
      const model = scriptedModel(['Yes'], { name: 'toString' })
      const asks = tool({
        name: 'asks',
        description: 'd',
        input,
        execute: async (_, ctx) => (await ctx.complete('Well?')).text,
      })
      const runtime = await createRuntime({ store, clock, logger: quiet, tools: [asks], models: [model] })
      runtimes.push(runtime)
      const session = runtime.session('s')
      expect(await after(session.run([{ id: 'a', name: 'asks' }]), clock)).toMatchObject({ value: [{ value: 'Yes' }] })
      const { total, models, tools } = await session.usage()
      expect([total, ...Object.values(models), ...Object.values(tools)].map(({ times }) => times)).toEqual([1, 1, 1])
      expect(total.inputTokens).toBeGreaterThan(0)
    })

    test('SESS-6: an agent has its own session; its approval requests are in the parent inbox', async () => {
      const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
      const expert = scriptedModel([{ call: { name: 'pay' } }, ({ last }) => `Done: ${last}`], { name: 'expert' })
      const ask = agent({
        name: 'ask_expert',
        description: 'An expert',
        model: expert,
        instructions: 'You pay.',
        tools: ['pay'],
      })
      const model = scriptedModel([{ call: { name: 'ask_expert', input: { task: 'Pay A1' } } }, ({ last }) => last], {
        name: 'main',
      })
      const { runtime, clock } = await open({ tools: [pay, ask] })
      const session = runtime.session('s')
      const turn = session.turn({ model, message: 'Go', tools: ['ask_expert'] })
      await clock.advance(1_000)
      const [item] = await runtime.inbox({ tenant: 'default', session: 's' })
      expect(item).toMatchObject({ tool: 'pay', session: expect.stringMatching(/^agent:/) })
      expect(await runtime.inbox({ tenant: 'default', session: 'other' })).toEqual([])
      await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
      expect(await after(turn.outcome, clock)).toMatchObject({ value: { value: { text: 'Done: paid' } } })
      expect(expert.requests[0]).toMatchObject({
        instructions: 'You pay.',
        messages: [{ role: 'user', parts: [{ text: 'Pay A1' }] }],
      })
      expect(expert.requests[0]?.tools.map(({ name }) => name)).toEqual(['pay'])
      expect((await session.messages.list()).length).toBe(4)
    })

    test('SESS-6 TIME-3: an agent is cancelled with the turn that called it', async () => {
      const silent = scriptedModel(['x'], {
        name: 'silent',
        wait: (_, signal) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
      })
      const ask = agent({ name: 'ask', description: 'd', model: silent })
      const model = scriptedModel([{ call: { name: 'ask', input: { task: 'x' } } }], { name: 'main' })
      const { runtime, clock, store } = await open({ tools: [ask] })
      const turn = runtime.session('s').turn({ model, message: 'Go' })
      await clock.advance(1_000)
      expect(silent.asked).toBe(1)
      await turn.cancel('Enough')
      expect(await after(turn.outcome, clock, 5_000, 100)).toMatchObject({ value: { status: 'cancelled' } })
      await clock.advance(5_000)
      expect(await store.unsettled({ after: '', limit: 5 })).toEqual([])
    })

    test('SESS-6 SESS-11: an agent inherits capabilities of its session, which counts its usage', async () => {
      const seen: string[] = []
      const guard = { name: 'guard', before: ({ tool: called }: { tool: string }) => void seen.push(called) }
      const work = tool({ name: 'work', description: 'd', input, hints: { readOnly: true }, execute: () => 'x' })
      const expert = scriptedModel([{ call: { name: 'work' } }, 'Done'], { name: 'expert' })
      const ask = agent({ name: 'ask', description: 'd', model: expert })
      const model = scriptedModel([{ call: { name: 'ask', input: { task: 'x' } } }, 'ok'], { name: 'main' })
      const { runtime, clock } = await open({ tools: [work, ask], capabilities: [{ name: 'watched', hooks: [guard] }] })
      const session = runtime.session('s', { capabilities: ['watched'] })
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      expect(seen).toEqual(['ask', 'work'])
      expect(await session.usage()).toMatchObject({
        total: { times: 4 },
        models: { main: { times: 2 }, expert: { times: 2 } },
      })
    })

    test('TASK-10 TIME-3: a turn is cancelled when its session ends', async () => {
      const silent = scriptedModel(['x'], {
        name: 'silent',
        wait: (_, signal) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
      })
      const { runtime, clock, store } = await open()
      const turn = runtime.session('s').turn({ model: silent, message: 'Go' })
      await clock.advance(100)
      await runtime.session('s').end({ reason: 'The customer has left' })
      expect(await after(turn.outcome, clock, 5_000, 100)).toMatchObject({
        value: { status: 'cancelled', cancellation: { message: 'The customer has left' } },
      })
      await clock.advance(1_000)
      expect(await store.unsettled({ after: '', limit: 5 })).toEqual([])
    })

    test('SESS-6: recursive agents stop at a depth limit', async () => {
      const again = scriptedModel([{ call: { name: 'ask', input: { task: 'again' } } }, ({ last }) => last], {
        name: 'again',
      })
      const ask = agent({ name: 'ask', description: 'd', model: again })
      const { runtime, clock } = await open({ tools: [ask] })
      const turn = runtime.session('s').turn({ model: again, message: 'Go' })
      const ended = await after(turn.outcome, clock)
      expect(ended).toMatchObject({ value: { status: 'success' } })
      expect(again.asked).toBeLessThan(12)
    })

    test('SESS-6: a background agent completes after its worker died', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const work = tool({ name: 'work', description: 'd', input, hints: { readOnly: true }, execute: () => '42' })
      const expert = scriptedModel([{ call: { name: 'work' } }, ({ last }) => `It is ${last}`], { name: 'expert' })
      const ask = agent({ name: 'ask', description: 'd', model: expert })
      const model = scriptedModel(
        [{ call: { name: 'spawn_background', input: { tool: 'ask', args: { task: 'x' } } } }, 'Started'],
        {
          name: 'main',
        },
      )
      const options = { clock, logger: quiet, tools: [work, ask], models: [model, expert] }
      const dying = mortal(shared)
      const first = await createRuntime({ ...options, store: dying.store })
      expect(await after(first.session('s').turn({ model, message: 'Go' }).outcome, clock, 1_000, 1)).toMatchObject({
        value: { status: 'success' },
      })
      dying.die()
      const second = await createRuntime({ ...options, store: shared })
      runtimes.push(second)
      await clock.advance('40s')
      const session = second.session('s')
      const [task] = await session.tasks.list()
      expect(await after(session.tasks.wait(task?.id ?? ''), clock)).toMatchObject({
        value: { state: 'succeeded', summary: 'It is 42' },
      })
    })
  })
}

test('SESS-6: agent() refuses a value that is not a model, and an agent without a model', () => {
  const words = { name: 'helper', description: 'Helps' }
  expect(() => agent({ ...words, model: 5 as never })).toThrow(expect.objectContaining({ code: 'model_invalid' }))
  expect(() => agent(words)).toThrow("Agent 'helper' has no model. Pass `model`, or a `frame` that has one.")
})

test('SESS-6: an agent whose frame has no model fails usefully for the model and logs the reason', async () => {
  const errors: unknown[] = []
  const logger = { ...quiet, error: (message: string, about?: object) => void errors.push([message, about]) }
  const helper = agent({ name: 'helper', description: 'Helps', frame: 'bare' })
  const model = scriptedModel([{ call: { name: 'helper', input: { task: 'Go on' } } }, ({ last }) => last])
  const runtime = await createRuntime({
    store: 'memory:',
    logger,
    tools: [helper],
    models: [model],
    frames: [{ name: 'bare' }],
  })
  runtimes.push(runtime)
  const ended = await runtime.session('s').turn({ model, message: 'Go' }).outcome
  expect(ended).toMatchObject({
    value: { text: expect.stringContaining("The agent 'helper' is not set up correctly and cannot run.") as string },
  })
  const about = { agent: 'helper', code: 'turn_invalid', reason: expect.stringContaining('no model') as string }
  expect(errors).toEqual([['An agent cannot run because its definition is wrong', expect.objectContaining(about)]])
})
