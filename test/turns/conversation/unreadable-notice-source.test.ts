import { createRuntime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { progressOf } from '../../../src/store/records/call-record.ts'
import type { Store } from '../../../src/store/store.ts'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach } from '../../kit/open-runtime.ts'
import { rerunTask, simpleTool } from '../../kit/simple-tools.ts'

const runtimes = closedAfterEach()
const keys = { secret: Buffer.alloc(32, 7) }
const ended = (of: unknown): unknown => {
  const { status, failure } = (of as { value: { status: string; failure?: { code: string } } }).value
  return failure?.code ?? status
}
const places = async (store: Store) => store.callsOf({ tenant: 'default', session: 's' }, { after: '', limit: 100 })

// A manipulated row fails as sealed_payload_broken: its call stops, and all others continue.
test('DUR-12 POL-7: a call with an unreadable pending result does not block later turns', async () => {
  const { clock, store } = freshMemory()
  const record = simpleTool('record', { sensitive: true, hints: { destructive: true } }, () => 'nothing')
  const model = scriptedModel([{ call: { name: 'record' } }, 'ok', 'ok', 'ok'], { name: 'm' })
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [record], models: [model], keys })
  runtimes.push(runtime)
  const session = runtime.session('s')
  const turn = session.turn({ model, message: 'Go' })
  await clock.advance(1_000)
  await session.messages.send('What now?')
  expect(await after(turn.outcome, clock, 60_000, 1_000)).toMatchObject({ value: { status: 'success' } })
  const [item] = await runtime.inbox()
  await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
  await clock.advance(1_000)
  const call = (await places(store)).find((each) => each.tool.startsWith('record'))
  if (!call?.outcome) throw new Error('It has not ended')
  // Corrupt the stored row.
  const outcome = `${call.outcome.slice(0, -4)}AAAA`
  await store.commit({
    guards: [],
    updateCall: { uid: call.uid, progress: { ...progressOf(call), outcome } },
    events: [],
  })
  expect(ended(await after(session.turn({ model, message: 'And now?' }).outcome, clock, 60_000, 1_000))).toBe('success')
})

test('DUR-12 TASK-9: an unreadable task with a pending notice does not block later turns', async () => {
  const { clock, store } = freshMemory()
  const work = rerunTask('work', { sensitive: true }, async (_, ctx) => {
    await ctx.task?.message('Half of it is done')
    return new Promise<string>(() => {})
  })
  const model = scriptedModel([{ when: /./, say: 'Said' }], { name: 'm' })
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [work], models: [model], keys })
  runtimes.push(runtime)
  const session = runtime.session('s')
  await session.tasks.start({ tool: 'work', id: 'a', wake: 'on_activity' })
  await clock.advance(2_000)
  expect((await session.notices.list()).map(({ about }) => about)).toEqual(['message'])
  const name = { of: 'task', tenant: 'default', session: 's', key: 'a' }
  const kept = await store.document(name)
  await store.commit({ guards: [], documents: [{ ...name, value: `${kept?.value.slice(0, -4)}AAAA` }], events: [] })
  expect(ended(await after(session.turn({ model, message: 'Go' }).outcome, clock, 60_000, 1_000))).toBe('success')
})
