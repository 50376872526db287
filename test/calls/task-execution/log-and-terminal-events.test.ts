// Output, messages and events of a task when its call parks, its worker closes, or a write is lost.
import type { PawlError } from 'pawl'
import { type Clock, createRuntime, retry, type Runtime, type Session, type Tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { backgroundTool, hang, rerunTool, simpleTool } from '../../kit/simple-tools.ts'
import { stores } from '../../kit/open-runtime.ts'

const logOf = async (runtime: Runtime, id: string): Promise<string> =>
  runtime
    .session('s')
    .files.read(`/.background/${id}/output.log`)
    .then(
      ({ text }) => text ?? '',
      (error: PawlError) => error.code,
    )
const open = (store: Store): Store => ({ ...store, close: async () => {} })
/** Starts the tool as task a of session s. */
async function startTask(task: Tool, on: { store: Store; clock: Clock }): Promise<Session> {
  const session = (await createRuntime({ ...on, tools: [task], logger: quiet })).session('s')
  await session.tasks.start({ tool: task, id: 'a' })
  return session
}

for (const [kind, fresh] of stores) {
  describe(`task output and terminal events on ${kind}`, () => {
    test('TASK-4: output right before a park is in the log, even if the wait is already resolved', async () => {
      const { clock, store } = fresh()
      let key = ''
      const t = backgroundTool('t', async (_, ctx) => {
        const later = await ctx.later<string>({ deadline: '7d' })
        key = later.key
        ctx.output('handed over\n')
        ctx.task?.status('Handed over')
        ctx.progress({ current: 1, total: 2 })
        await runtime.resolve(key, { value: 'answered' })
        return later
      })
      const runtime: Runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: t, id: 'a' })
      expect(await after(session.tasks.wait('a'), clock, 60_000, 1_000)).toMatchObject({
        value: { state: 'succeeded' },
      })
      expect(await session.tasks.get('a')).toMatchObject({ progress: { current: 1 } })
      expect(await logOf(runtime, 'a')).toContain('handed over')
    })

    test('TASK-4: output right before a park is in the log', async () => {
      const { clock, store } = fresh()
      const t = backgroundTool('t', async (_, ctx) => {
        const later = await ctx.later<string>({ deadline: '7d' })
        ctx.output('handed over\n')
        return later
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      await runtime.session('s').tasks.start({ tool: t, id: 'a' })
      await clock.advance(2_000)
      expect(await logOf(runtime, 'a')).toContain('handed over')
    })

    test('TASK-4 DUR-13: output before an orderly close is in the log', async () => {
      const { clock, store } = fresh()
      const t = simpleTool('t', { background: { recovery: 'owner_bound' } }, async (_, ctx) => {
        ctx.output('charged the card\n')
        ctx.progress({ current: 1, total: 2 })
        return hang()
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
      const t = backgroundTool('t', (_, ctx) => {
        ctx.output('x\n')
        return hang()
      })
      const before = clock.pending
      const one = await createRuntime({ store: open(store), clock, tools: [t], logger: quiet })
      await one.session('s').tasks.start({ tool: t, id: 'a' })
      await clock.advance(100)
      await after(one.close({ grace: 0 }), clock, 1, 1)
      expect(clock.pending).toBe(before)
    })

    for (const what of ['messages', 'events'] as const) {
      test(`TASK-7 TASK-8: two concurrent ${what} survive a crash between their writes, each once`, async () => {
        // Each entry must be committed together with its own step: an attached write that goes with the first step
        // leaves the second entry on record without its step, and the replay would emit it again.
        const { clock, store } = fresh()
        const dying = mortal(store)
        const first: Store = {
          ...dying.store,
          write(change, heard, how) {
            dying.store.write(change, heard, how)
            if (change.steps?.some(({ key }) => key === 'message:1' || key === 'emit:1')) dying.die()
          },
        }
        const t = rerunTool('t', { background: { events: { told: {} } } }, async (_, ctx) => {
          if (what === 'messages') await Promise.all([ctx.task?.message('one'), ctx.task?.message('two')])
          else await Promise.all([ctx.emit('told', 'one'), ctx.emit('told', 'two')])
          return 'ok'
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

    test('TASK-7: a body that throws after a terminal event is not retried', async () => {
      const { clock, store } = fresh()
      let runs = 0
      const t = rerunTool(
        't',
        {
          retry: { attempts: 3 },
          background: { events: { done: { terminal: 'succeeded' } } },
        },
        async (_, ctx) => {
          runs++
          await ctx.emit('done', { n: 1 })
          throw retry({ after: '1s', message: 'tidying up failed' })
        },
      )
      const session = await startTask(t, { store, clock })
      expect(await after(session.tasks.wait('a'), clock)).toMatchObject({
        value: { state: 'succeeded', outcome: { value: { n: 1 } } },
      })
      expect(runs).toBe(1)
    })

    for (const rest of ['parks', 'hangs'] as const) {
      test(`TASK-7: a terminal event ends the task although its body ${rest} afterwards`, async () => {
        const { clock, store } = fresh()
        const t = rerunTool(
          't',
          { background: { events: { done: { terminal: 'succeeded' } } } },
          async (_, ctx): Promise<unknown> => {
            await ctx.emit('done', { n: 1 })
            return rest === 'parks' ? ctx.later({ deadline: '30d' }) : ctx.task?.signal('never', { deadline: '30d' })
          },
        )
        const session = await startTask(t, { store, clock })
        expect(await after(session.tasks.wait('a'), clock)).toMatchObject({
          value: { state: 'succeeded', outcome: { value: { n: 1 } } },
        })
      })
    }

    test('TASK-7 TASK-2: a cancel after a terminal event does not change the result', async () => {
      const { clock, store } = fresh()
      const t = simpleTool('t', { background: { events: { done: { terminal: 'succeeded' } } } }, async (_, ctx) => {
        await ctx.emit('done', { n: 1 })
        return hang()
      })
      const session = await startTask(t, { store, clock })
      await clock.advance(100)
      await session.tasks.cancel('a')
      expect(await after(session.tasks.wait('a'), clock)).toMatchObject({
        value: { state: 'succeeded', outcome: { value: { n: 1 } } },
      })
    })

    test('TASK-7: the payload of a terminal event must match the output schema', async () => {
      const { clock, store } = fresh()
      const t = simpleTool(
        't',
        {
          output: { type: 'object', properties: { rows: { type: 'number' } }, required: ['rows'] },
          background: { events: { done: { terminal: 'succeeded' } } },
        },
        async (_, ctx) => {
          await ctx.emit('done', 'no rows here')
          return { rows: 1 }
        },
      )
      const session = await startTask(t, { store, clock })
      const ended = await after(session.tasks.wait('a'), clock)
      expect(ended).not.toMatchObject({ value: { state: 'succeeded', outcome: { value: 'no rows here' } } })
    })
  })
}
