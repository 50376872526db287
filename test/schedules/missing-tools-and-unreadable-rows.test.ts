// What one row, one store that does not answer, or one schedule that runs for years does to all else.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, type Runtime, type Tool, tool } from '../../src/index.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const minute = 60_000
const hour = 60 * minute

let clock: ManualClock
let store: Store
let open: Runtime[]
beforeEach(() => {
  clock = manualClock()
  store = memoryStore({ clock })
  open = []
})
afterEach(async () => {
  await Promise.all(open.map((runtime) => runtime.close({ grace: 0 })))
  await store.close()
})
const start = async (tools: readonly Tool[], on: Store = store, options: object = {}): Promise<Runtime> => {
  const runtime = await createRuntime({ store: on, tools, clock, logger: quiet, ...options })
  if (on === store) open.push(runtime)
  return runtime
}
const report = tool({
  name: 'report',
  description: 'Reports',
  input: z.object({ order: z.unknown().optional() }),
  onCrash: 'rerun',
  background: true,
  execute: () => 'done',
})

// A session lists a task once.
test('TASK-8: a monitor that is made again under its id is one task', async () => {
  const { tasks } = (await start([report])).session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { cron: '0 0 * * *' })
  await tasks.cancel('m')
  await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { cron: '0 0 * * *' })
  expect((await tasks.list()).map(({ id }) => id)).toEqual(['m'])
})

// DUR-10: retention is a command. What a monitor says ("Monitor fired at …") is a row for each slot, and stays as long as its schedule does.
test('DUR-10: what a monitor said long ago is forgotten by prune', async () => {
  const runtime = await start([report])
  const { tasks } = runtime.session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { cron: '0 * * * *' })
  for (let n = 0; n < 60; n++) await clock.advance(hour)
  await runtime.prune({ olderThan: '1h' })
  const left = await store.documentsOf({ of: 'task-message', tenant: 'default', session: 's', after: '', limit: 500 })
  expect(left.length).toBeLessThan(10)
})

// "none holds back another"; sealed.ts: "the one row that cannot be opened … so that the others of its read go on". One subscription whose row
// was damaged, and no event of that name can be emitted in the whole tenant any more.
test('CRON-4: a subscription that cannot be opened does not keep others from hearing', async () => {
  const secret = tool({
    name: 'secret',
    description: 'Secret',
    input: z.object({}),
    sensitive: true,
    background: true,
    execute: () => 'done',
  })
  const runtime = await start([report, secret])
  await runtime.session('a').triggers.subscribe({ event: 'e', tool: secret, input: {}, id: 'x' })
  await runtime.session('b').triggers.subscribe({ event: 'e', tool: report, input: {}, id: 'y' })
  const name = { of: 'subscription', tenant: 'default', session: 'a', key: 'x' }
  const kept = await store.document(name)
  const { value = '' } = kept ?? {}
  expect(value).not.toContain('secret')
  const damaged = value.slice(0, -4) + (value.endsWith('AAAA') ? 'BBBB' : 'AAAA')
  await store.commit({ guards: [], documents: [{ ...name, value: damaged }], events: [] })
  const said = await runtime.emit('e', null, { key: 'k' }).catch((error: unknown) => String(error))
  expect(said).toMatchObject({ deliveries: expect.arrayContaining([expect.objectContaining({ session: 'b' })]) })
})

// Guide: a slot "is left to a worker that has the tool". While a new version is rolled out, the old one has a tool of that name which does not run in the
// background yet: it takes every slot, starts nothing, and the slot is lost although the other worker could run it.
test('CRON-2: a slot is left to a worker whose tool can run it', async () => {
  const old = tool({ name: 'report', description: 'Reports', input: z.object({}), execute: () => 'old' })
  const a = await start([old])
  const here = await start([report], store, { worker: false })
  await here.session('s').schedules.create({ tool: report, input: {}, cron: '0 * * * *', id: 'x' })
  await clock.advance(hour)
  await start([report])
  await clock.advance(minute / 2)
  await clock.advance(minute / 2)
  expect(await a.session('s').schedules.history('x')).toMatchObject([{ outcome: 'started' }])
})

// The same in a moment: the tool is withdrawn while the worker looks whether the run before is still open.
test('CRON-2: a slot whose tool goes while it is fired is left to a worker that has the tool', async () => {
  let goes = (): void => {}
  const watched: Store = {
    ...store,
    async document(name) {
      if (name.of === 'task') goes()
      return store.document(name)
    },
    close: async () => {},
  }
  const a = await start([report], watched)
  open.push(a)
  await a.session('s').schedules.create({ tool: report, input: {}, cron: '0 * * * *', overlap: 'skip', id: 'x' })
  await clock.advance(hour)
  goes = () => void a.tools.remove('report')
  await clock.advance(hour)
  goes = () => {}
  const b = await start([report])
  await clock.advance(1_000)
  expect((await b.session('s').schedules.history('x')).map(({ outcome }) => outcome)).toEqual(['started', 'started'])
})
