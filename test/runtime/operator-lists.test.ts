// Lists of a whole runtime for operators: tasks, upcoming schedules, policy rules and providers.

import { createRuntime, type Runtime } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Changing, changed, mail } from '../kit/changing-provider.ts'
import { rerunTask } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const secret = 'sk-of-the-operator-4711'
let runtime: Runtime
let provider: Changing
let clock: ManualClock

beforeEach(async () => {
  provider = new Changing([mail()])
  clock = manualClock()
  runtime = await createRuntime({
    store: 'memory:',
    clock,
    tools: [rerunTask('job', () => 'done')],
    providers: [provider],
    secrets: [secret],
    policy: [
      { rules: [{ tool: 'job', tenant: 'acme', then: 'allow', reason: 'Jobs of acme' }] },
      { rules: [{ tool: 'mail', then: 'ask' }] },
    ],
    logger: quiet,
  })
})
afterEach(() => runtime.close())

test('CALL-6: recent calls can be limited to tasks, which their rows name', async () => {
  const session = runtime.session('s', { tenant: 'acme' })
  await session.run([{ id: 'c', name: 'job', input: {} }])
  const task = await session.tasks.start({ tool: 'job', input: {}, id: 'report' })
  await session.tasks.wait(task.id)
  const { calls } = await runtime.calls.recent({ tenant: 'acme', tasks: true })
  expect(calls).toMatchObject([{ session: 's', callId: 'report', uid: task.call }])
  expect((await runtime.calls.recent({ tenant: 'acme' })).calls).toHaveLength(2)
})

test('SCHED-1: upcoming schedules of all sessions come by their next slot, without secrets', async () => {
  const create = (id: string, at: string, tenant: string, title = id) =>
    runtime.session(`of-${id}`, { tenant }).schedules.create({ id, tool: 'job', input: {}, at, title })
  await create('late', '2999-01-03T00:00:00Z', 'acme')
  await create('early', '2999-01-01T00:00:00Z', 'acme', `Report with ${secret}`)
  await create('other', '2999-01-02T00:00:00Z', 'rival')
  await create('paused', '2999-01-02T00:00:00Z', 'acme')
  await runtime.session('of-paused', { tenant: 'acme' }).schedules.pause('paused')
  const first = await runtime.schedules.upcoming({ tenant: 'acme', limit: 1 })
  expect(first.schedules).toMatchObject([
    { id: 'early', session: 'of-early', tenant: 'acme', title: 'Report with [redacted]', state: 'active' },
  ])
  const second = await runtime.schedules.upcoming({ tenant: 'acme', after: first.next ?? '' })
  expect(second).toMatchObject({ schedules: [{ id: 'late' }], next: null })
  const all = await runtime.schedules.upcoming()
  expect(all.schedules.map(({ id }) => id)).toEqual(['early', 'other', 'late'])
})

test('POL-1: the rules of the policy are listed as written, without those of other tenants', () => {
  expect(runtime.policyRules()).toEqual([
    { layer: 0, index: 0, rule: { tool: 'job', tenant: 'acme', then: 'allow', reason: 'Jobs of acme' } },
    { layer: 1, index: 0, rule: { tool: 'mail', then: 'ask' } },
  ])
  expect(runtime.policyRules({ tenant: 'rival' })).toMatchObject([{ layer: 1 }])
})

test('TOOL-5: a provider is listed with its state, the reason it is away, and its quarantined tools', async () => {
  expect(runtime.tools.providers()).toMatchObject([
    { name: 'post', trusted: false, available: true, problem: null, tools: 1, quarantined: 0 },
  ])
  const session = runtime.session('s', { tenant: 'acme' })
  await session.run([{ id: 'a', name: 'mail', input: {} }], { until: 'waiting' })
  await provider.become(clock, mail(changed))
  await runtime.explain({ tool: 'mail', session: 's' })
  const state = () => runtime.tools.providers()[0]
  expect(state()).toMatchObject({ available: true, quarantined: 1 })
  provider.listed = () => {
    throw new Error(`No route to the server with ${secret}`)
  }
  await provider.become(clock)
  expect(state()).toMatchObject({
    available: false,
    problem: 'No route to the server with [redacted]',
    since: clock.now() - 1_000,
    tools: 1,
  })
})
