// Notices of manually run schedules and moved calls, and related redaction.

import { type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test, vi } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { damageTask, mortal } from '../../kit/stores/killable-store.ts'
import { closedAfterEach, stores, workersOn } from '../../kit/open-runtime.ts'
import { backgroundTool, rerunTask } from '../../kit/simple-tools.ts'
import { letTimePass } from '../../kit/wait-until.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

describe.each(stores)('schedule and moved-call notices on %s', (_kind, fresh) => {
  const world = workersOn(fresh)
  const eventsOf = async (runtime: Runtime, id = 's') => {
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 100)
    const found = []
    for await (const event of runtime.session(id).events({ signal: stop.signal })) found.push(event)
    return found
  }

  test('TASK-9, CRON-3: runNow of a message schedule wakes its session', async () => {
    const { clock, open } = world()
    const model = scriptedModel(['Said', 'Heard'], { name: 'm' })
    const runtime = await open({ models: [model], wake: true })
    const session = runtime.session('s')
    await session.turn({ model: 'm', message: 'Go' }).outcome
    const { id } = await session.schedules.create({ message: 'Look after the trial', cron: '0 9 1 1 *' })
    await letTimePass(clock)
    await session.schedules.runNow(id)
    await letTimePass(clock)
    expect(model.asked).toBe(2)
    expect(await session.notices.list()).toEqual([])
  })

  test.each([
    ['stop', 'silent', 'abandoned'],
    ['rerun', 'on_activity', 'succeeded'],
  ] as const)(
    'TASK-6, TASK-9: a moved call (%s, %s) that lost its worker produces a notice',
    async (onCrash, wake, state) => {
      const { clock, store, open } = world()
      let ran = 0
      const t = backgroundTool('work', { onCrash, timeout: '1d' }, () => (++ran === 1 ? new Promise(() => {}) : 'ok'))
      const dying = mortal(store)
      const first = await open({ tools: [t] }, dying.store)
      first
        .session('s')
        .run([{ id: 'c', name: 'work', input: {} }])
        .catch(() => {})
      await vi.waitUntil(async () => (await clock.advance(100), ran === 1), { interval: 1 })
      const task = await first.session('s').tasks.adopt('c', { wake })
      await clock.advance(1_000)
      dying.die()
      const second = await open({ tools: [t] })
      await letTimePass(clock)
      const session = second.session('s')
      expect((await session.tasks.get(task?.id ?? ''))?.state).toBe(state)
      expect((await session.notices.list()).map(({ about }) => about)).toContain('lost')
    },
  )

  test('FEED-1: the event of a schedule created by a body names the call', async () => {
    const { clock, open } = world()
    const t = tool({ name: 'work', description: 'd', input, onCrash: 'rerun', background: true, execute: () => 'ok' })
    const runtime = await open({ tools: [t] })
    const [made] = await runtime.session('s').run([
      {
        id: 'c',
        name: 'spawn_background',
        input: { tool: 'work', args: {}, schedule: { cron_expression: '0 9 * * 1', timezone: 'UTC' } },
      },
    ])
    expect(made?.status).toBe('success')
    await clock.advance(1_000)
    const events = await eventsOf(runtime)
    const maker = events.find(({ type }) => type === 'call.received')?.call
    expect(events.filter(({ type }) => type === 'schedule.created').map(({ call }) => call)).toEqual([maker])
  })

  test('DUR-12, TASK-3: a secret learned later is redacted in everything shown of a task', async () => {
    const { clock, open } = world()
    const token = 'tok-0123456789-abcdef'
    const t = rerunTask('work', async (_, ctx) => {
      ctx.task?.status(`At ${token}`)
      await ctx.task?.artifact({ name: 'a', type: 'x', url: `https://x.example/${token}` })
      await ctx.task?.link(`https://jobs.example/?t=${token}`)
      await ctx.task?.message(`Job ${token}`)
      return 'ok'
    })
    const runtime = await open({ tools: [t] })
    const session = runtime.session('s')
    await session.tasks.start({ tool: 'work', id: 'a', title: `Job ${token}` })
    await clock.advance(2_000)
    await session.secrets.set('token', token)
    const task = await session.tasks.get('a')
    expect(task?.state).toBe('succeeded')
    expect({ title: task?.title, artifacts: task?.artifacts, links: task?.links, status: task?.status }).toEqual({
      title: 'Job [redacted]',
      artifacts: [{ name: 'a', type: 'x', url: 'https://x.example/[redacted]' }],
      links: { remote: ['https://jobs.example/?t=[redacted]'] },
      status: 'At [redacted]',
    })
  })

  test('WAIT-1, TASK-9: a parked moved call causes almost no writes', async () => {
    const { clock, store, open } = world()
    const t = rerunTask('work', (_, ctx) => ctx.later({ deadline: '3d' }))
    const model = scriptedModel(['Said', 'Heard'], { name: 'm' })
    let writes = 0
    const counted: Store = {
      ...store,
      commit: (change) => (change.documents?.some(({ of }) => of === 'due') && writes++, store.commit(change)),
    }
    const runtime = await open({ tools: [t], models: [model], wake: true }, counted)
    runtimes.push(runtime)
    const session = runtime.session('s')
    await session.turn({ model: 'm', message: 'Go' }).outcome
    const run = session.run([{ id: 'c', name: 'work', input: {} }], { background: '5s' })
    for (let n = 0; n < 10; n++) await clock.advance(1_000)
    expect((await run)[0]).toMatchObject({ status: 'success', value: { status: 'running' } })
    writes = 0
    for (let n = 0; n < 360; n++) await clock.advance(10_000)
    expect(writes).toBeLessThan(10)
  })

  test('DUR-12, TASK-9: an unreadable task blocks neither notices nor turns of its session', async () => {
    const { clock, store, open } = world()
    const t = tool({
      name: 'work',
      description: 'd',
      input,
      onCrash: 'rerun',
      background: true,
      sensitive: true,
      execute: () => 'ok',
    })
    const model = scriptedModel([{ when: /./, say: 'Said' }], { name: 'm' })
    const runtime = await open({ tools: [t], models: [model] })
    const session = runtime.session('s')
    await session.tasks.start({ tool: 'work', id: 'a' })
    await session.tasks.start({ tool: 'work', id: 'b' })
    await clock.advance(2_000)
    await damageTask(store, 'a')
    const listed = await session.notices.list().then(
      (all) => all.map(({ task }) => task),
      (error: { code: string }) => error.code,
    )
    const turn = await session.turn({ model: 'm', message: 'Go' }).outcome
    expect({ listed, turn: turn.status }).toEqual({ listed: ['b'], turn: 'success' })
  })
})
