// Scenarios with tasks, for a store of which one call fails: output is delivered once and in order, each task ends
// once, and nothing is left over.
/* oxlint-disable typescript/no-explicit-any -- bodies and inputs of many shapes */

import type { PawlError, Task } from 'pawl'
import { expect } from 'vitest'
import { brokenLaws, type Expected } from './task-invariants.ts'
import { type Scenario, t, type World } from '../kit/fault-scenario.ts'

const ofTask = (w: World) => w.runtime.session('s').tasks

/** Starts the task (idempotent by its id) and returns its outcome. */
const started =
  (tool: string, more: object = {}) =>
  async (w: World): Promise<any[]> => {
    await ofTask(w).start({ tool, id: 'task', ...more })
    return [endOf(await ofTask(w).wait('task'))]
  }
const endOf = ({ outcome }: Task): any => outcome

/** Ignores transient errors: the call is repeated in the next second. */
const away = async (run: () => Promise<unknown>): Promise<void> => {
  await run().catch((error: PawlError) => {
    if (!['store_unavailable', 'task_unknown', 'task_over'].includes(error.code)) throw error
  })
}
const laws =
  (...expected: Expected[]) =>
  async (w: World, store: any): Promise<string[]> =>
    brokenLaws(w.runtime, store, expected)

const told = (w: World, more: object = {}) =>
  t('told', {
    onCrash: 'rerun',
    background: {
      events: { page: { wake: true }, done: {} },
      execute: async (_: unknown, ctx: any, sink: any) => {
        w.did('ran')
        sink.status('At work')
        sink.progress({ current: 1, total: 2 })
        sink.output('stdout', 'one\n')
        await sink.message('begun')
        await ctx.emit('page', { n: 1 })
        await sink.artifact({ name: 'a', url: 'http://a' })
        sink.output('stderr', 'two\n')
        await ctx.step('pay', () => w.did('paid'))
        await ctx.emit('page', { n: 2 }, { key: 'two' })
        await sink.artifact({ name: 'b', url: 'http://b' })
        await sink.message('nearly')
        await ctx.emit('done')
        sink.output('stdout', 'three\n')
        return { pages: 2 }
      },
      ...more,
    },
    execute: () => 'never',
  })
const all = {
  messages: ['begun', 'nearly'],
  events: ['page', 'page', 'done'],
  artifacts: ['a', 'b'],
  lines: ['one', 'two', 'three'],
}

