import { createRuntime, result, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { opening, stores } from '../../kit/open-runtime.ts'

const open = opening()
const input = { type: 'object' } as const
const price = { input: 1_000_000, output: 0 }
const usage = { inputTokens: 1, outputTokens: 0 }
const hang = (): Promise<never> => new Promise(() => {})
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

for (const [kind, fresh] of stores)
  describe(`frames of a turn whose worker dies, on ${kind}`, () => {
    const ground = () => {
      const { clock, store } = fresh()
      const shared: Store = { ...store, close: async () => {} }
      return { clock, shared, dying: mortal(shared) }
    }
    let dies = true
    const look = tool({
      name: 'look',
      description: 'd',
      input,
      onCrash: 'rerun',
      hints: { readOnly: true },
      execute: () => (dies ? hang() : 'seen'),
    })
    const peek = tool({ name: 'peek', description: 'd', input, hints: { readOnly: true }, execute: () => 'x' })
    const handTo = (frame: string) =>
      tool({
        name: `to_${frame}`,
        description: 'd',
        input,
        onCrash: 'rerun',
        execute: () => result('ok', { control: { switchFrame: { frame, task: `Do ${frame}` } } }),
      })

    test('SESS-11 SESS-6: a turn whose frame is gone after a crash is counted with all that it has cost', async () => {
      const { clock, shared, dying } = ground()
      dies = true
      const model = scriptedModel(
        [{ when: 'Go', call: { name: 'to_b' }, usage }, ...['peek', 'peek', 'look'].map((name) => ({ call: { name }, usage }))],
        { name: 'm', price },
      )
      const options = { clock, logger: quiet, tools: [look, peek, handTo('b')], models: [model] }
      const first = await createRuntime({ ...options, store: dying.store, frames: [{ name: 'b' }] })
      first
        .session('s')
        .turn({ model, message: 'Go', id: 't' })
        .outcome.catch(() => {})
      await clock.advance(1_000)
      expect(model.asked).toBe(4)
      expect((await first.session('s').usage()).total).toMatchObject({ times: 4, cost: 4 })
      dying.die()
      await clock.advance('40s')
      const second = await createRuntime({ ...options, store: shared })
      runtimes.push(second)
      const session = second.session('s')
      expect(await after(session.turn({ model, message: 'Go', id: 't' }).outcome, clock)).toMatchObject({
        value: { status: 'failure', failure: { code: 'frame_unknown' } },
      })
      expect((await session.usage()).total).toMatchObject({ times: 4, cost: 4 })
    })

    test('SESS-6 SESS-1: a frame without a model goes on with that of the frame before it, after a crash too', async () => {
      const { clock, shared, dying } = ground()
      dies = true
      const clerk = scriptedModel([{ when: 'Go', call: { name: 'to_b' } }, 'The clerk speaks'], { name: 'clerk' })
      const expert = scriptedModel(
        [{ when: 'Do b', call: { name: 'to_c' } }, { when: 'Do c', call: { name: 'look' } }, 'The expert speaks'],
        {
          name: 'expert',
        },
      )
      const frames = [{ name: 'b', model: expert }, { name: 'c' }]
      const options = { clock, logger: quiet, tools: [look, handTo('b'), handTo('c')], models: [clerk, expert], frames }
      const asked = { model: clerk, message: 'Go', id: 't' }
      const first = await createRuntime({ ...options, store: dying.store })
      first
        .session('s')
        .turn(asked)
        .outcome.catch(() => {})
      await clock.advance(1_000)
      expect(expert.asked).toBe(2)
      dying.die()
      dies = false
      await clock.advance('40s')
      const second = await createRuntime({ ...options, store: shared })
      runtimes.push(second)
      expect(await after(second.session('s').turn(asked).outcome, clock)).toMatchObject({
        value: { status: 'success', value: { text: 'The expert speaks' } },
      })
    })

    test('SESS-6 SESS-1: a turn that came back to the frame it began in has its tools after a crash, as before', async () => {
      const { clock, shared, dying } = ground()
      dies = true
      const model = scriptedModel(
        [
          { when: 'Go', call: { name: 'to_b' } },
          { when: 'Do b', call: { name: 'to_a' } },
          { when: 'Do a', call: { name: 'look' } },
          'Done',
        ],
        { name: 'm' },
      )
      const frames = [{ name: 'a', instructions: 'All of it.' }, { name: 'b' }]
      const options = { clock, logger: quiet, tools: [look, handTo('a'), handTo('b')], models: [model], frames }
      const asked = { model, frame: 'a', instructions: 'Only hand over.', tools: ['to_b'], message: 'Go', id: 't' }
      const first = await createRuntime({ ...options, store: dying.store })
      first
        .session('s')
        .turn(asked)
        .outcome.catch(() => {})
      await clock.advance(1_000)
      const before = model.requests.at(-1)
      expect(before?.instructions).toBe('All of it.')
      dying.die()
      dies = false
      await clock.advance('40s')
      const second = await createRuntime({ ...options, store: shared })
      runtimes.push(second)
      expect(await after(second.session('s').turn(asked).outcome, clock)).toMatchObject({ value: { value: { text: 'Done' } } })
      expect(model.requests.at(-1)).toMatchObject({ instructions: 'All of it.', tools: before?.tools })
    })
  })

test('SESS-10: what is given to sum up is cut in every script, however small the history may be', async () => {
  const model = scriptedModel(
    [
      { when: 'User:', say: '短' },
      { when: /./s, say: '好' },
    ],
    { name: 'm' },
  )
  const { runtime, clock } = await open({ models: [model] })
  const session = runtime.session('s')
  const limits = { historyTokens: 2 }
  await after(session.turn({ model, message: '水'.repeat(5_000), limits }).outcome, clock)
  await after(session.turn({ model, message: '火', limits }).outcome, clock)
  const summed = model.requests.filter(({ messages }) => JSON.stringify(messages).includes('[…]'))
  expect(summed.length).toBeGreaterThan(0)
  for (const { messages } of summed) expect(JSON.stringify(messages).length).toBeLessThan(200)
})

test('SESS-9: what a session is opened with is off when it is switched off, even before anything ran', async () => {
  const read = tool({ name: 'read', description: 'd', input, execute: () => 'x' })
  const { runtime } = await open({ capabilities: [{ name: 'files', tools: [read] }] })
  const session = runtime.session('s', { capabilities: ['files'] })
  expect(await session.capabilities.switchOff('files')).toBe(true)
  expect(await session.capabilities.list()).toEqual([])
  expect(session.tools.map(({ name }) => name)).not.toContain('read')
})
