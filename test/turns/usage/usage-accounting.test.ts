import { agent, createRuntime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { dieAfter, keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { problemsIn } from '../../kit/models/conversation-rules.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { opening, stores } from '../../kit/open-runtime.ts'
import { rerunTool } from '../../kit/simple-tools.ts'

const open = opening()
const input = { type: 'object' } as const
const price = { input: 1_000_000, output: 0 }

for (const [kind, fresh] of stores)
  describe(`usage on ${kind}`, () => {
    test('SESS-11: the usage of a running turn is included in its session, and counted once', async () => {
      const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
      const usage = { inputTokens: 7, outputTokens: 1 }
      const model = scriptedModel(
        [
          { call: { name: 'pay' }, usage },
          { say: 'ok', usage },
          { say: 'again', usage },
        ],
        { name: 'm', price },
      )
      const { runtime, clock } = await open({ tools: [pay], models: [model] }, fresh)
      const session = runtime.session('s')
      const turn = session.turn({ model, message: 'Go' })
      await clock.advance(1_000)
      expect((await session.usage()).total).toMatchObject({ times: 1, cost: 7 })
      const [item] = await runtime.inbox()
      await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
      await after(turn.outcome, clock)
      expect((await session.usage()).total).toMatchObject({ times: 2, cost: 14 })
      await after(session.turn({ model, message: 'And?' }).outcome, clock)
      expect((await session.usage()).total).toMatchObject({ times: 3, cost: 21 })
    })

    test('SESS-11 SESS-6: the usage of a running agent is included in the parent session', async () => {
      const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
      const expert = scriptedModel([{ call: { name: 'pay' }, usage: { inputTokens: 3 } }, 'ok'], {
        name: 'expert',
        price,
      })
      const model = scriptedModel([{ call: { name: 'ask', input: { task: 'x' } }, usage: { inputTokens: 5 } }, 'ok'], {
        name: 'm',
        price,
      })
      const { runtime, clock } = await open(
        { tools: [pay, agent({ name: 'ask', description: 'd', model: expert })], models: [model] },
        fresh,
      )
      const turn = runtime.session('s').turn({ model, message: 'Go' })
      await clock.advance(1_000)
      expect((await runtime.session('s').usage()).models).toMatchObject({
        m: { times: 1, cost: 5 },
        expert: { times: 1, cost: 3 },
      })
      await turn.cancel()
      await after(turn.outcome, clock)
      expect((await runtime.session('s').usage()).total).toMatchObject({ times: 2, cost: 8 })
    })

    test('SESS-5 SESS-11: the usage of ctx.complete is reported with its call', async () => {
      const model = scriptedModel([{ when: /sum/, say: 'short', usage: { inputTokens: 5 } }], { name: 'm', price })
      const sum = rerunTool('sum', async (_, ctx) => {
        await ctx.complete('sum one')
        return (await ctx.complete({ prompt: 'sum two', name: 'two' })).text
      })
      const look = tool({ name: 'look', description: 'd', input, hints: { readOnly: true }, execute: () => 'x' })
      const { runtime, clock } = await open({ tools: [sum, look], models: [model] }, fresh)
      const session = runtime.session('s')
      const names = ['sum', 'sum', 'look']
      await after(session.run(names.map((name, at) => ({ id: `c${at}`, name }))), clock)
      expect((await session.calls.get('c0'))?.usage).toMatchObject({ times: 2, inputTokens: 10, cost: 10 })
      expect((await session.calls.get('c1'))?.usage).toMatchObject({ times: 2, cost: 10 })
      expect((await session.calls.get('c2'))?.usage).toBe(null)
      expect((await session.usage()).total).toMatchObject({ times: 4, cost: 20 })
    })

    test('SESS-10 SESS-11: a summary is paid for and counted once, even if its worker then dies', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const dying = mortal(shared)
      const model = scriptedModel(
        [
          { when: 'User:', say: 'Summary', usage: { inputTokens: 100 } },
          { when: /./s, say: 'ok', usage: { inputTokens: 10 } },
        ],
        { name: 'm' },
      )
      const firstStore = dieAfter(dying, (change) =>
        change.documents?.some(({ value }) => value?.includes('"role":"summary"')),
      )
      const options = { clock, logger: quiet, models: [model] }
      const first = await createRuntime({ ...options, store: firstStore })
      const said = (n: number) => ({
        model: 'm',
        id: `t${n}`,
        message: 'x'.repeat(600),
        limits: { historyTokens: 500 },
      })
      for (let n = 0; n < 5; n++) {
        const t = first.session('s').turn(said(n))
        if ((await after(t.outcome, clock, 20_000, 1_000)) === 'hangs') break
      }
      const second = await createRuntime({ ...options, store: shared })
      await clock.advance('2m')
      for (let n = 0; n < 5; n++) await after(second.session('s').turn(said(n)).outcome, clock)
      const sums = model.requests.filter(({ instructions }) => instructions?.startsWith('You sum up'))
      const { total } = await second.session('s').usage()
      const list = await second.session('s').messages.list()
      await second.close({ grace: 0 })
      expect(total.inputTokens).toBe(sums.length * 100 + 50)
      expect(list.filter(({ message }) => message.role === 'summary').length).toBe(sums.length)
      for (const { messages } of model.requests) expect(problemsIn(messages)).toEqual([])
    })
  })
