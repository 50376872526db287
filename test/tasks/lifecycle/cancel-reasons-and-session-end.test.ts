// Ends: of sessions, of tasks that were moved, of workers; and the reasons that are given for them.
import { createRuntime, fail, type Runtime, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { after, freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const hang = (): Promise<never> => new Promise(() => {})
const open = (store: Store): Store => ({ ...store, close: async () => {} })
const patient = tool({
  name: 'patient',
  description: 'd',
  input,
  onCrash: 'rerun',
  background: true,
  execute: (_, ctx) => new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('told')))),
})

for (const [kind, fresh] of [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const) {
  describe(`ends of tasks, on ${kind}`, () => {
    for (const how of ['cancel_task', 'tasks.cancel', 'session.end'] as const) {
      test(`TASK-5: a reason of ${how} is as short in the record as that of every other cancel`, async () => {
        // sessions/collect-outcomes.ts cuts reasons to sizes.event for batches and sessions; tasks/tasks.ts and end.ts do not.
        const { clock, store } = fresh()
        const runtime = await createRuntime({ store, clock, tools: [patient], logger: quiet })
        const session = runtime.session('s')
        await session.tasks.start({ tool: patient, id: 'a' })
        await clock.advance(100)
        const reason = 'x'.repeat(800_000)
        if (how === 'cancel_task') await session.run([{ id: 'c', name: 'cancel_task', input: { task_id: 'a', reason } }])
        else if (how === 'tasks.cancel') await session.tasks.cancel('a', reason)
        else await session.end({ reason })
        await clock.advance(10_000)
        expect(await session.tasks.get('a')).toMatchObject({ state: 'cancelled' })
        const events = await store.events({ after: 0, limit: 500 })
        const longest = Math.max(...events.map((event) => JSON.stringify(event).length))
        expect(longest).toBeLessThan(263_000) // sizes.event, and the words around it
      })
    }

    test('TASK-10: a session that ends for a reason that is no text ends its tasks all the same, or is refused', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [patient], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: patient, id: 'a' })
      await clock.advance(100)
      const ended = await session.end({ reason: 5 as never }).catch(() => 'refused')
      await clock.advance('5m')
      if (ended !== 'refused') expect(await session.tasks.get('a')).toMatchObject({ state: 'cancelled' })
    })

    test('TASK-10: a model that starts a task in a session that has ended reads so', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [patient], logger: quiet })
      const session = runtime.session('s')
      await session.end()
      await clock.advance(100)
      const run = session.run([{ id: 'c', name: 'spawn_background', input: { tool: 'patient', args: {} } }])
      const ended = await after(run, clock)
      expect(ended).toMatchObject({ value: [{ status: 'failure', failure: { code: 'session_ended' } }] })
    })

    test('TASK-10: of what goes on after its session nobody is told, what it says neither', async () => {
      // background.md: those "go on, and nobody is told of them".
      const { clock, store } = fresh()
      let say = (): void => {}
      const t = tool({
        name: 't',
        description: 'd',
        input,
        background: true,
        async execute(_, ctx) {
          await new Promise<void>((resolve) => (say = resolve))
          await ctx.task?.message('hello?')
          return 'x'
        },
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: t, id: 'a', wake: 'on_activity', onEnd: 'abandon' })
      await clock.advance(100)
      await session.end()
      await clock.advance(1_000)
      say()
      await clock.advance(1_000)
      expect(await session.tasks.get('a')).toMatchObject({ state: 'succeeded' })
      expect(await session.notices.list()).toEqual([])
    })

    test('CALL-3 TASK-8: a moved call that fails later does not stop what is left of its batch', async () => {
      const { clock, store } = fresh()
      let failSlow = (): void => {}
      let endMid = (): void => {}
      const slow = tool({
        name: 'slow',
        description: 'd',
        input,
        background: true,
        timeout: '10h',
        execute: () => new Promise<string>((_r, reject) => (failSlow = () => reject(fail('no', { code: 'no' })))),
      })
      const mid = tool({
        name: 'mid',
        description: 'd',
        input,
        timeout: '10h',
        execute: () => new Promise<string>((resolve) => (endMid = () => resolve('mid'))),
      })
      const last = tool({ name: 'last', description: 'd', input, execute: () => 'last' })
      const runtime = await createRuntime({ store, clock, tools: [slow, mid, last], logger: quiet })
      const session = runtime.session('s')
      const run = session.run(
        [
          { id: '1', name: 'slow' },
          { id: '2', name: 'mid' },
          { id: '3', name: 'last' },
        ],
        { onFailure: 'stop' },
      )
      await clock.advance(100)
      await session.tasks.adopt('1')
      await clock.advance(100)
      failSlow()
      await clock.advance(100)
      endMid()
      expect(await after(run, clock)).toMatchObject({ value: [{ value: { status: 'running' } }, { value: 'mid' }, { value: 'last' }] })
    })

    test('TASK-6 TASK-8: the worker of a moved call dies: it is abandoned, and the session is told; asked again, it is what it was', async () => {
      const { clock, store } = fresh()
      const dying = mortal(store)
      const slow = tool({ name: 'slow', description: 'd', input, background: true, timeout: '10h', execute: hang })
      const one = await createRuntime({ store: dying.store, clock, tools: [slow], logger: quiet })
      void one
        .session('s')
        .run([{ id: 'a', name: 'slow' }])
        .catch(() => {})
      await clock.advance(100)
      const task = await one.session('s').tasks.adopt('a')
      dying.die()
      const two = await createRuntime({ store: open(store), clock, tools: [slow], logger: quiet })
      const session = two.session('s')
      const joined = session.run([{ id: 'a', name: 'slow' }])
      expect(await after(joined, clock, 5_000, 100)).toMatchObject({ value: [{ value: { task_id: task?.id } }] })
      expect(await after(session.tasks.wait(task?.id ?? ''), clock)).toMatchObject({ value: { state: 'abandoned' } })
      expect((await session.notices.list()).map(({ task: id }) => id)).toEqual([task?.id])
    })

    test('TASK-8: a moved call runs until waiting: the run returns with the handle, and the call is no longer open to it', async () => {
      const { clock, store } = fresh()
      const slow = tool({ name: 'slow', description: 'd', input, background: true, timeout: '10h', execute: hang })
      const parks = tool({
        name: 'parks',
        description: 'd',
        input,
        concurrency: 'parallel',
        execute: (_, ctx) => ctx.later({ deadline: '7d' }),
      })
      const runtime = await createRuntime({ store, clock, tools: [slow, parks], logger: quiet })
      const run = runtime.session('s').run(
        [
          { id: 'a', name: 'slow' },
          { id: 'b', name: 'parks' },
        ],
        { background: '10s', until: 'waiting' },
      )
      expect(await after(run as Promise<unknown>, clock)).toMatchObject({ value: [{ value: { status: 'running' } }, { callId: 'b' }] })
    })

    test('TASK-8: the result of a moved call is told once: in a notice, or as the result of its run, not both', async () => {
      // adopt-task.ts: it may settle between the write that moves it and the look of whoever waits for it.
      const { clock, store } = fresh()
      let end = (): void => {}
      const slow = tool({
        name: 'slow',
        description: 'd',
        input,
        background: true,
        timeout: '10h',
        execute: () => new Promise<string>((resolve) => (end = () => resolve('42 rows'))),
      })
      const planted: Store = {
        ...store,
        async commit(change) {
          const committed = await store.commit(change)
          if (change.documents?.some(({ of }) => of === 'task')) {
            end()
            for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
          }
          return committed
        },
      }
      const runtime: Runtime = await createRuntime({ store: planted, clock, tools: [slow], logger: quiet })
      const session = runtime.session('s')
      const run = session.run([{ id: 'a', name: 'slow' }])
      await clock.advance(100)
      await session.tasks.adopt('a')
      const ended = await after(run, clock)
      const value = typeof ended === 'object' && 'value' in ended && ended.value[0]?.status === 'success' ? ended.value[0].value : null
      const told = (await session.notices.list()).length
      expect({ result: value === '42 rows', told }).not.toEqual({ result: true, told: 1 })
    })
  })
}
