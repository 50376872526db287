// Triggers (CRON-4), taken at their word.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, retry, type Runtime, type Tool, tool } from '../../src/index.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const hour = 3_600_000

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
const start = async (tools: readonly Tool[], options: object = {}): Promise<Runtime> => {
  const runtime = await createRuntime({ store, tools, clock, logger: quiet, ...options })
  open.push(runtime)
  return runtime
}
const handle = tool({
  name: 'handle',
  description: 'Handles',
  input: z.object({ a: z.number().optional(), b: z.number().optional(), order: z.unknown().optional() }),
  onCrash: 'rerun',
  background: true,
  execute: () => 'done',
})

// "The same `id` with the same content is the same subscription." Schedules look at the content; here the order of keys counts.
test('CRON-4: the same subscription with its arguments in another order is the same', async () => {
  const { triggers } = (await start([handle])).session('s')
  await triggers.subscribe({ event: 'e', tool: handle, input: { a: 1, b: 2 }, id: 'x' })
  expect(await triggers.subscribe({ event: 'e', tool: handle, input: { b: 2, a: 1 }, id: 'x' })).toMatchObject({ id: 'x' })
})

// "When a session ends, its schedules and subscriptions end too." schedules.create says session_ended; subscribe says yes, and the message is told.
test('CRON-4: a session that has ended takes no subscription', async () => {
  const runtime = await start([handle])
  const session = runtime.session('s')
  await session.end()
  await clock.advance(1_000)
  await expect(session.triggers.subscribe({ event: 'e', message: 'Hello' })).rejects.toMatchObject({ code: 'session_ended' })
})

test('CRON-4: a session that has ended hears no event', async () => {
  const runtime = await start([handle])
  const session = runtime.session('s')
  await session.end()
  await clock.advance(1_000)
  await session.triggers.subscribe({ event: 'e', message: 'Hello' }).catch(() => null)
  await runtime.emit('e', null, { key: 'k' })
  await clock.advance(1_000)
  expect(await session.notices.list()).toEqual([])
})

// unsubscribe: "Removes it, with what has not been delivered yet." The delivery is not guarded by the subscription: one that was read before starts after.
test('CRON-4: nothing is delivered once unsubscribe has resolved', async () => {
  let held: (() => void) | undefined
  let reached: () => void = () => {}
  const at = new Promise<void>((resolve) => (reached = resolve))
  let armed = false
  const slow: Store = {
    ...store,
    // Between what a delivery has read of its subscription and its change.
    async document(name) {
      const found = await store.document(name)
      if (armed && name.of === 'subscription') {
        armed = false
        reached()
        await new Promise<void>((resolve) => (held = resolve))
      }
      return found
    },
    close: async () => {},
  }
  const worker = await createRuntime({ store: slow, tools: [handle], clock, logger: quiet })
  open.push(worker)
  const here = await start([handle], { worker: false })
  const session = here.session('s')
  await session.triggers.subscribe({ event: 'e', tool: handle, input: {}, id: 'x' })
  armed = true
  await here.emit('e', null, { key: 'k' })
  await clock.advance(60_000)
  await at
  expect(await session.triggers.unsubscribe('x')).toBe(true)
  expect(await session.tasks.list()).toEqual([])
  held?.()
  await clock.advance(60_000)
  expect(await session.tasks.list()).toEqual([])
})

// Guide: a run begins "at the latest a third of a lease after another process wrote". The delivery is due by the clock of whoever emitted.
test('CRON-4: an event from a process whose clock is ahead is delivered now, not when the clocks agree', async () => {
  const worker = await start([handle])
  const ahead = await start([handle], { worker: false, clock: { ...clock, now: () => clock.now() + hour } })
  await worker.session('s').triggers.subscribe({ event: 'e', tool: handle, input: {}, id: 'x' })
  const { deliveries } = await ahead.emit('e', null, { key: 'k' })
  expect(deliveries).toHaveLength(1)
  await clock.advance(60_000)
  await clock.advance(60_000)
  expect(await worker.session('s').tasks.list()).toHaveLength(1)
})

// emit.ts seals every occurrence ("What it carries may be for a tool whose payloads are sealed"); the notice of a message holds the same payload in the clear.
test('DUR-12: what an event carries is sealed wherever it is kept', async () => {
  const secret = tool({
    name: 'secret',
    description: 'Secret',
    input: z.object({ order: z.unknown() }),
    sensitive: true,
    background: true,
    execute: () => 'done',
  })
  const runtime = await start([secret], { keys: { current: 'k1', keys: { k1: Buffer.alloc(32, 7).toString('base64') } } })
  const session = runtime.session('s')
  await session.triggers.subscribe({ event: 'e', tool: secret, input: {}, payloadTo: 'order', id: 'x' })
  await session.triggers.subscribe({ event: 'e', message: 'An order', id: 'y' })
  await runtime.emit('e', { card: '4111-1111' }, { key: 'k' })
  await clock.advance(60_000)
  const kinds = ['occurrence', 'due', 'subscription', 'notice', 'task', 'task-run', 'file', 'task-message']
  const rows = await Promise.all(kinds.map(async (of) => store.documentsOf({ of, after: '', limit: 100 })))
  expect(
    rows
      .flat()
      .filter(({ value }) => value.includes('4111'))
      .map(({ of }) => of),
  ).toEqual([])
})

// An event for one session only is about that session: erased with it, its payload is gone.
test('DUR-10: a session that is erased takes along what was emitted to it alone', async () => {
  const runtime = await start([handle])
  await runtime.session('s').triggers.subscribe({ event: 'e', message: 'Hello' })
  await runtime.emit('e', { about: 'ada' }, { key: 'k', session: 's' })
  await clock.advance(60_000)
  await runtime.erase({ session: 's' })
  expect(await store.documentsOf({ of: 'occurrence', after: '', limit: 10 })).toEqual([])
})

// Guide: "In a body, ctx.triggers.emit('order.paid', order) does it once, however often the body runs." The place in the body names it, as with ctx.emit
// ("what it says may differ from run to run"); a body that says the time in it fails with a conflict when it runs again.
test('CRON-4: a body that runs again and would say it a little differently has said it once', async () => {
  let runs = 0
  const tells = tool({
    name: 'tells',
    description: 'Tells',
    input: z.object({}),
    onCrash: 'rerun',
    async execute(_, ctx) {
      await ctx.triggers.emit('e', { run: ++runs })
      if (runs === 1) throw retry()
      return 'done'
    },
  })
  const runtime = await start([tells])
  const running = runtime.session('s').run([{ id: '1', name: 'tells', input: {} }])
  for (let n = 0; n < 20; n++) await clock.advance(10_000)
  const [end] = await running
  expect(runs).toBeGreaterThan(1)
  expect(end).toMatchObject({ status: 'success' })
})
