import { createRuntime, type Model, ModelFailure, result, tool, type Runtime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { Change, Store } from '../../src/store/store.ts'
import { dieAfter, keepOpen, mortal } from '../kit/stores/killable-store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { opening, closedAfterEach, stores } from '../kit/open-runtime.ts'
import { hang, simpleTool } from '../kit/simple-tools.ts'
import { ignoreOutcome } from '../kit/wait-until.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'

const input = { type: 'object' } as const
const price = { input: 1_000_000, output: 0 }
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
const runtimes = closedAfterEach()

for (const [kind, fresh] of stores) {
  describe(`ends of turns on ${kind}`, () => {
    const open = opening(fresh)
    const look = tool({ name: 'look', description: 'd', input, hints: { readOnly: true }, execute: () => 'seen' })

    test('SESS-11: usage is recorded although the turn is cancelled during the next model call', async () => {
      const model = scriptedModel([{ call: { name: 'look' }, usage: { inputTokens: 5 } }, 'x'], {
        price,
        wait: ({ answers }, signal) => (answers === 0 ? Promise.resolve() : untilAborted(signal)),
      })
      const { runtime, clock } = await open({ tools: [look] })
      const session = runtime.session('s')
      const turn = session.turn({ model, message: 'Go' })
      await clock.advance(1_000)
      expect(model.asked).toBe(2)
      await turn.cancel()
      expect(await after(turn.outcome, clock)).toMatchObject({ value: { status: 'cancelled' } })
      expect(await session.usage()).toMatchObject({ total: { inputTokens: 5, cost: 5, times: 1 } })
    })

    test('SESS-11: after a handover the usage of each model is recorded separately', async () => {
      const hand = simpleTool('hand_over', () =>
        result('ok', { control: { switchFrame: { frame: 'other', task: 'Go on' } } }),
      )
      const clerk = scriptedModel([{ call: { name: 'hand_over' }, usage: { inputTokens: 5 } }], {
        name: 'clerk',
        price,
      })
      const expert = scriptedModel([{ say: 'Done', usage: { inputTokens: 7 } }], { name: 'expert', price })
      const { runtime, clock } = await open({
        tools: [hand],
        models: [clerk],
        frames: [{ name: 'other', model: expert }],
      })
      const session = runtime.session('s')
      expect(await after(session.turn({ model: clerk, message: 'Go' }).outcome, clock)).toMatchObject({
        value: { status: 'success' },
      })
      expect((await session.usage()).models).toMatchObject({
        clerk: { inputTokens: 5, times: 1 },
        expert: { inputTokens: 7, times: 1 },
      })
    })

    test('TIME-3: cancel() ends a turn whose model ignores the abort signal', async () => {
      const deaf: Model = { name: 'deaf', generate: hang }
      const { runtime, clock } = await open()
      const turn = runtime.session('s').turn({ model: deaf, message: 'Go' })
      await clock.advance(1_000)
      await turn.cancel('Enough')
      expect(await after(turn.outcome, clock)).toMatchObject({ value: { status: 'cancelled' } })
    })

    test('SESS-1: limits.time ends a turn whose model ignores the signal and frees the session', async () => {
      const deaf: Model = { name: 'deaf', generate: hang }
      const { runtime, clock } = await open()
      const session = runtime.session('s')
      const turn = session.turn({ model: deaf, message: 'Go', limits: { time: '1m' } })
      expect(await after(turn.outcome, clock)).toMatchObject({
        value: { status: 'failure', failure: { code: 'turn_timeout' } },
      })
      expect(
        await after(session.turn({ model: scriptedModel(['Hello']), message: 'Hi' }).outcome, clock),
      ).toMatchObject({
        value: { status: 'success' },
      })
    })

    test('SESS-1: limits.time also applies while a turn waits for the previous one', async () => {
      const slow = scriptedModel(['x'], { name: 'slow', wait: (_, signal) => untilAborted(signal) })
      const { runtime, clock } = await open()
      const session = runtime.session('s')
      session.turn({ model: slow, message: 'a' })
      const second = session.turn({ model: scriptedModel(['y']), message: 'b', limits: { time: '1m' } })
      expect(await after(second.outcome, clock)).toMatchObject({
        value: { status: 'failure', failure: { code: 'turn_timeout' } },
      })
    })

    test('SESS-10 SESS-2: a rejected summary request ends the turn as a failure of the model', async () => {
      const model: Model = {
        name: 'm',
        async generate({ request }) {
          if (request.instructions?.startsWith('You sum up')) throw new ModelFailure('HTTP 400')
          return {
            parts: [{ type: 'text', text: 'word '.repeat(500) }],
            finish: 'stop',
            usage: { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 },
          }
        },
      }
      const { runtime, clock } = await open()
      const session = runtime.session('s')
      await after(session.turn({ model, message: 'a' }).outcome, clock)
      expect(
        await after(session.turn({ model, message: 'b', limits: { historyTokens: 200 } }).outcome, clock),
      ).toMatchObject({
        value: { status: 'failure', failure: { code: 'model_failed', class: 'external' } },
      })
    })

    test('SESS-4: a user message during the last step does not fail a turn that has its answer', async () => {
      const gate = Promise.withResolvers<void>()
      const model = scriptedModel(['The answer'], { wait: () => gate.promise })
      const { runtime, clock } = await open()
      const session = runtime.session('s')
      const turn = session.turn({ model, message: 'Go', limits: { steps: 1 } })
      await clock.advance(1_000)
      await session.messages.send('Thank you')
      gate.resolve()
      expect(await after(turn.outcome, clock)).toMatchObject({
        value: { status: 'success', value: { text: 'The answer' } },
      })
    })

    /** A worker without the model of the open turn `old`. */
    const openWithoutModel = async (): Promise<{ clock: ManualClock; shared: Store; second: Runtime }> => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const old = scriptedModel(['x'], { name: 'old', wait: (_, signal) => untilAborted(signal) })
      const first = await createRuntime({ store: shared, clock, logger: quiet })
      ignoreOutcome(first.session('s').turn({ model: old, message: 'a', id: 'old' }))
      await clock.advance(1_000)
      await first.close({ grace: 0 })
      await clock.advance('40s')
      const second = await createRuntime({ store: shared, clock, logger: quiet })
      runtimes.push(second)
      return { clock, shared, second }
    }

    test('SESS-4: cancelling a turn unblocks its session even if no worker has the model', async () => {
      const { clock, shared, second } = await openWithoutModel()
      const session = second.session('s')
      const turn = session.turn({ model: scriptedModel(['Hello'], { name: 'new' }), message: 'b' })
      await clock.advance('1m')
      const [stuck] = await shared.unsettled({ after: '', limit: 1 })
      expect(stuck?.tool).toBe('pawl:turn:old')
      await session.cancel('Enough')
      expect(await after(turn.outcome, clock)).toMatchObject({
        value: { status: expect.stringMatching(/success|cancelled/) },
      })
      const third = session.turn({ model: scriptedModel(['Hello'], { name: 'new' }), message: 'c' })
      expect(await after(third.outcome, clock)).toMatchObject({ value: { status: 'success' } })
    })

    test('DUR-10: a session can be erased even if no worker has the model of its open turn', async () => {
      const { clock, second } = await openWithoutModel()
      expect(await after(second.erase({ session: 's', open: 'cancel' }), clock)).toHaveProperty('value')
    })

    test('SESS-11: the usage of a turn is recorded exactly once when a worker dies at its end', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const dying = mortal(shared)
      const isCounted = (change: Change): boolean => change.documents?.some(({ of }) => of === 'model-usage') === true
      const first = dieAfter(dying, isCounted)
      const usage = { inputTokens: 5 }
      const model = scriptedModel(
        [
          { say: 'One', usage },
          { say: 'Two', usage },
        ],
        { name: 'm', price },
      )
      const options = { clock, logger: quiet, models: [model] }
      const ask = { model, message: 'Go', id: 't' }
      ignoreOutcome((await createRuntime({ ...options, store: first })).session('s').turn(ask))
      await clock.advance('40s')
      const door = await createRuntime({ ...options, store: shared, worker: false })
      runtimes.push(door)
      await door.session('s').messages.send('And?')
      const second = await createRuntime({ ...options, store: shared })
      runtimes.push(second)
      const session = second.session('s')
      expect(await after(session.turn(ask).outcome, clock)).toMatchObject({
        value: { value: { text: 'One', usage: { inputTokens: 5 } } },
      })
      expect(await session.usage()).toMatchObject({ total: { inputTokens: 5, times: 1 } })
      expect(await after(session.turn({ model }).outcome, clock)).toMatchObject({ value: { value: { text: 'Two' } } })
      expect(await session.usage()).toMatchObject({ total: { inputTokens: 10, times: 2 } })
    })

    test('SESS-1: repeating a turn returns its outcome although the session has ended', async () => {
      const model = scriptedModel(['One'], { name: 'm' })
      const { runtime, clock } = await open({ models: [model] })
      const session = runtime.session('s')
      const ask = { model: 'm', message: 'Go', id: 't' }
      await after(session.turn(ask).outcome, clock)
      await session.end()
      expect(await after(session.turn(ask).outcome, clock)).toMatchObject({ value: { value: { text: 'One' } } })
    })

    test('SESS-2: metadata that is not JSON ends the turn as a failure of the model', async () => {
      const model: Model = {
        name: 'm',
        generate: async () => ({
          parts: [{ type: 'text', text: 'x', meta: { n: 1n } as never }],
          finish: 'stop',
          usage: { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 },
        }),
      }
      const { runtime, clock } = await open()
      expect(await after(runtime.session('s').turn({ model, message: 'Go' }).outcome, clock)).toMatchObject({
        value: { status: 'failure', failure: { code: 'model_failed' } },
      })
    })

    test('SESS-10: a long summary is not requested again for every answer', async () => {
      const model = scriptedModel(
        [
          { when: 'User:', say: 'word '.repeat(200) },
          { when: 'before, in short', say: 'word '.repeat(200) },
          { when: /./, call: { name: 'look' } },
        ],
        { name: 'm' },
      )
      const { runtime, clock } = await open({ tools: [look] })
      const session = runtime.session('s')
      await after(session.turn({ model, message: 'Go', limits: { steps: 8, historyTokens: 200 } }).outcome, clock)
      const summaries = (await session.messages.list()).filter(({ message }) => message.role === 'summary').length
      expect(summaries).toBeLessThan(4)
    })
  })
}
