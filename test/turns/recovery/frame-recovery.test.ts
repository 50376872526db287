import { createRuntime, result, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach, opening, replaceWorker, stores } from '../../kit/open-runtime.ts'
import { hang, rerunTool } from '../../kit/simple-tools.ts'
import { ignoreOutcome } from '../../kit/wait-until.ts'

const open = opening()
const input = { type: 'object' } as const
const price = { input: 1_000_000, output: 0 }
const usage = { inputTokens: 1, outputTokens: 0 }
const runtimes = closedAfterEach()

for (const [kind, fresh] of stores)
  describe(`frames of a turn whose worker died, on ${kind}`, () => {
    const ground = () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      return { clock, shared, dying: mortal(shared) }
    }
    let dies = true
    const look = rerunTool('look', { hints: { readOnly: true } }, () => (dies ? hang() : 'seen'))
    const peek = tool({ name: 'peek', description: 'd', input, hints: { readOnly: true }, execute: () => 'x' })
    const handTo = (frame: string) =>
      tool({
        name: `to_${frame}`,
        description: 'd',
        input,
        onCrash: 'rerun',
        execute: () => result('ok', { control: { switchFrame: { frame, task: `Do ${frame}` } } }),
      })

    test('SESS-11 SESS-6: a turn whose frame is gone after a crash keeps its full usage', async () => {
      const { clock, shared, dying } = ground()
      dies = true
      const model = scriptedModel(
        [
          { when: 'Go', call: { name: 'to_b' }, usage },
          ...['peek', 'peek', 'look'].map((name) => ({ call: { name }, usage })),
        ],
        { name: 'm', price },
      )
      const options = { clock, logger: quiet, tools: [look, peek, handTo('b')], models: [model] }
      const first = await createRuntime({ ...options, store: dying.store, frames: [{ name: 'b' }] })
      ignoreOutcome(first.session('s').turn({ model, message: 'Go', id: 't' }))
      await clock.advance(1_000)
      expect(model.asked).toBe(4)
      expect((await first.session('s').usage()).total).toMatchObject({ times: 4, cost: 4 })
      const second = await replaceWorker(dying, clock, { ...options, store: shared }, runtimes)
      const session = second.session('s')
      expect(await after(session.turn({ model, message: 'Go', id: 't' }).outcome, clock)).toMatchObject({
        value: { status: 'failure', failure: { code: 'frame_unknown' } },
      })
      expect((await session.usage()).total).toMatchObject({ times: 4, cost: 4 })
    })

    test('SESS-6 SESS-1: a frame without a model keeps the previous model, even after recovery', async () => {
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
      ignoreOutcome(first.session('s').turn(asked))
      await clock.advance(1_000)
      expect(expert.asked).toBe(2)
      dies = false
      const second = await replaceWorker(dying, clock, { ...options, store: shared }, runtimes)
      expect(await after(second.session('s').turn(asked).outcome, clock)).toMatchObject({
        value: { status: 'success', value: { text: 'The expert speaks' } },
      })
    })

    test('SESS-6 SESS-1: a turn back in its first frame has the same tools after recovery', async () => {
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
      ignoreOutcome(first.session('s').turn(asked))
      await clock.advance(1_000)
      const before = model.requests.at(-1)
      expect(before?.instructions).toBe('All of it.')
      dies = false
      const second = await replaceWorker(dying, clock, { ...options, store: shared }, runtimes)
      expect(await after(second.session('s').turn(asked).outcome, clock)).toMatchObject({
        value: { value: { text: 'Done' } },
      })
      expect(model.requests.at(-1)).toMatchObject({ instructions: 'All of it.', tools: before?.tools })
    })
  })

test('SESS-10: the input of a summary is cut in any script and for any history size', async () => {
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

test('SESS-9: a capability given to session() can be switched off before anything ran', async () => {
  const read = tool({ name: 'read', description: 'd', input, execute: () => 'x' })
  const { runtime } = await open({ capabilities: [{ name: 'files', tools: [read] }] })
  const session = runtime.session('s', { capabilities: ['files'] })
  expect(await session.capabilities.switchOff('files')).toBe(true)
  expect(await session.capabilities.list()).toEqual([])
  expect(session.tools.map(({ name }) => name)).not.toContain('read')
})
