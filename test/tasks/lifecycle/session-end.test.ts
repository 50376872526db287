// Tasks when their session or the task that started them ends.

import { describe, expect, test, vi } from 'vitest'
import type { Runtime, Tool } from '../../../src/index.ts'
import type { Store } from '../../../src/store/store.ts'
import { type ManualClock } from '../../../src/testing/manual-clock.ts'
import { type Mortal, type StoreKind } from '../../kit/stores/killable-store.ts'
import { mortalWorld } from '../../kit/worker-takeover.ts'
import { hang, rerunTask } from '../../kit/simple-tools.ts'

describe.each(['memory', 'sqlite'] as const)('session end on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const { start } = mortalWorld(kind, (fresh) => void ({ clock, store, first } = fresh))
  const states = async (runtime: Runtime): Promise<Record<string, string>> =>
    Object.fromEntries((await runtime.session('s').tasks.list()).map(({ id, state }) => [id, state]))
  const become = async (runtime: Runtime, expected: Record<string, string>): Promise<void> =>
    vi.waitFor(async () => expect(await states(runtime)).toEqual(expected), { interval: 2, timeout: 3_000 })

  /** Rejects when the signal aborts. */
  const patient = rerunTask(
    'patient',
    (_, ctx) =>
      new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('told')))),
  )

  test('TASK-10: ending a session cancels its tasks, except those with onEnd abandon', async () => {
    const runtime = await start([patient])
    const session = runtime.session('s')
    await session.tasks.start({ tool: patient, id: 'a' })
    await session.tasks.start({ tool: patient, id: 'b', onEnd: 'abandon' })
    await runtime.session('other').tasks.start({ tool: patient, id: 'c' })
    await become(runtime, { a: 'running', b: 'running' })
    expect(await session.end({ reason: 'Enough', by: 'user:ada' })).toBe(true)
    expect(await session.end()).toBe(false)
    await become(runtime, { a: 'cancelled', b: 'running' })
    expect(await session.tasks.get('a')).toMatchObject({ summary: 'Enough' })
    expect(await runtime.session('other').tasks.get('c')).toMatchObject({ state: 'running' })
    await expect(session.tasks.start({ tool: patient })).rejects.toMatchObject({ code: 'session_ended' })
    expect((await session.notices.list()).map(({ task }) => task)).toEqual(['a'])
  })

  test("TASK-10: session.end with tasks 'cancel' overrides onEnd and removes schedules", async () => {
    const runtime = await start([patient])
    const session = runtime.session('s')
    await session.tasks.start({ tool: patient, id: 'a', onEnd: 'abandon' })
    await session.schedules.create({ tool: patient, cron: '* * * * *' })
    await session.triggers.subscribe({ event: 'go', tool: patient })
    await session.end({ tasks: 'cancel' })
    await become(runtime, { a: 'cancelled' })
    await vi.waitUntil(
      async () => (await session.schedules.list()).length + (await session.triggers.list()).length === 0,
      { interval: 1 },
    )
    await expect(session.schedules.create({ tool: patient, cron: '* * * * *' })).rejects.toMatchObject({
      code: 'session_ended',
    })
    await expect(session.end({ tasks: 'stop' as never })).rejects.toMatchObject({ code: 'task_invalid' })
  })

  test('TASK-10: after a crash another worker carries out a recorded session end', async () => {
    const a = await start([patient], first.store)
    const session = a.session('s')
    await session.tasks.start({ tool: patient, id: 'a' })
    await become(a, { a: 'running' })
    // A process with worker: false records the end, and the worker dies before it learns of it.
    const door = await start([patient], store, { worker: false })
    first.die()
    expect(await door.session('s').end()).toBe(true)
    const b = await start([patient])
    await clock.advance('31s')
    await become(b, { a: 'cancelled' })
  })

  test('TASK-10: the end of a task cancels its children, except onEnd abandon, even after a crash', async () => {
    let die = (): void => {}
    const parent = (crash: boolean): Tool =>
      rerunTask('parent', async (_, ctx) => {
        await ctx.tasks.start({ tool: patient, id: 'child' })
        await ctx.tasks.start({ tool: patient, id: 'free', onEnd: 'abandon' })
        if (crash) {
          die()
          await hang()
        }
        return 'over'
      })
    die = () => first.die()
    const a = await start([parent(true), patient], first.store)
    await a.session('s').tasks.start({ tool: 'parent', id: 'p' })
    await vi.waitUntil(
      async () => (await store.document({ of: 'task', tenant: 'default', session: 's', key: 'free' })) !== undefined,
      {
        interval: 1,
      },
    )
    const b = await start([parent(false), patient])
    await clock.advance('31s')
    await clock.advance('5s')
    await become(b, { p: 'succeeded', child: 'cancelled', free: 'running' })
    expect(await b.session('s').tasks.get('child')).toMatchObject({
      parent: 'p',
      summary: 'The task that started it has ended',
    })
  })
})