export const tasks: Scenario[] = [
  {
    name: 'a task with much output',
    cites: 'TASK-3 TASK-4 TASK-7',
    tools: (w) => [told(w)],
    asks: [],
    ask: started('told', { wake: 'on_activity' }),
    ends: [{ status: 'success', value: { pages: 2 } }],
    most: { paid: 2 },
    least: { paid: 1 },
    laws: laws({ id: 'task', states: ['succeeded'], ...all, notices: ['message', 'event', 'event', 'message', 'end'] }),
  },
  {
    name: 'a task that must not run twice',
    cites: 'TASK-3 TASK-6',
    tools: (w) => [told(w, { recovery: 'owner_bound' })],
    asks: [],
    ask: started('told'),
    ends: ([o]) => expect(['success', 'unknown']).toContain(o.status),
    most: { paid: 1, ran: 1 },
    laws: laws({ id: 'task', states: ['succeeded', 'abandoned'], ...all }),
  },
  {
    name: 'a task that receives signals, messages and a reply',
    cites: 'TASK-8',
    tools: () => [
      t('hears', {
        onCrash: 'rerun',
        background: true,
        execute: async (_: unknown, ctx: any) => {
          ctx.task.status('Listening')
          const one = await ctx.task.signal('go')
          const two = await ctx.task.signal('go')
          const { text } = await ctx.task.receive()
          const reply = await ctx.task.request('Which?')
          ctx.output('heard\n')
          return [one, two, text, reply.text]
        },
      }),
    ],
    asks: [],
    ask: started('hears', { wake: 'on_activity' }),
    // Signals with the same key are deduplicated, so they can be sent again until they are received.
    poke: (w, second) =>
      away(async () => {
        await ofTask(w).signal('task', 'go', 1, { key: 'one' })
        if (second > 1) await ofTask(w).signal('task', 'go', 2, { key: 'two' })
        await ofTask(w).message('task', 'hello', { key: 'hello' })
        const asks = (await ofTask(w).get('task'))?.inputRequest
        if (asks) await ofTask(w).message('task', 'this', { inReplyTo: asks.id, key: 'this' })
      }),
    ends: [{ status: 'success', value: [1, 2, 'hello', 'this'] }],
    most: {},
    laws: async (w, store) => {
      const wrong = await laws({
        id: 'task',
        states: ['succeeded'],
        messages: ['Which?'],
        lines: ['heard'],
        notices: ['request', 'end'],
      })(w, store)
      const heard = (await ofTask(w).messages('task'))
        .filter(({ direction }) => direction === 'in')
        .map(({ text }) => text)
      return JSON.stringify(heard) === '["hello","this"]' ? wrong : [...wrong, `heard ${heard.join()}`]
    },
  },
  {
    name: 'a task that starts a child task and waits for it',
    cites: 'TASK-8 TASK-10',
    tools: (w) => [
      t('child', {
        onCrash: 'rerun',
        background: true,
        execute: async (_: unknown, ctx: any) => {
          await ctx.sleep('2s')
          await ctx.step('a', () => w.did('child'))
          return 'child'
        },
      }),
      t('endless', { onCrash: 'rerun', background: true, execute: (_: unknown, ctx: any) => ctx.sleep('30d') }),
      t('parent', {
        onCrash: 'rerun',
        background: true,
        execute: async (_: unknown, ctx: any) => {
          const child = await ctx.tasks.start({ tool: 'child', id: 'child', wake: 'silent' })
          await ctx.tasks.start({ tool: 'endless', id: 'endless' })
          const { outcome } = await ctx.tasks.wait(child.id)
          return outcome.value
        },
      }),
    ],
    asks: [],
    ask: started('parent'),
    ends: [{ status: 'success', value: 'child' }],
    most: { child: 2 },
    least: { child: 1 },
    laws: laws(
      { id: 'task', states: ['succeeded'] },
      { id: 'child', states: ['succeeded'], notices: [] },
      { id: 'endless', states: ['cancelled'] },
    ),
  },
  {
    name: 'a call moved to the background',
    cites: 'TASK-8',
    tools: (w) => [
      t('slow', {
        background: true,
        execute: async () => {
          w.did('slow')
          await new Promise((resolve) => w.later(5_000, resolve))
          return 'slow'
        },
      }),
    ],
    asks: [],
    ask: async (w) => {
      const session = w.runtime.session('s')
      const [first] = (await session.run([{ id: 'a', name: 'slow' }], { batch: 'b', background: '2s' })) as any[]
      const id = first.value?.task_id
      return [id === undefined ? first : endOf(await session.tasks.wait(id))]
    },
    ends: ([o]) => expect(['success', 'unknown']).toContain(o.status),
    most: { slow: 1 },
    laws: async (w, store) => {
      // If its worker was lost before the move, it ended as a call.
      const [task] = await ofTask(w).list()
      return task ? laws({ id: task.id, states: ['succeeded', 'abandoned'], moved: true })(w, store) : []
    },
  },
  {
    name: 'a cancelled task',
    cites: 'TASK-5',
    tools: () => [
      t('long', {
        onCrash: 'rerun',
        background: true,
        execute: async (_: unknown, ctx: any) => {
          ctx.output('begun\n')
          await new Promise((_r, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
        },
      }),
    ],
    asks: [],
    ask: started('long'),
    poke: (w, second) => (second < 2 ? undefined : away(() => ofTask(w).cancel('task', 'Enough', 'user:ada'))),
    ends: [{ status: 'cancelled', cancellation: { message: 'Enough' } }],
    most: {},
    laws: laws({ id: 'task', states: ['cancelled'], lines: ['begun'] }),
  },
  {
    name: 'a session that ends with open tasks',
    cites: 'TASK-10',
    tools: () => [
      t('long', {
        onCrash: 'rerun',
        background: true,
        execute: async (_: unknown, ctx: any) => (await ctx.later()).value,
      }),
      t('quick', {
        onCrash: 'rerun',
        background: true,
        execute: async (_: unknown, ctx: any) => {
          await ctx.sleep('60s')
          return 'quick'
        },
      }),
    ],
    asks: [],
    async ask(w) {
      for (const [id, tool, onEnd] of [
        ['task', 'long', 'cancel'],
        ['asks', 'long', 'cancel'],
        ['free', 'quick', 'abandon'],
      ] as const) {
        if (!(await ofTask(w).get(id))) await ofTask(w).start({ tool, id, onEnd })
      }
      return [
        endOf(await ofTask(w).wait('task')),
        endOf(await ofTask(w).wait('asks')),
        endOf(await ofTask(w).wait('free')),
      ]
    },
    poke: (w, second) =>
      second < 2
        ? undefined
        : away(async () => {
            if ((await ofTask(w).list()).length === 3) await w.runtime.session('s').end({ reason: 'Over' })
          }),
    ends: [
      { status: 'cancelled', cancellation: { message: 'Over' } },
      { status: 'cancelled', cancellation: { message: 'Over' } },
      { status: 'success', value: 'quick' },
    ],
    most: {},
    laws: laws(
      { id: 'task', states: ['cancelled'] },
      { id: 'asks', states: ['cancelled'] },
      { id: 'free', states: ['succeeded'], notices: [] },
    ),
  },
  {
    name: 'a task that needs approval',
    cites: 'TASK-1 POL-2',
    tools: (w) => [
      t('pay', {
        onCrash: 'rerun',
        approval: 'always',
        background: true,
        execute: async (_: unknown, ctx: any) => {
          ctx.output('paying\n')
          await ctx.step('pay', () => w.did('paid'))
          return 'paid'
        },
      }),
    ],
    asks: [],
    ask: started('pay'),
    poke: (w) =>
      away(async () => {
        for (const { id } of await w.runtime.inbox()) await w.runtime.decide(id, { approve: true, by: 'bea' })
      }),
    ends: [{ status: 'success', value: 'paid' }],
    most: { paid: 2 },
    least: { paid: 1 },
    laws: laws({ id: 'task', states: ['succeeded'], lines: ['paying'] }),
  },
  {
    name: 'a task cancelled during its approval request',
    cites: 'TASK-5 POL-2',
    tools: (w) => [t('pay', { approval: 'always', background: true, execute: () => w.did('paid') })],
    asks: [],
    ask: started('pay'),
    poke: (w, second) => (second < 2 ? undefined : away(() => ofTask(w).cancel('task', 'Enough'))),
    ends: [{ status: 'cancelled' }],
    most: { paid: 0 },
    laws: laws({ id: 'task', states: ['cancelled'] }),
  },
]
