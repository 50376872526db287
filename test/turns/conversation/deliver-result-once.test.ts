// The result of a call reaches the model exactly once: as its result, in the notice for a placeholder, or in the notice
// of the task it became.
import { createRuntime, type ModelMessage, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { problemsIn } from '../../kit/models/conversation-rules.ts'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach } from '../../kit/open-runtime.ts'
import { rerunTask } from '../../kit/simple-tools.ts'
import { ignoreOutcome } from '../../kit/wait-until.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

const times = (messages: readonly ModelMessage[], what: string): number =>
  JSON.stringify(messages).split(what).length - 1

test('POL-7 TASK-9: a call moved to the background after its placeholder is reported once', async () => {
  let key = ''
  const sign = rerunTask('sign', async (_, ctx) => {
    const later = await ctx.later<string>({ deadline: '3d' })
    key = later.key
    return later
  })
  const model = scriptedModel([{ call: { name: 'sign' } }, 'ok', 'ok', 'ok'], { name: 'm' })
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [sign], models: [model] })
  runtimes.push(runtime)
  const session = runtime.session('s')
  const turn = session.turn({ model, message: 'Go', background: '10s' })
  await clock.advance(2_000)
  await session.messages.send('What now?')
  expect(await after(turn.outcome, clock, 5_000, 100)).toMatchObject({ value: { status: 'success' } })
  await clock.advance(20_000)
  await runtime.resolve(key, { value: 'SIGNED-BY-ADA' })
  await clock.advance(1_000)
  expect(await after(session.turn({ model, message: 'And now?' }).outcome, clock, 5_000, 100)).toMatchObject({
    value: { status: 'success' },
  })
  const { messages = [] } = model.requests.at(-1) ?? {}
  expect(problemsIn(messages)).toEqual([])
  expect(times(messages, 'SIGNED-BY-ADA'), JSON.stringify(messages, null, 1)).toBe(1)
})

/** A turn with a call moved to the background and another one waiting for approval, whose worker then dies. */
async function diedAfterMove() {
  const { clock, store } = freshMemory()
  const shared = keepOpen(store)
  const dying = mortal(shared)
  const world = { dead: false, end: Promise.withResolvers<string>() }
  const exporting = rerunTask('export', { timeout: '2h' }, () =>
    world.dead ? world.end.promise : new Promise<string>(() => {}),
  )
  const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
  const model = scriptedModel([{ call: [{ name: 'export' }, { name: 'pay' }] }, 'ok', 'ok', 'ok'], { name: 'm' })
  const options = { clock, logger: quiet, tools: [exporting, pay] }
  const open = async (more: object = { models: [model] }): Promise<Runtime> => {
    const runtime = await createRuntime({ ...options, ...more, store: shared })
    runtimes.push(runtime)
    return runtime
  }
  const first = await createRuntime({ ...options, models: [model], store: dying.store })
  ignoreOutcome(first.session('s').turn({ model, message: 'Go', id: 't', background: '1s' }))
  await clock.advance(3_000)
  expect((await first.session('s').tasks.list()).length).toBe(1)
  dying.die()
  world.dead = true
  await clock.advance('40s')
  return { clock, world, model, open }
}

test('SESS-1 TASK-9: a moved call that ended before the takeover of its turn is reported once', async () => {
  const { clock, world, model, open } = await diedAfterMove()
  // This worker has the tools but not the model: it completes the task only.
  world.end.resolve('THREE-FILES')
  const other = await open({})
  await clock.advance('2m')
  expect((await other.session('s').tasks.list())[0]).toMatchObject({ state: 'succeeded' })
  const second = await open()
  const session = second.session('s')
  const turn = session.turn({ model, message: 'Go', id: 't', background: '1s' })
  await clock.advance('1m')
  const [item] = await second.inbox()
  await second.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
  expect(await after(turn.outcome, clock, 60_000, 1_000)).toMatchObject({ value: { status: 'success' } })
  await after(session.turn({ model, message: 'And now?' }).outcome, clock, 5_000, 100)
  const { messages = [] } = model.requests.at(-1) ?? {}
  expect(problemsIn(messages)).toEqual([])
  expect(times(messages, 'THREE-FILES'), JSON.stringify(messages, null, 1)).toBe(1)
})

test('SESS-3 TASK-9: a moved call of a turn cancelled without a live worker is reported once', async () => {
  const { clock, world, model, open } = await diedAfterMove()
  const door = await open({ worker: false })
  await door.session('s').turn({ model, message: 'Go', id: 't', background: '1s' }).cancel('Not now')
  const second = await open()
  const session = second.session('s')
  expect(
    await after(session.turn({ model, message: 'Go', id: 't', background: '1s' }).outcome, clock, 60_000, 1_000),
  ).toMatchObject({
    value: { status: 'cancelled' },
  })
  expect(await after(session.turn({ model, message: 'And?' }).outcome, clock, 60_000, 1_000)).toMatchObject({
    value: { status: 'success' },
  })
  world.end.resolve('THREE-FILES')
  await clock.advance('2m')
  expect((await session.tasks.list())[0]).toMatchObject({ state: 'succeeded' })
  expect(await after(session.turn({ model, message: 'And now?' }).outcome, clock, 60_000, 1_000)).toMatchObject({
    value: { status: 'success' },
  })
  const { messages = [] } = model.requests.at(-1) ?? {}
  expect(problemsIn(messages)).toEqual([])
  expect(times(messages, 'THREE-FILES'), JSON.stringify(messages, null, 1)).toBe(1)
})
