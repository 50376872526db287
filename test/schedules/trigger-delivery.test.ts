// Triggers: equality of subscriptions, ended sessions, unsubscribe races, clock skew, encryption and reruns.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, retry, type Runtime, type Tool, tool } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { argumentTool, rerunTool } from '../kit/simple-tools.ts'
import { mortalWorld } from '../kit/worker-takeover.ts'

const hour = 3_600_000

let clock: ManualClock
let store: Store
const world = mortalWorld('memory', (fresh) => void ({ clock, store } = fresh))
const { open } = world
const start = (tools: readonly Tool[], options: object = {}): Promise<Runtime> => world.start(tools, store, options)
const handle = tool({
  name: 'handle',
  description: 'Handles',
  input: z.object({ a: z.number().optional(), b: z.number().optional(), order: z.unknown().optional() }),
  onCrash: 'rerun',
  background: true,
  execute: () => 'done',
})

test('CRON-4: key order in the arguments does not make a different subscription', async () => {
  const { triggers } = (await start([handle])).session('s')
  await triggers.subscribe({ event: 'e', tool: handle, input: { a: 1, b: 2 }, id: 'x' })
  expect(await triggers.subscribe({ event: 'e', tool: handle, input: { b: 2, a: 1 }, id: 'x' })).toMatchObject({
    id: 'x',
  })
})

test('CRON-4: subscribe is rejected in an ended session', async () => {
  const runtime = await start([handle])
  const session = runtime.session('s')
  await session.end()
  await clock.advance(1_000)
  await expect(session.triggers.subscribe({ event: 'e', message: 'Hello' })).rejects.toMatchObject({
    code: 'session_ended',
  })
})

test('CRON-4: an ended session receives no event', async () => {
  const runtime = await start([handle])
  const session = runtime.session('s')
  await session.end()
  await clock.advance(1_000)
  await session.triggers.subscribe({ event: 'e', message: 'Hello' }).catch(() => null)
  await runtime.emit('e', null, { key: 'k' })
  await clock.advance(1_000)
  expect(await session.notices.list()).toEqual([])
})

// A delivery that read the subscription before it was removed must not start a run afterwards.
test('CRON-4: nothing is delivered once unsubscribe has resolved', async () => {
  let held: (() => void) | undefined
  let reached: () => void = () => {}
  const at = new Promise<void>((resolve) => (reached = resolve))
  let armed = false
  const slow: Store = {
    ...store,
    // Blocks the delivery between reading its subscription and committing.
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

// The due time of a delivery is taken from the clock of the emitting process.
test('CRON-4: an event from a process whose clock is ahead is delivered at once', async () => {
  const worker = await start([handle])
  const ahead = await start([handle], { worker: false, clock: { ...clock, now: () => clock.now() + hour } })
  await worker.session('s').triggers.subscribe({ event: 'e', tool: handle, input: {}, id: 'x' })
  const { deliveries } = await ahead.emit('e', null, { key: 'k' })
  expect(deliveries).toHaveLength(1)
  await clock.advance(60_000)
  await clock.advance(60_000)
  expect(await worker.session('s').tasks.list()).toHaveLength(1)
})

// The notice of a message subscription contains the same payload as the encrypted event.
test('DUR-12: an event payload is encrypted in every collection', async () => {
  const secret = argumentTool(
    'secret',
    z.object({ order: z.unknown() }),
    { sensitive: true, background: true },
    () => 'done',
  )
  const runtime = await start([secret], {
    keys: { secret: Buffer.alloc(32, 7).toString('base64') },
  })
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

test('DUR-10: erasing a session removes events emitted to it alone', async () => {
  const runtime = await start([handle])
  await runtime.session('s').triggers.subscribe({ event: 'e', message: 'Hello' })
  await runtime.emit('e', { about: 'ada' }, { key: 'k', session: 's' })
  await clock.advance(60_000)
  await runtime.erase({ session: 's' })
  expect(await store.documentsOf({ of: 'occurrence', after: '', limit: 10 })).toEqual([])
})

// The position in the body identifies the event, so a payload that differs between runs (a timestamp, say) is no
// conflict.
test('CRON-4: a rerun body that emits a different payload does not conflict', async () => {
  let runs = 0
  const tells = rerunTool('tells', async (_, ctx) => {
    await ctx.triggers.emit('e', { run: ++runs })
    if (runs === 1) throw retry()
    return 'done'
  })
  const runtime = await start([tells])
  const running = runtime.session('s').run([{ id: '1', name: 'tells', input: {} }])
  for (let n = 0; n < 20; n++) await clock.advance(10_000)
  const [end] = await running
  expect(runs).toBeGreaterThan(1)
  expect(end).toMatchObject({ status: 'success' })
})
