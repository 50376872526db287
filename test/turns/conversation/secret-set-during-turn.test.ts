import { createRuntime, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})
const secret = 'sk-live-4f9a71c2'

/** Two processes: one in which the turn is under way, and one in which somebody sets a secret of the session meanwhile. */
async function twoProcesses(show: ReturnType<typeof tool>, lines: Parameters<typeof scriptedModel>[0]) {
  const { clock, store } = freshMemory()
  const shared: Store = { ...store, close: async () => {} }
  const model = scriptedModel(lines, { name: 'm' })
  const options = { clock, logger: quiet, tools: [show], models: [model], keys: { secret: Buffer.alloc(32, 7) }, store: shared }
  const works = await createRuntime(options)
  const door = await createRuntime({ ...options, worker: false })
  runtimes.push(works, door)
  return { clock, model, works, door }
}

// docs/guide/values.md: "A turn, and session.messages, know all secrets of their session, whoever has set them".
test('BOX-5 DUR-12: a secret that another process sets while a turn waits is read by its model in no result', async () => {
  const show = tool({ name: 'show', description: 'd', input, hints: { destructive: true }, execute: () => `the config: token=${secret}` })
  const { clock, model, works, door } = await twoProcesses(show, [{ call: { name: 'show' } }, 'ok'])
  const turn = works.session('s').turn({ model, message: 'Go' })
  await clock.advance(1_000)
  await door.session('s').secrets.set('shop', secret)
  const [item] = await door.inbox()
  await door.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
  expect(await after(turn.outcome, clock, 60_000, 1_000)).toMatchObject({ value: { status: 'success' } })
  expect(model.asked).toBe(2)
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('the config')
  expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain(secret)
})

test('BOX-5 POL-7: nor in the notice of what came of a call for which a placeholder stands', async () => {
  const show = tool({ name: 'show', description: 'd', input, hints: { destructive: true }, execute: () => `the config: token=${secret}` })
  const { clock, model, works, door } = await twoProcesses(show, [
    { call: { name: 'show' } },
    { call: { id: 'again', name: 'show', input: { again: true } } },
    'ok',
    'ok',
  ])
  const session = works.session('s')
  const turn = session.turn({ model, message: 'Go' })
  await clock.advance(1_000)
  await session.messages.send('And once more')
  await clock.advance(1_000)
  await door.session('s').secrets.set('shop', secret)
  for (const item of await door.inbox()) await door.decide(item.id, { approve: true, by: 'user:bea' })
  expect(await after(turn.outcome, clock, 60_000, 1_000)).toMatchObject({ value: { status: 'success' } })
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('that was waiting has ended')
  const told = model.requests.at(-1)?.messages.filter(({ role }) => role === 'user')
  expect(JSON.stringify(told)).not.toContain(secret)
})
