// Schedules and triggers with one damaged row, a missing tool, or many slots: the rest keeps working.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { backgroundTool, rerunTask } from '../kit/simple-tools.ts'
import { mortalWorld } from '../kit/worker-takeover.ts'

const minute = 60_000
const hour = 60 * minute

let clock: ManualClock
let store: Store
const { open, start } = mortalWorld('memory', (fresh) => void ({ clock, store } = fresh))
const report = rerunTask('report', () => 'done')

test('TASK-8: a monitor created again under its id is listed as one task', async () => {
  const { tasks } = (await start([report])).session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { cron: '0 0 * * *' })
  await tasks.cancel('m')
  await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { cron: '0 0 * * *' })
  expect((await tasks.list()).map(({ id }) => id)).toEqual(['m'])
})

// A monitor writes one message per slot ("Monitor fired at …"), so an old schedule would accumulate them.
test('DUR-10: prune removes old messages of a monitor that is still active', async () => {
  const runtime = await start([report])
  const { tasks } = runtime.session('s')
  await tasks.schedule({ tool: 'report', input: {}, id: 'm' }, { cron: '0 * * * *' })
  for (let n = 0; n < 60; n++) await clock.advance(hour)
  await runtime.prune({ olderThan: '1h' })
  const left = await store.documentsOf({ of: 'task-message', tenant: 'default', session: 's', after: '', limit: 500 })
  expect(left.length).toBeLessThan(10)
})

// One damaged subscription row must not block every event of that name in the tenant.
test('CRON-4: an unreadable subscription does not block deliveries to other sessions', async () => {
  const secret = backgroundTool('secret', { sensitive: true }, () => 'done')
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

// During a rollout the old version has a tool of the same name that cannot run in the background. It must not consume
// the slot.
test('CRON-2: a slot is left to a worker whose tool can run in the background', async () => {
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

// The tool is removed while the worker checks whether the previous run is still open.
test('CRON-2: a slot whose tool is removed while it fires is left to a worker with the tool', async () => {
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
