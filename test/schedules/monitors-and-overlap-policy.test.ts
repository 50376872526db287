// Schedules (CRON-1 to CRON-3) and monitors (TASK-1), taken at their word.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createRuntime, retry, type Runtime, type Tool, tool } from '../../src/index.ts'
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
const start = async (tools: readonly Tool[], options: object = {}): Promise<Runtime> => {
  const runtime = await createRuntime({ store, tools, clock, logger: quiet, ...options })
  open.push(runtime)
  return runtime
}
const report = tool({
  name: 'report',
  description: 'Reports',
  input: z.object({}),
  onCrash: 'rerun',
  background: true,
  execute: () => 'done',
})
const settled = (): Promise<void> => clock.advance(0)

// schedules.ts: "The same `id` with the same content is the same schedule." A program that makes its schedule whenever it starts, and a body that
// runs again after a crash (spawn_background), ask again when the instant has passed.
test('CRON-1: an instant that has been fired, asked for again under its id, is the same schedule', async () => {
  const { schedules } = (await start([report])).session('s')
  const asked = { tool: report, input: {}, at: clock.now() + hour, id: 'x' }
  await schedules.create(asked)
  await clock.advance(2 * hour)
  expect(await schedules.get('x')).toMatchObject({ state: 'ended', runs: 1 })
  expect(await schedules.create(asked)).toMatchObject({ id: 'x', state: 'ended', runs: 1 })
})

// TASK-2: "a terminal state is final". A monitor whose schedule is over has succeeded.
test('TASK-2: a monitor that has succeeded stays so when its schedule is removed', async () => {
  const { schedules, tasks } = (await start([report])).session('s')
  const { schedule, task } = await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { at: clock.now() + hour })
  await clock.advance(2 * hour)
  expect(await tasks.get(task.id)).toMatchObject({ state: 'succeeded' })
  await schedules.cancel(schedule)
  expect(await tasks.get(task.id)).toMatchObject({ state: 'succeeded' })
})

// The same without anybody doing anything to it: of schedules that have ended 50 are remembered.
test('TASK-2: a monitor that has succeeded stays so when fifty others have ended after it', async () => {
  const { tasks } = (await start([report])).session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'first' }, { at: clock.now() + minute })
  await clock.advance(2 * minute)
  expect(await tasks.get('first')).toMatchObject({ state: 'succeeded' })
  for (let n = 0; n < 55; n++) {
    await tasks.schedule({ tool: 'report', input: {}, id: `m${n}` }, { at: clock.now() + minute })
    await clock.advance(2 * minute)
  }
  expect(await tasks.get('first')).toMatchObject({ state: 'succeeded', summary: 'Scheduled monitor completed' })
})

// TASK-8 (one record of a task): the id of a task that is there is taken.
test('TASK-1: a monitor does not take the place of a task that has its id', async () => {
  const { tasks } = (await start([report])).session('s')
  await tasks.start({ tool: 'report', input: {}, id: 'x' })
  expect(await tasks.wait('x')).toMatchObject({ kind: 'background_tool', state: 'succeeded', outcome: { value: 'done' } })
  await tasks.schedule({ tool: 'report', input: {}, id: 'x' }, { at: clock.now() + hour }).catch(() => null)
  expect(await tasks.get('x')).toMatchObject({ kind: 'background_tool', state: 'succeeded', outcome: { value: 'done' } })
})

test('TASK-1: a task does not take the place of a monitor that has its id', async () => {
  const { tasks } = (await start([report])).session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'x' }, { at: clock.now() + hour })
  await tasks.start({ tool: 'report', input: {}, id: 'x' }).catch(() => null)
  expect(await tasks.get('x')).toMatchObject({ kind: 'monitor', state: 'running' })
})

// A task's times are true: it cannot have ended before it was cancelled.
test('TASK-1: a monitor that is cancelled has ended when it was cancelled', async () => {
  const { tasks } = (await start([report])).session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'x' }, { cron: '0 0 * * *' })
  await clock.advance(hour)
  const cancelledAt = clock.now()
  await tasks.cancel('x')
  expect((await tasks.get('x'))?.finishedAt).toBe(cancelledAt)
})

// Long ids of tasks are taken (128); the id of the schedule is the end of it.
test('TASK-1: two monitors whose ids differ only at their beginning are two', async () => {
  const { tasks } = (await start([report])).session('s')
  const id = (first: string): string => first + 'x'.repeat(70)
  await tasks.schedule({ tool: 'report', input: {}, id: id('a') }, { cron: '0 0 * * *' })
  await tasks.schedule({ tool: 'report', input: {}, id: id('b') }, { cron: '0 0 * * *' })
  expect((await tasks.list({ kind: 'monitor' })).map((task) => task.id).toSorted()).toEqual([id('a'), id('b')])
})

// Guide: "nobody fired a slot within 60 s: 'once': one run for all that were missed". "No slot of it is fired until it is resumed; those in between are
// not made up for": the slot of 01:00 is not in between, and is neither made up for nor on record as missed.
test('CRON-2: a slot that was missed before a pause follows the policy, or is on record', async () => {
  const here = await start([], { worker: false, tools: [report] })
  const { schedules } = here.session('s')
  await schedules.create({ tool: report, input: {}, cron: '0 * * * *', catchUp: 'once', id: 'x' })
  const slot = clock.now() + hour
  await clock.advance(hour + 5 * minute)
  await schedules.pause('x')
  await clock.advance(minute)
  await schedules.resume('x')
  await start([report])
  await clock.advance(minute)
  expect(await schedules.history('x')).toMatchObject([{ slot }])
})

