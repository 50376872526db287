// Lists of a whole runtime for operators: tasks, schedules, policy rules, providers and recent events.

import { createRuntime, type Runtime } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
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

test('CRON-3: paused and ended schedules of all sessions are listed apart, without secrets', async () => {
  const create = (session: string, tenant: string, id = 'daily') =>
    runtime
      .session(session, { tenant })
      .schedules.create({ id, tool: 'job', input: {}, cron: '0 9 * * *', title: secret })
  for (const session of ['a', 'b', 'c']) await create(session, 'acme')
  await create('a', 'rival')
  const pause = (session: string, tenant = 'acme') => runtime.session(session, { tenant }).schedules.pause('daily')
  expect(await runtime.schedules.stopped()).toEqual({ schedules: [], complete: true })
  await Promise.all([pause('a'), pause('c'), pause('a', 'rival')])
  const { schedules, complete } = await runtime.schedules.stopped({ tenant: 'acme' })
  expect(schedules.map(({ session }) => session).toSorted()).toEqual(['a', 'c'])
  expect(schedules[0]).toMatchObject({
    id: 'daily',
    state: 'paused',
    nextAt: null,
    title: '[redacted]',
    tenant: 'acme',
  })
  expect(complete).toBe(true)
  expect(await runtime.schedules.stopped({ tenant: 'acme', limit: 1 })).toMatchObject({ complete: false })
  await runtime.session('a', { tenant: 'acme' }).schedules.resume('daily')
  expect((await runtime.schedules.stopped({ tenant: 'acme' })).schedules).toMatchObject([{ session: 'c' }])
  await runtime
    .session('once', { tenant: 'acme' })
    .schedules.create({ id: 'once', message: 'Hi', at: clock.now() + 1_000 })
  await clock.advance('2s')
  const ended = async () =>
    (await runtime.schedules.stopped({ tenant: 'acme' })).schedules.find(({ id }) => id === 'once')
  await vi.waitFor(async () => expect(await ended()).toMatchObject({ state: 'ended', session: 'once' }))
})

test('FEED-1: recent events come newest first, in pages without gap or repeat', async () => {
  const types = ['schedule.paused', 'schedule.resumed'] as const
  const pages = async (query: { limit?: number; tenants?: string[] }): Promise<string[]> => {
    const found: string[] = []
    for (let before: string | null | undefined; before !== null;) {
      const page = await runtime.recentEvents({ types, ...query, ...(before === undefined ? {} : { before }) })
      found.push(...page.events.map(({ type, session, tenant }) => `${type} ${tenant}/${session}`))
      before = page.next
    }
    return found
  }
  expect(await pages({})).toEqual([])
  const expected: string[] = []
  for (let n = 0; n < 9; n++) {
    const [session, tenant] = [`s${n}`, n % 3 === 0 ? 'rival' : 'acme']
    const { schedules } = runtime.session(session, { tenant })
    await schedules.create({ id: 'x', tool: 'job', input: {}, cron: '0 9 * * *' })
    await schedules.pause('x')
    await schedules.resume('x')
    expected.unshift(`schedule.resumed ${tenant}/${session}`, `schedule.paused ${tenant}/${session}`)
    // Other events in between, more than one window of the store in all.
    for (let calls = 0; calls < 40; calls++)
      await runtime.session('noise').run([{ id: `${n}-${calls}`, name: 'job', input: {} }])
  }
  expect(await pages({})).toEqual(expected)
  for (const limit of [1, 2, 3, 7, 18]) expect(await pages({ limit }), String(limit)).toEqual(expected)
  expect(await pages({ limit: 2, tenants: ['rival'] })).toEqual(expected.filter((each) => each.includes('rival')))
  await expect(runtime.recentEvents({ types, before: 'nonsense' })).rejects.toMatchObject({ code: 'cursor_invalid' })
})

test('TOOL-5: a provider says how it is reached, and is reconnected on request', async () => {
  expect(runtime.tools.providers()).toMatchObject([{ details: {}, reconnectable: false }])
  expect(await runtime.tools.reconnect('post')).toBe(false)
  expect(await runtime.tools.reconnect('none')).toBe(false)
  let reconnects = 0
  const other = Object.assign(new Changing([], 'other'), {
    details: () => ({ transport: 'stdio', protocol: '2026-07-28', latencyMs: 12, token: secret }),
    reconnect: () => void reconnects++,
  })
  await runtime.tools.provide(other)
  const state = () => runtime.tools.providers()[1]
  expect(state()).toMatchObject({ tools: 0, reconnectable: true })
  expect(state()?.details).toEqual({ transport: 'stdio', protocol: '2026-07-28', latencyMs: 12 })
  other.tools = [mail({ name: 'later' })]
  expect(await runtime.tools.reconnect('other')).toBe(true)
  expect([reconnects, state()?.tools]).toEqual([1, 1])
  other.details = () => {
    throw new Error('not now')
  }
  expect(state()?.details).toEqual({})
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
