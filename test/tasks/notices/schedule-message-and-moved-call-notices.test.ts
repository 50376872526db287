// TASK-6, TASK-9, CRON-3, FEED-1: moved calls, messages that are told by hand, and who did what.

import { createRuntime, type Runtime, type RuntimeOptions, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import { freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'

const input = { type: 'object' } as const
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})
const rests = async (clock: ManualClock): Promise<void> => {
  for (let n = 0; n < 40; n++) await clock.advance(5_000)
}

describe.each([
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const)('late: and besides, on %s', (_kind, fresh) => {
  const world = (): { clock: ManualClock; store: Store; open: (options?: Partial<RuntimeOptions>, on?: Store) => Promise<Runtime> } => {
    const { clock, store } = fresh()
    const open = async (options: Partial<RuntimeOptions> = {}, on: Store = store): Promise<Runtime> => {
      const runtime = await createRuntime({ store: on, clock, logger: quiet, ...options })
      if (on === store) runtimes.push(runtime)
      return runtime
    }
    return { clock, store, open }
  }
  const eventsOf = async (runtime: Runtime, id = 's') => {
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 100)
    const found = []
    for await (const event of runtime.session(id).events({ signal: stop.signal })) found.push(event)
    return found
  }

  test('TASK-9 CRON-3: a message of a schedule that is run by hand wakes its session, as one that the clock runs does', async () => {
    const { clock, open } = world()
    const model = scriptedModel(['Said', 'Heard'], { name: 'm' })
    const runtime = await open({ models: [model], wake: true })
    const session = runtime.session('s')
    await session.turn({ model: 'm', message: 'Go' }).outcome
    const { id } = await session.schedules.create({ message: 'Look after the trial', cron: '0 9 1 1 *' })
    await rests(clock)
    await session.schedules.runNow(id)
    await rests(clock)
    expect(model.asked).toBe(2)
    expect(await session.notices.list()).toEqual([])
  })

  test.each([
    ['stop', 'silent', 'abandoned'],
    ['rerun', 'on_activity', 'succeeded'],
  ] as const)('TASK-6 TASK-9: a moved call (%s, %s) that lost its worker: the session is told so', async (onCrash, wake, state) => {
    const { clock, store, open } = world()
    let ran = 0
    const t = tool({
      name: 'work',
      description: 'd',
      input,
      onCrash,
      background: true,
      timeout: '1d',
      execute: () => (++ran === 1 ? new Promise(() => {}) : 'ok'),
    })
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
    await rests(clock)
    const session = second.session('s')
    expect((await session.tasks.get(task?.id ?? ''))?.state).toBe(state)
    expect((await session.notices.list()).map(({ about }) => about)).toContain('lost')
  })

  test('FEED-1: a schedule that a body made is told with the call that made it', async () => {
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

  test('DUR-12 TASK-3: a secret that became known later is in nothing that is shown of a task', async () => {
    const { clock, open } = world()
    const token = 'tok-0123456789-abcdef'
    const t = tool({
      name: 'work',
      description: 'd',
      input,
      onCrash: 'rerun',
      background: true,
      async execute(_, ctx) {
        ctx.task?.status(`At ${token}`)
        await ctx.task?.artifact({ name: 'a', type: 'x', url: `https://x.example/${token}` })
        await ctx.task?.link(`https://jobs.example/?t=${token}`)
        await ctx.task?.message(`Job ${token}`)
        return 'ok'
      },
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

  test('WAIT-1 TASK-9: a moved call that waits for the outside costs nothing while it waits', async () => {
    const { clock, store, open } = world()
    const t = tool({
      name: 'work',
      description: 'd',
      input,
      onCrash: 'rerun',
      background: true,
      async execute(_, ctx) {
        return ctx.later({ deadline: '3d' }) as never
      },
    })
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

  test('DUR-12 TASK-9: one task that cannot be opened keeps its session neither from its notices nor from its turns', async () => {
    const { clock, store, open } = world()
    const t = tool({ name: 'work', description: 'd', input, onCrash: 'rerun', background: true, sensitive: true, execute: () => 'ok' })
    const model = scriptedModel([{ when: /./, say: 'Said' }], { name: 'm' })
    const runtime = await open({ tools: [t], models: [model] })
    const session = runtime.session('s')
    await session.tasks.start({ tool: 'work', id: 'a' })
    await session.tasks.start({ tool: 'work', id: 'b' })
    await clock.advance(2_000)
    const name = { of: 'task', tenant: 'default', session: 's', key: 'a' }
    const kept = await store.document(name)
    // Somebody changed a letter on the disk.
    const value = `${kept?.value.slice(0, -4)}AAAA`
    await store.commit({ guards: [], documents: [{ ...name, value }], events: [] })
    const listed = await session.notices.list().then(
      (all) => all.map(({ task }) => task),
      (error: { code: string }) => error.code,
    )
    const turn = await session.turn({ model: 'm', message: 'Go' }).outcome
    expect({ listed, turn: turn.status }).toEqual({ listed: ['b'], turn: 'success' })
  })
})