// CRON-3: an instant that passes while it is paused will never come: the schedule is over. It stays 'paused' and cannot be resumed; its monitor is
// open for ever, and so is a wait for it.
test('CRON-3: an instant that passes during a pause has ended when it is resumed', async () => {
  const { schedules, tasks } = (await start([report])).session('s')
  const { schedule } = await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { at: clock.now() + hour })
  await schedules.pause(schedule)
  await clock.advance(2 * hour)
  await schedules.resume(schedule).catch(() => null)
  expect(await schedules.get(schedule)).toMatchObject({ state: 'ended' })
  expect(await tasks.get('m')).not.toMatchObject({ state: 'running' })
})

// Guide: "overlap 'queue': it waits for the one before"; "the run before is still open".
test('CRON-2: with queue a run waits for the one before also while that waits for a signal', async () => {
  const begun: string[] = []
  const asks = tool({
    name: 'asks',
    description: 'Asks',
    input: z.object({}),
    onCrash: 'rerun',
    background: true,
    async execute(_, ctx) {
      begun.push(ctx.task?.id ?? '')
      await ctx.task?.signal('go')
      return 'done'
    },
  })
  const { schedules, tasks } = (await start([asks])).session('s')
  const first = clock.now() + hour
  await schedules.create({ tool: asks, input: {}, cron: '0 * * * *', overlap: 'queue', id: 'x' })
  await clock.advance(hour)
  await clock.advance(hour)
  await settled()
  expect(new Set(begun)).toEqual(new Set([`x.${first}`]))
  await tasks.signal(`x.${first}`, 'go', null)
  await vi.waitUntil(() => new Set(begun).size === 2, { interval: 1, timeout: 2000 })
})

test('CRON-2: with queue a run waits for the one before also while that waits for an approval', async () => {
  const risky = tool({
    name: 'risky',
    description: 'Risky',
    input: z.object({}),
    onCrash: 'rerun',
    background: true,
    approval: 'always',
    execute: () => 'done',
  })
  const { schedules, tasks } = (await start([risky])).session('s')
  await schedules.create({ tool: risky, input: {}, cron: '*/5 * * * *', overlap: 'queue', id: 'x' })
  await clock.advance(5 * minute)
  await clock.advance(5 * minute)
  await settled()
  const states = (await tasks.list()).map(({ state }) => state).toReversed()
  // The second must not ask before the first has run: whoever says yes to it would let it run out of order.
  expect(states).toEqual(['awaiting_input', 'queued'])
})

// Each of these is one change of a few rows; that others ask at the same moment is no fault of the store.
test('CRON-3: 150 run it now at once, and each gets its task', async () => {
  const { schedules } = (await start([report])).session('s')
  await schedules.create({ tool: report, input: {}, cron: '0 * * * *', overlap: 'parallel', id: 'x' })
  const all = await Promise.allSettled(Array.from({ length: 150 }, () => schedules.runNow('x')))
  expect(all.filter(({ status }) => status === 'rejected').map((each) => String((each as PromiseRejectedResult).reason))).toEqual([])
})

// endSession: "nothing is started in it any more". A message is told all the same until the chore has come round, and by hand even after.
test('TASK-10: of a session that has ended no schedule tells a message', async () => {
  const here = await start([report], { worker: false })
  const session = here.session('s')
  await session.schedules.create({ message: 'Hello', cron: '0 * * * *', id: 'x' })
  await session.end()
  await expect(session.schedules.runNow('x')).rejects.toMatchObject({ code: 'session_ended' })
})

// prune: "Forget what settled longer ago than this".
test('DUR-10: a monitor that was cancelled just now is not forgotten by a prune of what is older than 30 days', async () => {
  const runtime = await start([report])
  const { tasks } = runtime.session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'x' }, { cron: '0 0 * * *' })
  await clock.advance(hour)
  await tasks.cancel('x')
  await runtime.prune({ olderThan: '30d' })
  expect(await tasks.get('x')).toMatchObject({ state: 'cancelled' })
})

// "it waits for the one before": the one before has not ended; it is tried again in a moment.
test('CRON-2: with queue a run waits for the one before also between two tries of it', async () => {
  const ran: string[] = []
  const flaky = tool({
    name: 'flaky',
    description: 'Flaky',
    input: z.object({}),
    onCrash: 'rerun',
    background: true,
    retry: { attempts: 5, base: '7m', cap: '7m' },
    execute(_, ctx) {
      ran.push(ctx.task?.id ?? '')
      if (ran.length === 1) throw retry({ after: '7m' })
      return 'done'
    },
  })
  const { schedules } = (await start([flaky])).session('s')
  const first = clock.now() + 5 * minute
  await schedules.create({ tool: flaky, input: {}, cron: '*/5 * * * *', overlap: 'queue', id: 'x' })
  for (let n = 0; n < 30; n++) await clock.advance(minute)
  expect(ran.slice(0, 3)).toEqual([`x.${first}`, `x.${first}`, `x.${first + 5 * minute}`])
})

// CRON-1: "bad input is refused with the reason". These are words that every object knows.
test.each(['constructor', '__proto__'])('CRON-1: the cron expression %s is refused as what it is', async (cron) => {
  const { schedules } = (await start([report])).session('s')
  await expect(schedules.create({ tool: report, input: {}, cron })).rejects.toMatchObject({ code: 'schedule_invalid' })
})
