// Schedules and monitors: ids, terminal states, pause and resume, overlap policy.

import { expect, test, vi } from 'vitest'
import { retry, type Runtime, type Tool } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { rerunTask } from '../kit/simple-tools.ts'
import { mortalWorld } from '../kit/worker-takeover.ts'

const minute = 60_000
const hour = 60 * minute

let clock: ManualClock
let store: Store
const world = mortalWorld('memory', (fresh) => void ({ clock, store } = fresh))
const start = (tools: readonly Tool[], options: object = {}): Promise<Runtime> => world.start(tools, store, options)
const report = rerunTask('report', () => 'done')
const settled = (): Promise<void> => clock.advance(0)

// A program that creates its schedule at every start, or a rerun body, repeats the request after the instant has
// passed.
test('CRON-1: creating a one-time schedule again after it fired returns the same schedule', async () => {
  const { schedules } = (await start([report])).session('s')
  const asked = { tool: report, input: {}, at: clock.now() + hour, id: 'x' }
  await schedules.create(asked)
  await clock.advance(2 * hour)
  expect(await schedules.get('x')).toMatchObject({ state: 'ended', runs: 1 })
  expect(await schedules.create(asked)).toMatchObject({ id: 'x', state: 'ended', runs: 1 })
})

test('TASK-2: a succeeded monitor stays succeeded when its schedule is removed', async () => {
  const { schedules, tasks } = (await start([report])).session('s')
  const { schedule, task } = await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { at: clock.now() + hour })
  await clock.advance(2 * hour)
  expect(await tasks.get(task.id)).toMatchObject({ state: 'succeeded' })
  await schedules.cancel(schedule)
  expect(await tasks.get(task.id)).toMatchObject({ state: 'succeeded' })
})

// Only the last 50 ended schedules are retained.
test('TASK-2: a succeeded monitor stays succeeded when its ended schedule is dropped', async () => {
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

test('TASK-1: a monitor does not replace a task with the same id', async () => {
  const { tasks } = (await start([report])).session('s')
  await tasks.start({ tool: 'report', input: {}, id: 'x' })
  expect(await tasks.wait('x')).toMatchObject({
    kind: 'background_tool',
    state: 'succeeded',
    outcome: { value: 'done' },
  })
  await tasks.schedule({ tool: 'report', input: {}, id: 'x' }, { at: clock.now() + hour }).catch(() => null)
  expect(await tasks.get('x')).toMatchObject({
    kind: 'background_tool',
    state: 'succeeded',
    outcome: { value: 'done' },
  })
})

test('TASK-1: a task does not replace a monitor with the same id', async () => {
  const { tasks } = (await start([report])).session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'x' }, { at: clock.now() + hour })
  await tasks.start({ tool: 'report', input: {}, id: 'x' }).catch(() => null)
  expect(await tasks.get('x')).toMatchObject({ kind: 'monitor', state: 'running' })
})

test('TASK-1: a cancelled monitor has the cancel time as its end', async () => {
  const { tasks } = (await start([report])).session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'x' }, { cron: '0 0 * * *' })
  await clock.advance(hour)
  const cancelledAt = clock.now()
  await tasks.cancel('x')
  expect((await tasks.get('x'))?.finishedAt).toBe(cancelledAt)
})

// Task ids may have 128 characters; the schedule id is derived from the end of the task id.
test('TASK-1: monitors with long ids that differ only at the beginning are distinct', async () => {
  const { tasks } = (await start([report])).session('s')
  const id = (first: string): string => first + 'x'.repeat(70)
  await tasks.schedule({ tool: 'report', input: {}, id: id('a') }, { cron: '0 0 * * *' })
  await tasks.schedule({ tool: 'report', input: {}, id: id('b') }, { cron: '0 0 * * *' })
  expect((await tasks.list({ kind: 'monitor' })).map((task) => task.id).toSorted()).toEqual([id('a'), id('b')])
})

