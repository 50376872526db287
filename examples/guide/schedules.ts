// docs/guide/background-schedules.part.md: schedules and triggers, with a clock that is moved by hand.

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntime, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { z } from 'zod'

const clock = manualClock(Date.parse('2026-03-02T05:30:00Z')) // a Monday

// #region tool
const report = tool({
  name: 'report',
  description: 'Exports the sales of a region',
  input: z.object({ region: z.string(), order: z.object({ id: z.number() }).optional() }),
  onCrash: 'rerun',
  background: true,
  execute: ({ region, order }) => (order ? `${region}: order ${order.id}` : `${region}: all`),
})
// #endregion

const runtime = await createRuntime({ store: 'memory:', tools: [report], clock })

// #region create
const session = runtime.session('support-42')

const weekly = await session.schedules.create({
  tool: report,
  input: { region: 'north' },
  cron: '0 7 * * 1', // Mondays at seven
  timezone: 'Europe/Berlin',
  title: 'Sales of the week',
  catchUp: 'once',
  overlap: 'skip',
})
// #endregion
assert.equal(weekly.nextAt, Date.parse('2026-03-02T06:00:00Z'))

await clock.advance('30m')
const ended = async (count: number): Promise<void> => {
  while ((await session.tasks.list()).filter(({ outcome }) => outcome).length < count) await sleep(1)
}
await ended(1)

// #region look
const [run] = await session.schedules.history(weekly.id)
const task = await session.tasks.get(run?.task ?? '')
const next = await session.schedules.nextTimes(weekly.id, 3)
// #endregion
assert.equal(run?.outcome, 'started')
assert.equal(task?.summary, 'north: all')
assert.equal(next[0], Date.parse('2026-03-09T06:00:00Z'))

// #region hands
await session.schedules.pause(weekly.id)
const { task: byHand } = await session.schedules.runNow(weekly.id)
await session.schedules.resume(weekly.id)
// #endregion
await session.tasks.wait(byHand ?? '')

// #region message
await session.schedules.create({ message: 'Ask how the trial went', at: '2026-03-16T09:00:00+01:00' })
// #endregion

// #region subscribe
await session.triggers.subscribe({
  event: 'order.paid',
  tool: report,
  input: { region: 'north' },
  payloadTo: 'order', // this argument gets what the event carries
})
await session.triggers.subscribe({ event: 'deploy.done', message: 'A new version is live' })
// #endregion

// #region emit
const order = { id: 7 }
const said = await runtime.emit('order.paid', order, { key: `paid-${order.id}` })
// #endregion
await ended(3)
const started = await session.tasks.wait(said.deliveries[0]?.task ?? '')
assert.equal(started.summary, 'north: order 7')
assert.equal((await runtime.emit('order.paid', order, { key: 'paid-7' })).again, true)

await runtime.close()
