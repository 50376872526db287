// What a runner tells of its task, and what becomes of it where the call is let go of, or where a write is refused.
import type { PawlError } from 'pawl'
import { createRuntime, retry, type Runtime, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { after, freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const hang = (): Promise<never> => new Promise(() => {})
const logOf = async (runtime: Runtime, id: string): Promise<string> =>
  runtime
    .session('s')
    .files.read(`/.background/${id}/output.log`)
    .then(
      ({ text }) => text ?? '',
      (error: PawlError) => error.code,
    )
const open = (store: Store): Store => ({ ...store, close: async () => {} })

for (const [kind, fresh] of [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const) {
  describe(`what a task tells, on ${kind}`, () => {
    test('TASK-4: what a body said right before it parked is in its log, also if the answer was there already', async () => {
      const { clock, store } = fresh()
      let key = ''
      const t = tool({
        name: 't',
        description: 'd',
        input,
        background: true,
        async execute(_, ctx) {
          const later = await ctx.later<string>({ deadline: '7d' })
          key = later.key
          ctx.output('handed over\n')
          ctx.task?.status('Handed over')
          ctx.progress({ current: 1, total: 2 })
          await runtime.resolve(key, { value: 'answered' })
          return later
        },
      })
      const runtime: Runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: t, id: 'a' })
      expect(await after(session.tasks.wait('a'), clock, 60_000, 1_000)).toMatchObject({ value: { state: 'succeeded' } })
      expect(await session.tasks.get('a')).toMatchObject({ progress: { current: 1 } })
      expect(await logOf(runtime, 'a')).toContain('handed over')
    })

    test('TASK-4: what a body said right before it parked is in its log', async () => {
      const { clock, store } = fresh()
      const t = tool({
        name: 't',
        description: 'd',
        input,
        background: true,
        async execute(_, ctx) {
          const later = await ctx.later<string>({ deadline: '7d' })
          ctx.output('handed over\n')
          return later
        },
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      await runtime.session('s').tasks.start({ tool: t, id: 'a' })
      await clock.advance(2_000)
      expect(await logOf(runtime, 'a')).toContain('handed over')
    })

    test('TASK-4 DUR-13: what a body said before its worker closed in order is in its log', async () => {
      const { clock, store } = fresh()
      const t = tool({
        name: 't',
        description: 'd',
        input,
        background: { recovery: 'owner_bound' },
        async execute(_, ctx) {
          ctx.output('charged the card\n')
          ctx.progress({ current: 1, total: 2 })
          return hang()
        },
      })
      const one = await createRuntime({ store: open(store), clock, tools: [t], logger: quiet })
      await one.session('s').tasks.start({ tool: t, id: 'a' })
      await clock.advance(100)
      const closing = one.close({ grace: 0 })
      expect(await after(closing, clock, 10_000, 100)).toHaveProperty('value')
      const two = await createRuntime({ store: open(store), clock, tools: [t], logger: quiet })
      await clock.advance(60_000)
      expect(await two.session('s').tasks.get('a')).toMatchObject({ state: 'abandoned' })
      expect(await two.session('s').tasks.get('a')).toMatchObject({ progress: { current: 1 } })
      expect(await logOf(two, 'a')).toContain('charged the card')
    })

    test('close() while a task runs leaves no timer', async () => {
      const { clock, store } = fresh()
      const t = tool({
        name: 't',
        description: 'd',
        input,
        background: true,
        execute(_, ctx) {
          ctx.output('x\n')
          return hang()
        },
      })
      const before = clock.pending
      const one = await createRuntime({ store: open(store), clock, tools: [t], logger: quiet })
      await one.session('s').tasks.start({ tool: t, id: 'a' })
      await clock.advance(100)
      await after(one.close({ grace: 0 }), clock, 1, 1)
      expect(clock.pending).toBe(before)
    })

    for (const what of ['messages', 'events'] as const) {
      test(`TASK-7 TASK-8: two ${what} at once, and the worker dies between their two writes: each is told once`, async () => {
        // calls/task-execution/task-context.ts, calls/task-execution/emit-task-event.ts: what is kept goes with whatever the holder writes next, here with the step of the first: the
        // second is on record without its step, and told again. (A group commit hides it until it halves a group of 16, or on another store.)
        const { clock, store } = fresh()
        const dying = mortal(store)
        const first: Store = {
          ...dying.store,
          write(change, heard, how) {
            dying.store.write(change, heard, how)
            if (change.steps?.some(({ key }) => key === 'message:1' || key === 'emit:1')) dying.die()
          },
        }
        const t = tool({
          name: 't',
          description: 'd',
          input,
          onCrash: 'rerun',
          background: { events: { told: {} } },
          async execute(_, ctx) {
            if (what === 'messages') await Promise.all([ctx.task?.message('one'), ctx.task?.message('two')])
            else await Promise.all([ctx.emit('told', 'one'), ctx.emit('told', 'two')])
            return 'ok'
          },
        })
        const one = await createRuntime({ store: first, clock, tools: [t], logger: quiet })
        await one.session('s').tasks.start({ tool: t, id: 'a' })
        await clock.advance(100)
        const two = await createRuntime({ store: open(store), clock, tools: [t], logger: quiet })
        const session = two.session('s')
        expect(await after(session.tasks.wait('a'), clock)).toMatchObject({ value: { state: 'succeeded', attempt: 2 } })
        const told =
          what === 'messages'
            ? (await session.tasks.messages('a')).map(({ text }) => text)
            : (await session.tasks.events('a')).map(({ payload }) => payload)
        expect(told).toEqual(['one', 'two'])
      })
    }

    test('TASK-7: a terminal event is the end: a body that throws after it is not tried again', async () => {
      const { clock, store } = fresh()
      let runs = 0
      const t = tool({
        name: 't',
        description: 'd',
        input,
        onCrash: 'rerun',
        retry: { attempts: 3 },
        background: { events: { done: { terminal: 'succeeded' } } },
        async execute(_, ctx) {
          runs++
          await ctx.emit('done', { n: 1 })
          throw retry({ after: '1s', message: 'tidying up failed' })
        },
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: t, id: 'a' })
      expect(await after(session.tasks.wait('a'), clock)).toMatchObject({ value: { state: 'succeeded', outcome: { value: { n: 1 } } } })
      expect(runs).toBe(1)
    })

    for (const rest of ['parks', 'hangs'] as const) {
      test(`TASK-7: a terminal event makes the end of the task, also where its body ${rest} after it`, async () => {
        const { clock, store } = fresh()
        const t = tool({
          name: 't',
          description: 'd',
          input,
          onCrash: 'rerun',
          background: { events: { done: { terminal: 'succeeded' } } },
          async execute(_, ctx): Promise<unknown> {
            await ctx.emit('done', { n: 1 })
            return rest === 'parks' ? ctx.later({ deadline: '30d' }) : ctx.task?.signal('never', { deadline: '30d' })
          },
        })
        const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
        const session = runtime.session('s')
        await session.tasks.start({ tool: t, id: 'a' })
        expect(await after(session.tasks.wait('a'), clock)).toMatchObject({ value: { state: 'succeeded', outcome: { value: { n: 1 } } } })
      })
    }

    test('TASK-7 TASK-2: a terminal event, then a cancel: the end that was told stands', async () => {
      const { clock, store } = fresh()
      const t = tool({
        name: 't',
        description: 'd',
        input,
        background: { events: { done: { terminal: 'succeeded' } } },
        async execute(_, ctx) {
          await ctx.emit('done', { n: 1 })
          return hang()
        },
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: t, id: 'a' })
      await clock.advance(100)
      await session.tasks.cancel('a')
      expect(await after(session.tasks.wait('a'), clock)).toMatchObject({ value: { state: 'succeeded', outcome: { value: { n: 1 } } } })
    })

    test('TASK-7: the payload of a terminal event is the result: it is as the tool declares its results', async () => {
      const { clock, store } = fresh()
      const t = tool({
        name: 't',
        description: 'd',
        input,
        output: { type: 'object', properties: { rows: { type: 'number' } }, required: ['rows'] },
        background: { events: { done: { terminal: 'succeeded' } } },
        async execute(_, ctx) {
          await ctx.emit('done', 'no rows here')
          return { rows: 1 }
        },
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: t, id: 'a' })
      const ended = await after(session.tasks.wait('a'), clock)
      expect(ended).not.toMatchObject({ value: { state: 'succeeded', outcome: { value: 'no rows here' } } })
    })
  })
}