// The slot of 01:00 was missed before the pause, so the pause must not swallow it: it is caught up or recorded.
test('CRON-2: a slot missed before a pause is caught up or recorded as missed', async () => {
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

// The instant can never fire any more. A schedule that stayed 'paused' would keep its monitor open forever.
test('CRON-3: a one-time schedule whose instant passes during a pause has ended after resume', async () => {
  const { schedules, tasks } = (await start([report])).session('s')
  const { schedule } = await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { at: clock.now() + hour })
  await schedules.pause(schedule)
  await clock.advance(2 * hour)
  await schedules.resume(schedule).catch(() => null)
  expect(await schedules.get(schedule)).toMatchObject({ state: 'ended' })
  expect(await tasks.get('m')).not.toMatchObject({ state: 'running' })
})

test('CRON-2: with queue, a run waits while the previous run waits for a signal', async () => {
  const begun: string[] = []
  const asks = rerunTask('asks', async (_, ctx) => {
    begun.push(ctx.task?.id ?? '')
    await ctx.task?.signal('go')
    return 'done'
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

test('CRON-2: with queue, a run waits while the previous run waits for an approval', async () => {
  const risky = rerunTask('risky', { approval: 'always' }, () => 'done')
  const { schedules, tasks } = (await start([risky])).session('s')
  await schedules.create({ tool: risky, input: {}, cron: '*/5 * * * *', overlap: 'queue', id: 'x' })
  await clock.advance(5 * minute)
  await clock.advance(5 * minute)
  await settled()
  const states = (await tasks.list()).map(({ state }) => state).toReversed()
  // An approval of the second run before the first has run would run them out of order.
  expect(states).toEqual(['awaiting_input', 'queued'])
})

// Concurrent writers of the same rows must be retried, not reported as a store failure.
test('CRON-3: 150 concurrent runNow calls all start a task', async () => {
  const { schedules } = (await start([report])).session('s')
  await schedules.create({ tool: report, input: {}, cron: '0 * * * *', overlap: 'parallel', id: 'x' })
  const all = await Promise.allSettled(Array.from({ length: 150 }, () => schedules.runNow('x')))
  expect(
    all.filter(({ status }) => status === 'rejected').map((each) => String((each as PromiseRejectedResult).reason)),
  ).toEqual([])
})

test('TASK-10: runNow of a message schedule is rejected after its session ended', async () => {
  const here = await start([report], { worker: false })
  const session = here.session('s')
  await session.schedules.create({ message: 'Hello', cron: '0 * * * *', id: 'x' })
  await session.end()
  await expect(session.schedules.runNow('x')).rejects.toMatchObject({ code: 'session_ended' })
})

test('DUR-10: pruning records older than 30 days keeps a monitor that was just cancelled', async () => {
  const runtime = await start([report])
  const { tasks } = runtime.session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'x' }, { cron: '0 0 * * *' })
  await clock.advance(hour)
  await tasks.cancel('x')
  await runtime.prune({ olderThan: '30d' })
  expect(await tasks.get('x')).toMatchObject({ state: 'cancelled' })
})

test('CRON-2: with queue, a run waits while the previous run waits for its retry', async () => {
  const ran: string[] = []
  const flaky = rerunTask('flaky', { retry: { attempts: 5, base: '7m', cap: '7m' } }, (_, ctx) => {
    ran.push(ctx.task?.id ?? '')
    if (ran.length === 1) throw retry({ after: '7m' })
    return 'done'
  })
  const { schedules } = (await start([flaky])).session('s')
  const first = clock.now() + 5 * minute
  await schedules.create({ tool: flaky, input: {}, cron: '*/5 * * * *', overlap: 'queue', id: 'x' })
  for (let n = 0; n < 30; n++) await clock.advance(minute)
  expect(ran.slice(0, 3)).toEqual([`x.${first}`, `x.${first}`, `x.${first + 5 * minute}`])
})

// Names of properties that every object inherits.
test.each(['constructor', '__proto__'])('CRON-1: the cron expression %s is rejected as invalid', async (cron) => {
  const { schedules } = (await start([report])).session('s')
  await expect(schedules.create({ tool: report, input: {}, cron })).rejects.toMatchObject({ code: 'schedule_invalid' })
})
