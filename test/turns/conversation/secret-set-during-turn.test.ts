import { createRuntime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach } from '../../kit/open-runtime.ts'
import { keepOpen } from '../../kit/stores/killable-store.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()
const secret = 'sk-live-4f9a71c2'

/** Two processes: one runs the turn, the other sets a secret of the session meanwhile. */
async function twoProcesses(show: ReturnType<typeof tool>, lines: Parameters<typeof scriptedModel>[0]) {
  const { clock, store } = freshMemory()
  const shared = keepOpen(store)
  const model = scriptedModel(lines, { name: 'm' })
  const options = {
    clock,
    logger: quiet,
    tools: [show],
    models: [model],
    keys: { secret: Buffer.alloc(32, 7) },
    store: shared,
  }
  const works = await createRuntime(options)
  const door = await createRuntime({ ...options, worker: false })
  runtimes.push(works, door)
  return { clock, model, works, door }
}

// A turn knows all secrets of its session, including those set by other processes.
test('BOX-5 DUR-12: a secret set by another process during a turn is redacted from results', async () => {
  const show = tool({
    name: 'show',
    description: 'd',
    input,
    hints: { destructive: true },
    execute: () => `the config: token=${secret}`,
  })
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

test('BOX-5 POL-7: a secret set by another process during a turn is redacted from notices', async () => {
  const show = tool({
    name: 'show',
    description: 'd',
    input,
    hints: { destructive: true },
    execute: () => `the config: token=${secret}`,
  })
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
