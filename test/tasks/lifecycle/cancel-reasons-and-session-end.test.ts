// Cancel reasons, ended sessions, and the ends of moved calls.
import { createRuntime, fail, type Runtime, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { stores } from '../../kit/open-runtime.ts'
import { backgroundTool, hang, patient, simpleTool } from '../../kit/simple-tools.ts'

const input = { type: 'object' } as const

for (const [kind, fresh] of stores) {
  describe(`ends of tasks on ${kind}`, () => {
    for (const how of ['cancel_task', 'tasks.cancel', 'session.end'] as const) {
      test(`TASK-5: a long reason of ${how} is truncated in the record`, async () => {
        const { clock, store } = fresh()
        const runtime = await createRuntime({ store, clock, tools: [patient], logger: quiet })
        const session = runtime.session('s')
        await session.tasks.start({ tool: patient, id: 'a' })
        await clock.advance(100)
        const reason = 'x'.repeat(800_000)
        if (how === 'cancel_task')
          await session.run([{ id: 'c', name: 'cancel_task', input: { task_id: 'a', reason } }])
        else if (how === 'tasks.cancel') await session.tasks.cancel('a', reason)
        else await session.end({ reason })
        await clock.advance(10_000)
        expect(await session.tasks.get('a')).toMatchObject({ state: 'cancelled' })
        const events = await store.events({ after: 0, limit: 500 })
        const longest = Math.max(...events.map((event) => JSON.stringify(event).length))
        expect(longest).toBeLessThan(263_000) // sizes.event plus the fields around it
      })
    }

    test('TASK-10: session.end with a non-string reason is rejected or cancels its tasks', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [patient], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: patient, id: 'a' })
      await clock.advance(100)
      const ended = await session.end({ reason: 5 as never }).catch(() => 'refused')
      await clock.advance('5m')
      if (ended !== 'refused') expect(await session.tasks.get('a')).toMatchObject({ state: 'cancelled' })
    })

    test('TASK-10: spawn_background in an ended session fails with session_ended', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [patient], logger: quiet })
      const session = runtime.session('s')
      await session.end()
      await clock.advance(100)
      const run = session.run([{ id: 'c', name: 'spawn_background', input: { tool: 'patient', args: {} } }])
      const ended = await after(run, clock)
      expect(ended).toMatchObject({ value: [{ status: 'failure', failure: { code: 'session_ended' } }] })
    })

    test('TASK-10: a task that outlives its session produces no notices', async () => {
      const { clock, store } = fresh()
      let say = (): void => {}
      const t = backgroundTool('t', async (_, ctx) => {
        await new Promise<void>((resolve) => (say = resolve))
        await ctx.task?.message('hello?')
        return 'x'
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

    test('CALL-3, TASK-8: a moved call that fails later does not stop the rest of its batch', async () => {
      const { clock, store } = fresh()
      let failSlow = (): void => {}
      let endMid = (): void => {}
      const slow = backgroundTool(
        'slow',
        { timeout: '10h' },
        () => new Promise<string>((_r, reject) => (failSlow = () => reject(fail('no', { code: 'no' })))),
      )
      const mid = simpleTool(
        'mid',
        { timeout: '10h' },
        () => new Promise<string>((resolve) => (endMid = () => resolve('mid'))),
      )
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
      expect(await after(run, clock)).toMatchObject({
        value: [{ value: { status: 'running' } }, { value: 'mid' }, { value: 'last' }],
      })
    })

    test('TASK-6, TASK-8: a moved call whose worker dies is abandoned with a notice', async () => {
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
      const two = await createRuntime({ store: keepOpen(store), clock, tools: [slow], logger: quiet })
      const session = two.session('s')
      const joined = session.run([{ id: 'a', name: 'slow' }])
      expect(await after(joined, clock, 5_000, 100)).toMatchObject({ value: [{ value: { task_id: task?.id } }] })
      expect(await after(session.tasks.wait(task?.id ?? ''), clock)).toMatchObject({ value: { state: 'abandoned' } })
      expect((await session.notices.list()).map(({ task: id }) => id)).toEqual([task?.id])
    })

    test("TASK-8: run until 'waiting' returns the handle of a moved call", async () => {
      const { clock, store } = fresh()
      const slow = tool({ name: 'slow', description: 'd', input, background: true, timeout: '10h', execute: hang })
      const parks = simpleTool('parks', { concurrency: 'parallel' }, (_, ctx) => ctx.later({ deadline: '7d' }))
      const runtime = await createRuntime({ store, clock, tools: [slow, parks], logger: quiet })
      const run = runtime.session('s').run(
        [
          { id: 'a', name: 'slow' },
          { id: 'b', name: 'parks' },
        ],
        { background: '10s', until: 'waiting' },
      )
      expect(await after(run as Promise<unknown>, clock)).toMatchObject({
        value: [{ value: { status: 'running' } }, { callId: 'b' }],
      })
    })

    test('TASK-8: the result of a moved call is delivered once, by its run or by a notice', async () => {
      // The call settles between the write that moves it and the check by the waiting run.
      const { clock, store } = fresh()
      let end = (): void => {}
      const slow = backgroundTool(
        'slow',
        { timeout: '10h' },
        () => new Promise<string>((resolve) => (end = () => resolve('42 rows'))),
      )
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
      const value =
        typeof ended === 'object' && 'value' in ended && ended.value[0]?.status === 'success'
          ? ended.value[0].value
          : null
      const told = (await session.notices.list()).length
      expect({ result: value === '42 rows', told }).not.toEqual({ result: true, told: 1 })
    })
  })
}
