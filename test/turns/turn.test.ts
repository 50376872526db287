import { createRuntime, type Runtime, tool } from 'pawl'
import { type Line, scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { opening, closedAfterEach, stores } from '../kit/open-runtime.ts'
import { readOnlyTool } from '../kit/simple-tools.ts'
import { keepOpen } from '../kit/stores/killable-store.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

for (const [kind, fresh] of stores) {
  describe(`basic turns on ${kind}`, () => {
    const open = opening(fresh)

    test('SESS-1: a model calls tools, reads their results and answers', async () => {
      let looked = 0
      const lookUp = readOnlyTool('look_up', { description: 'Looks an order up' }, ({ order }) => {
        looked++
        return { order: order ?? null, cents: 4200 }
      })
      const script: Line[] = [
        {
          say: 'Let me see.',
          call: [
            { name: 'look_up', input: { order: 'A1' } },
            { name: 'look_up', input: { order: 'A2' } },
          ],
        },
        ({ last }) => `It was ${last.includes('4200') ? '42.00' : 'nothing'}.`,
      ]
      const model = scriptedModel(script, { price: { input: 1, output: 2 } })
      const { runtime, clock } = await open({ tools: [lookUp] })
      const session = runtime.session('s')
      const turn = session.turn({ model, message: 'How much was A1?', instructions: 'Be brief.' })
      const ended = await after(turn.outcome, clock)
      expect(ended).toMatchObject({
        value: {
          status: 'success',
          turn: turn.id,
          value: { end: 'answer', text: 'It was 42.00.', steps: 2, usage: { inputTokens: expect.any(Number) } },
        },
      })
      expect(looked).toBe(2)
      expect(model.asked).toBe(2)
      expect(model.requests[1]).toMatchObject({
        instructions: 'Be brief.',
        messages: [
          { role: 'user', parts: [{ text: 'How much was A1?' }] },
          {
            role: 'assistant',
            parts: [{ type: 'text' }, { type: 'call', id: 'call_1_1' }, { type: 'call', id: 'call_1_2' }],
          },
          {
            role: 'tool',
            results: [
              { callId: 'call_1_1', status: 'success' },
              { callId: 'call_1_2', status: 'success' },
            ],
          },
        ],
      })
      expect((await session.messages.list()).map(({ number, message }) => `${number} ${message.role}`)).toEqual([
        '1 user',
        '2 assistant',
        '3 tool',
        '4 assistant',
      ])
      // The next turn continues the conversation.
      const again = session.turn({ model: scriptedModel(['Yes.'], { name: 'other' }), message: 'Sure?' })
      expect(await after(again.outcome, clock)).toMatchObject({ value: { value: { text: 'Yes.', steps: 1 } } })
    })

    test('TOOL-4: a turn keeps the toolset it started with, and the next one gets the current one', async () => {
      const gate = Promise.withResolvers<void>()
      const first = tool({ name: 'first', description: 'd', input, execute: () => gate.promise })
      const later = tool({ name: 'later', description: 'd', input, execute: () => 'x' })
      const { runtime, clock } = await open({ tools: [first] })
      const model = scriptedModel([{ call: { name: 'first' } }, 'a', 'b'])
      const turn = runtime.session('s').turn({ model, message: 'Go' })
      await clock.advance(100)
      runtime.tools.add(later)
      runtime.tools.remove('first')
      gate.resolve()
      await after(turn.outcome, clock)
      await after(runtime.session('s').turn({ model, message: 'Go' }).outcome, clock)
      expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
        ['first'],
        ['first'],
        ['later'],
      ])
    })

    test('SESS-4: turns of a session run one at a time across two workers', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      let speaking = 0
      let most = 0
      const model = scriptedModel([{ when: /./, say: 'ok' }], {
        name: 'm',
        async wait() {
          most = Math.max(most, ++speaking)
          for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
          speaking--
        },
      })
      const two = [0, 1].map(() => createRuntime({ store: shared, clock, logger: quiet, models: [model] }))
      const workers = await Promise.all(two)
      runtimes.push(...workers)
      const turns = Array.from(
        { length: 10 },
        (_, n) => (workers[n % 2] as Runtime).session('s').turn({ model: 'm', message: `m${n}` }).outcome,
      )
      const ended = await after(Promise.all(turns), clock)
      expect(ended).toMatchObject({ value: Array.from({ length: 10 }, () => ({ status: 'success' })) })
      expect(most).toBe(1)
      const roles = (await (workers[0] as Runtime).session('s').messages.list()).map(({ message }) => message.role)
      expect(roles.join(' ')).toBe(Array.from({ length: 10 }, () => 'user assistant').join(' '))
    })

    test('SESS-4: a second turn of a session waits for the first', async () => {
      const open_ = Promise.withResolvers<void>()
      const slow = scriptedModel(['one'], { name: 'slow', wait: () => open_.promise })
      const { runtime, clock } = await open()
      const session = runtime.session('s')
      const first = session.turn({ model: slow, message: 'a' })
      const second = session.turn({ model: scriptedModel([({ answers }) => `${answers} before`]), message: 'b' })
      await clock.advance(1_000)
      expect((await session.messages.list()).length).toBe(0)
      open_.resolve()
      expect(await after(first.outcome, clock)).toMatchObject({ value: { value: { text: 'one' } } })
      expect(await after(second.outcome, clock)).toMatchObject({ value: { value: { text: '1 before' } } })
    })
  })
}
