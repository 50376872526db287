import { agent, createRuntime, result, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach, replaceWorker, stores } from '../../kit/open-runtime.ts'
import { hang, readOnlyTool, rerunTool, simpleTool } from '../../kit/simple-tools.ts'
import { ignoreOutcome } from '../../kit/wait-until.ts'

const input = { type: 'object' } as const
const price = { input: 1_000_000, output: 0 }
const runtimes = closedAfterEach()

for (const [kind, fresh] of stores) {
  describe(`turns whose worker died, on ${kind}`, () => {
    const ground = () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      return { clock, shared, dying: mortal(shared) }
    }
    const hand = rerunTool('hand_over', () =>
      result('ok', { control: { switchFrame: { frame: 'specialist', task: 'Sell it' } } }),
    )

    test('SESS-6 SESS-1: recovery resumes another frame with its tools and its model', async () => {
      const { clock, shared, dying } = ground()
      let dies = true
      let dangerous = 0
      const danger = readOnlyTool('danger', () => void dangerous++)
      const look = rerunTool('look', { hints: { readOnly: true } }, () => (dies ? hang() : 'seen'))
      const clerk = scriptedModel([{ when: 'Go', call: { name: 'hand_over' } }, 'The clerk speaks'], { name: 'clerk' })
      const specialist = scriptedModel([{ call: { name: 'look' } }, 'The specialist speaks'], { name: 'specialist' })
      const frames = [{ name: 'specialist', model: specialist, instructions: 'You know all kettles.', tools: ['look'] }]
      const options = { clock, logger: quiet, tools: [hand, danger, look], models: [clerk, specialist], frames }
      const first = await createRuntime({ ...options, store: dying.store })
      ignoreOutcome(first.session('s').turn({ model: clerk, message: 'Go', id: 't', tools: ['hand_over', 'danger'] }))
      await clock.advance(1_000)
      expect(specialist.asked).toBe(1)
      dies = false
      const second = await replaceWorker(dying, clock, { ...options, store: shared }, runtimes)
      const turn = second.session('s').turn({ model: clerk, message: 'Go', id: 't', tools: ['hand_over', 'danger'] })
      expect(await after(turn.outcome, clock)).toMatchObject({
        value: { status: 'success', value: { text: 'The specialist speaks' } },
      })
      expect(specialist.requests.at(-1)).toMatchObject({
        instructions: 'You know all kettles.',
        tools: [{ name: 'look' }],
      })
    })

    test('SESS-11 SESS-10: usage from before a summary is still counted after recovery', async () => {
      const { clock, shared, dying } = ground()
      let dies = true
      const look = tool({ name: 'look', description: 'd', input, onCrash: 'rerun', execute: () => 'x'.repeat(3_000) })
      const last = tool({
        name: 'last',
        description: 'd',
        input,
        onCrash: 'rerun',
        execute: () => (dies ? hang() : 'seen'),
      })
      const usage = { inputTokens: 1, outputTokens: 0 }
      let steps = 0
      const model = scriptedModel(
        [
          { when: 'Assistant:', say: 'All was looked at', usage },
          { when: 'seen', say: 'Done', usage },
          { when: /Go|xxx/, call: { name: 'look' }, usage },
        ],
        { name: 'm', price },
      )
      const counting = {
        ...model,
        generate: async (call: Parameters<typeof model.generate>[0]) => {
          if (call.request.tools.length > 0 && ++steps === 3)
            return {
              parts: [{ type: 'call' as const, id: 'l', name: 'last', input: '{}' }],
              finish: 'calls' as const,
              usage: { inputTokens: 1, outputTokens: 0, cachedTokens: 0, reasoningTokens: 0 },
            }
          return model.generate(call)
        },
      }
      const options = { clock, logger: quiet, tools: [look, last], models: [counting] }
      const first = await createRuntime({ ...options, store: dying.store })
      const ask = { model: counting, message: 'Go', id: 't', limits: { historyTokens: 1_200 } }
      ignoreOutcome(first.session('s').turn(ask))
      await clock.advance(1_000)
      const paid = (await first.session('s').messages.list()).reduce(
        (sum, { usage: of }) => sum + (of?.inputTokens ?? 0),
        0,
      )
      expect(steps).toBe(3)
      dies = false
      const second = await replaceWorker(dying, clock, { ...options, store: shared }, runtimes)
      const ended = await after(second.session('s').turn(ask).outcome, clock)
      const messages = await second.session('s').messages.list()
      expect(messages.some(({ message }) => message.role === 'summary')).toBe(true)
      const all = messages.reduce((sum, { usage: of }) => sum + (of?.inputTokens ?? 0), 0)
      expect(all).toBeGreaterThanOrEqual(paid)
      expect(ended).toMatchObject({ value: { status: 'success', value: { usage: { inputTokens: all } } } })
    })

    test('TIME-3: after recovery a cancelled turn also cancels a call behind a placeholder', async () => {
      const { clock, shared, dying } = ground()
      const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
      const look = rerunTool('look', { hints: { readOnly: true } }, () => hang())
      const model = scriptedModel([{ call: { name: 'pay' } }, { call: { name: 'look' } }], { name: 'm' })
      const options = { clock, logger: quiet, tools: [pay, look], models: [model] }
      const first = await createRuntime({ ...options, store: dying.store })
      const ask = { model, message: 'Go', id: 't' }
      ignoreOutcome(first.session('s').turn(ask))
      await clock.advance(1_000)
      await first.session('s').messages.send('What now?')
      await clock.advance(1_000)
      expect(model.asked).toBe(2)
      const second = await replaceWorker(dying, clock, { ...options, store: shared }, runtimes)
      const turn = second.session('s').turn(ask)
      await clock.advance(1_000)
      expect(await second.inbox()).toHaveLength(1)
      await turn.cancel('Enough')
      expect(await after(turn.outcome, clock)).toMatchObject({ value: { status: 'cancelled' } })
      await clock.advance(1_000)
      expect(await second.inbox()).toHaveLength(0)
    })

    test('TIME-3: cancelling a turn without a live worker cancels its calls and approval requests', async () => {
      const { clock, shared, dying } = ground()
      let paid = 0
      const pay = simpleTool('pay', { hints: { destructive: true } }, () => void paid++)
      const model = scriptedModel([{ call: { name: 'pay' } }, 'Done'], { name: 'm' })
      const options = { clock, logger: quiet, tools: [pay], models: [model] }
      const first = await createRuntime({ ...options, store: dying.store })
      const ask = { model, message: 'Go', id: 't' }
      ignoreOutcome(first.session('s').turn(ask))
      await clock.advance(1_000)
      dying.die()
      const door = await createRuntime({ ...options, store: shared, worker: false })
      runtimes.push(door)
      expect(await door.session('s').turn(ask).cancel('Enough')).toBe(true)
      await clock.advance('40s')
      const second = await createRuntime({ ...options, store: shared })
      runtimes.push(second)
      expect(await after(second.session('s').turn(ask).outcome, clock)).toMatchObject({
        value: { status: 'cancelled' },
      })
      await clock.advance('1m')
      for (const { id } of await second.inbox()) await second.decide(id, { approve: true, by: 'user:bea' })
      await clock.advance('1m')
      expect(paid).toBe(0)
    })

    test('SESS-6 TIME-3: cancelling a turn without a live worker cancels its agent', async () => {
      const { clock, shared, dying } = ground()
      let paid = 0
      const pay = simpleTool('pay', { hints: { destructive: true } }, () => void paid++)
      const expert = scriptedModel([{ call: { name: 'pay' } }, 'Done'], { name: 'expert' })
      const ask = agent({ name: 'ask', description: 'd', model: expert, tools: ['pay'] })
      const model = scriptedModel([{ call: { name: 'ask', input: { task: 'x' } } }, 'Done'], { name: 'main' })
      const options = { clock, logger: quiet, tools: [ask, pay], models: [model, expert] }
      const first = await createRuntime({ ...options, store: dying.store })
      const asked = { model, message: 'Go', id: 't', tools: ['ask'] }
      ignoreOutcome(first.session('s').turn(asked))
      await clock.advance(1_000)
      expect(await first.inbox()).toHaveLength(1)
      dying.die()
      const door = await createRuntime({ ...options, store: shared, worker: false })
      runtimes.push(door)
      const turn = door.session('s').turn(asked)
      await turn.cancel('Enough')
      await clock.advance('40s')
      const second = await createRuntime({ ...options, store: shared })
      runtimes.push(second)
      expect(await after(second.session('s').turn(asked).outcome, clock)).toMatchObject({
        value: { status: 'cancelled' },
      })
      await clock.advance('2m')
      expect(await shared.unsettled({ after: '', limit: 9 })).toEqual([])
    })

    test('SESS-6 TIME-3: cancelling a direct call without a live worker cancels its agent', async () => {
      const { clock, shared, dying } = ground()
      const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
      const expert = scriptedModel([{ call: { name: 'pay' } }, 'Done'], { name: 'expert' })
      const ask = agent({ name: 'ask', description: 'd', model: expert, tools: ['pay'] })
      const outer = rerunTool('outer', (_, ctx) => ctx.call(ask, { task: 'x' }))
      const options = { clock, logger: quiet, tools: [ask, pay, outer], models: [expert] }
      const first = await createRuntime({ ...options, store: dying.store })
      const calls = [
        { id: 'a', name: 'ask', input: { task: 'x' } },
        { id: 'b', name: 'outer' },
      ]
      first
        .session('s')
        .run(calls)
        .catch(() => {})
      await clock.advance(1_000)
      dying.die()
      const door = await createRuntime({ ...options, store: shared, worker: false })
      runtimes.push(door)
      expect((await door.inbox()).length).toBeGreaterThan(0)
      await door.session('s').cancel('Enough')
      await clock.advance('40s')
      const second = await createRuntime({ ...options, store: shared })
      runtimes.push(second)
      const ended = await after(second.session('s').run(calls), clock)
      expect(ended).toMatchObject({ value: [{ status: 'cancelled' }, { status: 'cancelled' }] })
      await clock.advance('2m')
      expect(await shared.unsettled({ after: '', limit: 9 })).toEqual([])
      expect(await second.inbox()).toEqual([])
    })

    test('SESS-1 DUR-1: a turn whose final write failed loses no message', async () => {
      const { clock, shared } = ground()
      let fails = 0
      const failing: Store = {
        ...shared,
        commit: (change) => {
          if (
            change.updateCall?.progress?.state === 'settled' &&
            change.documents?.some(({ of }) => of === 'conversation') &&
            fails++ === 0
          )
            return Promise.reject(new Error('disk I/O error'))
          return shared.commit(change)
        },
        write: (change, heard, how) => {
          const updated = change.updateCall
          if (
            updated?.progress?.state === 'settled' &&
            change.documents?.some(({ of }) => of === 'conversation') &&
            fails++ === 0
          )
            return queueMicrotask(() => heard({ failed: new Error('disk I/O error') }))
          shared.write(change, heard, how)
        },
      }
      const done = rerunTool('done', () => result('ok', { control: { finish: 1 } }))
      const model = scriptedModel([{ call: { name: 'done' } }, 'x'], { name: 'm' })
      const runtime = await createRuntime({ store: failing, clock, logger: quiet, tools: [done], models: [model] })
      runtimes.push(runtime)
      const session = runtime.session('s')
      session.turn({ model, message: 'Go', id: 't' }).outcome.catch(() => {})
      await clock.advance('5m')
      expect(fails).toBeGreaterThan(0)
      expect(await after(session.turn({ model, message: 'Go', id: 't' }).outcome, clock)).toMatchObject({
        value: { status: 'success' },
      })
      expect((await session.messages.list()).map(({ number, message }) => `${number} ${message.role}`)).toEqual([
        '1 user',
        '2 assistant',
        '3 tool',
      ])
    })
  })
}
