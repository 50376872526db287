// Tasks: start, notices, messages to them, end, and recovery after a worker dies.

import type { Runtime, Session, Tool, ToolContext } from 'pawl'
import type { Death, Scenario, World } from '../scenario.ts'
import { batch, never, object, work } from './kit.ts'

const rerun = { onCrash: 'rerun', background: true } as const
const task = (execute: (ctx: ToolContext) => unknown, more: object = {}): Tool =>
  work((_, ctx) => execute(ctx), { ...rerun, ...more })
const start = { tool: 'work', id: 'task-1', title: 'The work' } as const

/** Runs one task on one worker; `meanwhile` acts on it while it runs. */
const one =
  (
    tool: Tool,
    meanwhile: (session: Session, world: World, runtime: Runtime) => Promise<unknown> = async () => {},
    more: object = {},
  ): Scenario =>
  async (world) => {
    const runtime = await world.run([tool])
    const session = runtime.session('s', { principal: 'user:ada' })
    await session.tasks.start({ ...start, ...more })
    await world.advance('1s')
    const meantime = await meanwhile(session, world, runtime)
    await world.outcome(session.tasks.wait('task-1'))
    const notices = await session.notices.list()
    await session.notices.acknowledge(notices.map(({ id }) => id))
    return { meantime, task: await session.tasks.get('task-1'), notices }
  }

/** The first worker dies during a task; the second takes it over. */
const lost =
  (tool: Tool, death: Death = {}, more: object = {}): Scenario =>
  async (world) => {
    const first = await world.open({ tools: [tool] }, death)
    void first.runtime.session('s').tasks.start({ ...start, ...more })
    await world.advance('2s')
    first.die()
    const { tasks, notices } = (await world.run([tool])).session('s')
    await world.advance('2m')
    return { task: await world.outcome(tasks.wait('task-1')), notices: await notices.list() }
  }

const tells = task(async (ctx) => {
  ctx.task?.status('Collecting')
  ctx.progress({ current: 1, total: 2, unit: 'pages' })
  ctx.output('page 1\n')
  await ctx.sleep('2s')
  await ctx.files.write('/report.csv', 'a,b\n')
  await ctx.task?.artifact({ name: 'report', type: 'text/csv', path: '/report.csv' })
  await ctx.task?.link('job-7')
  await ctx.task?.message('Half done', { page: 1 })
  ctx.output('page 2\n', 'stderr')
  return { pages: 2 }
})

const emits = (more: object, execute: (ctx: ToolContext) => unknown): Tool =>
  work((_, ctx) => execute(ctx), {
    ...rerun,
    background: { events: { deployed: { wake: true }, finished: { terminal: 'succeeded' } }, ...more },
  })

export const tasks: Readonly<Record<string, Scenario>> = {
  'a task starts and succeeds': one(task(() => 'done')),
  'a task is started twice under one id': one(
    task(() => 'done'),
    async ({ tasks }) => {
      await tasks.start(start)
      return tasks.start({ ...start, input: { other: 1 } }).catch((error: { code: string }) => error.code)
    },
  ),
  'a task tells status, progress, output, artifacts and messages': one(tells, async (session, world) => {
    await world.advance('5s')
    return [await session.tasks.messages('task-1'), (await session.files.read('/.background/task-1/output.log')).text]
  }),
  'a task fails': one(task(() => Promise.reject(new Error('disk full')))),
  'a task with a body of its own': one(
    work(() => 'as a call', {
      background: {
        execute: async (
          _input: unknown,
          _ctx: unknown,
          sink: { status(text: string): void; message(text: string): Promise<void> },
        ) => {
          sink.status('Rendering')
          await sink.message('Ready')
          return 'as a task'
        },
        recovery: 'owner_bound',
        timeout: '2h',
        grace: '10s',
      },
    }),
    undefined,
    { wake: 'on_activity' },
  ),
  'a task emits events, and one ends it': one(
    emits({}, async (ctx) => {
      await ctx.emit('deployed', { stage: 'canary' }, { key: 'canary' })
      await ctx.emit('deployed', { stage: 'all' })
      await ctx.emit('finished', { version: 'v2' })
    }),
    ({ tasks }) => tasks.events('task-1'),
    { wake: 'on_activity' },
  ),
  'a task waits for signals, an early one included': one(
    task(async (ctx) => [await ctx.task?.signal('go'), await ctx.task?.signal('go', { deadline: '1h' })]),
    async ({ tasks }, world) => {
      const first = await tasks.signal('task-1', 'go', { n: 1 }, { key: 'k' })
      const same = await tasks.signal('task-1', 'go', { n: 1 }, { key: 'k' })
      await world.advance('1s')
      return [first, same, await tasks.signal('task-1', 'go', { n: 2 })]
    },
  ),
  'signals are kept until the task asks for them': one(
    task(async (ctx) => {
      await ctx.sleep('1m')
      return [await ctx.task?.signal('go'), (await ctx.task?.receive())?.text]
    }),
    async ({ tasks }) => {
      await tasks.signal('task-1', 'go', 1)
      await tasks.message('task-1', 'hello', { data: { n: 1 } })
    },
  ),
  'a task asks its session and gets a reply': one(
    task(async (ctx) => (await ctx.task?.request('Which region?', { expected: { type: 'string' } }))?.text),
    async ({ tasks }, world) => {
      const asking = await tasks.wait('task-1', { until: 'input' })
      await tasks.message('task-1', 'eu-1', { inReplyTo: asking.inputRequest?.id ?? '', key: 'r' })
      await world.advance('1s')
      return asking.inputRequest
    },
  ),
  'a signal does not come in time': one(task((ctx) => ctx.task?.signal('go', { deadline: '1m' }))),
  'a task is cancelled': one(
    task(
      (ctx) =>
        new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error))),
    ),
    async ({ tasks }) => [
      await tasks.cancel('task-1', 'No longer needed', 'user:ada'),
      await tasks.cancel('task-1', 'No longer needed', 'user:ada'),
    ],
  ),
  'a task that does not stop is cancelled after its grace': one(
    task(never, { background: { grace: '10s' } }),
    ({ tasks }) => tasks.cancel('task-1'),
    { wake: 'silent' },
  ),
  'a task is cancelled before it runs': async (world) => {
    const door = await world.run([task(() => 1)], { worker: false })
    const { tasks } = door.session('s')
    await tasks.start(start)
    await tasks.cancel('task-1', 'Never mind')
    await world.run([task(() => 1)])
    await world.advance('31s')
    return tasks.get('task-1')
  },
  'a task waits for a person': one(
    task(async (ctx) => (await (await ctx.ask({ text: 'Include drafts?', choices: ['yes', 'no'] })).value).answer),
    async (_, world, runtime) => {
      const [item] = await runtime.inbox()
      await runtime.decide(item?.id ?? '', { answer: 'no', by: 'user:bea' })
      await world.advance('1s')
    },
  ),
  'a task starts a task, and the end of the first cancels it': async (world) => {
    const outer = task(
      async (ctx) => {
        await ctx.tasks.start({ tool: 'inner', title: 'Inner' })
        await ctx.sleep('10s')
        return 'over'
      },
      { name: 'outer' },
    )
    const runtime = await world.run([outer, task(never, { name: 'inner', background: { grace: '1s' } })])
    const { tasks } = runtime.session('s')
    await tasks.start({ ...start, tool: 'outer' })
    await world.advance('2m')
    return (await tasks.list()).map(({ title, state }) => [title, state])
  },
  'a body starts a task, signals it and waits for it': async (world) => {
    const caller = work(
      async (_, ctx) => {
        const { id } = await ctx.tasks.start({ tool: 'hears' })
        await ctx.tasks.signal(id, 'go', 7)
        return (await ctx.tasks.wait(id, { timeout: '1h' })).summary
      },
      { onCrash: 'rerun' },
    )
    const runtime = await world.run([caller, task((ctx) => ctx.task?.signal('go'), { name: 'hears' })])
    return world.outcome(runtime.session('s').run([{ id: 'a', name: 'work' }], batch))
  },
  'a model starts, lists, reads, messages, waits for and cancels a task': async (world) => {
    const runtime = await world.run([
      task(async (ctx) => (await ctx.task?.receive())?.text),
      task(never, { name: 'long', background: { grace: '1s' } }),
    ])
    const session = runtime.session('s')
    const told: unknown[] = []
    const call = async (id: string, name: string, input: object): Promise<Record<string, string>> => {
      const [outcome] = await world.outcome(session.run([{ id, name, input }], { batch: id }))
      told.push(outcome?.parts)
      return (outcome?.status === 'success' ? outcome.value : {}) as Record<string, string>
    }
    const { task_id } = await call('m1', 'spawn_background', { tool: 'work', args: {}, title: 'Work' })
    const long = await call('m2', 'spawn_background', { tool: 'long', args: {} })
    await call('m3', 'list_tasks', {})
    await call('m4', 'message_task', { task_id, message: 'hello' })
    await call('m5', 'wait_task', { task_id, timeout_seconds: 60 })
    await call('m6', 'get_task', { task_id })
    await call('m7', 'cancel_task', { task_id: long.task_id, reason: 'Too slow' })
    await world.advance('5s')
    return told
  },
  'too many tasks of a model': async (world) => {
    const runtime = await world.run([task(never, { background: { grace: '1s' } })], { limits: { tasksPerSession: 1 } })
    const session = runtime.session('s')
    const spawn = (id: string) =>
      world.outcome(session.run([{ id, name: 'spawn_background', input: { tool: 'work', args: {} } }], { batch: id }))
    await spawn('m1')
    const refused = await spawn('m2')
    await session.tasks.start({ tool: 'work', id: 'waits' })
    await world.advance('1s')
    await session.end({ reason: 'Over', tasks: 'cancel' })
    await world.advance('1m')
    return refused
  },
  'a call is moved to the background by its tool': async (world) => {
    const slow = work(() => new Promise((resolve) => void world.clock.timer(60_000, () => resolve('late'))), {
      background: { after: '10s' },
      timeout: '10m',
    })
    const session = (await world.run([slow])).session('s')
    const outcomes = await world.outcome(session.run([{ id: 'a', name: 'work' }], batch))
    await world.advance('2m')
    return {
      outcomes,
      notices: await session.notices.list(),
      again: await session.run([{ id: 'a', name: 'work' }], batch),
    }
  },
  'a call is moved to the background by its caller': async (world) => {
    const slow = work(() => new Promise((resolve) => void world.clock.timer(30_000, () => resolve('late'))), {
      background: true,
    })
    const session = (await world.run([slow])).session('s')
    const running = session.run([{ id: 'a', name: 'work' }], batch)
    await world.advance('1s')
    const moved = await session.tasks.adopt('a', { title: 'Later', batch: 'b' })
    const outcomes = await world.outcome(running)
    await world.advance('1m')
    return { moved, outcomes }
  },
  'a moved call is cancelled as a task': async (world) => {
    const session = (await world.run([work(never, { background: { grace: '1s' } })])).session('s')
    const running = session.run([{ id: 'a', name: 'work' }], { ...batch, background: '5s' })
    const [handle] = await world.outcome(running)
    const { task_id } = (handle?.status === 'success' ? handle.value : {}) as { task_id: string }
    await session.tasks.cancel(task_id, 'Not wanted', 'user:ada')
    await world.advance('1m')
    return session.tasks.get(task_id)
  },
  'the session ends: tasks are cancelled, and one is left to go on': async (world) => {
    const waits = task((ctx) => ctx.task?.signal('go'))
    const runtime = await world.run([waits])
    const session = runtime.session('s')
    await session.tasks.start(start)
    await session.tasks.start({ tool: 'work', id: 'task-2', onEnd: 'abandon' })
    await session.schedules.create({ tool: 'work', cron: '0 * * * *', id: 'hourly' })
    await session.triggers.subscribe({ event: 'order.paid', message: 'Paid', id: 'paid' })
    await world.advance('1s')
    const ended = [await session.end({ reason: 'The customer has left', by: 'user:ada' }), await session.end()]
    await world.advance('1m')
    await session.tasks.signal('task-2', 'go', 1)
    await world.advance('1m')
    const refused = await session.tasks.start({ tool: 'work' }).catch((error: { code: string }) => error.code)
    return { ended, refused, states: (await session.tasks.list()).map(({ id, state }) => [id, state]) }
  },
  'a worker dies at the end of a session, and another one cancels the tasks': async (world) => {
    const waits = task((ctx) => ctx.task?.signal('go'))
    const first = await world.open({ tools: [waits] }, { event: 'session.ended', when: 'after' })
    await first.runtime.session('s').tasks.start(start)
    await world.advance('1s')
    void first.runtime.session('s').end({ reason: 'Over' })
    await world.settle()
    const second = await world.run([waits])
    await world.advance('2m')
    return second.session('s').tasks.get('task-1')
  },
  'a worker dies over a task that may run again': lost(
    task(async (ctx) => {
      ctx.task?.status(`attempt ${ctx.attempt}`)
      await ctx.task?.message('Begun')
      await ctx.step('page', () => ctx.attempt)
      return ctx.attempt === 1 ? never() : 'done'
    }),
    {},
    { wake: 'on_activity' },
  ),
  'a worker dies over a task that is bound to its owner': lost(
    task(never, { background: { recovery: 'owner_bound' } }),
  ),
  'a worker dies before a task is on record': async (world) => {
    const first = await world.open({ tools: [task(() => 1)] }, { event: 'task.created', when: 'before' })
    void first.runtime.session('s').tasks.start(start)
    await world.settle()
    const { tasks } = (await world.run([task(() => 1)])).session('s')
    await world.advance('31s')
    const before = await tasks.get('task-1')
    await tasks.start(start)
    return [before ?? null, await world.outcome(tasks.wait('task-1'))]
  },
  'a worker dies when a task is on record': lost(
    task(() => 1),
    { event: 'task.created', when: 'after' },
  ),
  'a worker dies before the end of a task is on record': lost(
    task((ctx) => (ctx.output('a line\n'), ctx.attempt)),
    { event: 'call.settled', when: 'before' },
  ),
  'a worker dies before a message of a task is on record': lost(
    task(async (ctx) => (await ctx.task?.message('once'), ctx.attempt)),
    { event: 'task.message', when: 'before' },
  ),
  'a worker dies when an event of a task is on record': lost(
    emits({}, async (ctx) => (await ctx.emit('deployed', { n: 1 }), ctx.attempt)),
    { event: 'task.event', when: 'after' },
    { wake: 'on_activity' },
  ),
  'a task parks on a later of the outside': one(
    work(async (_, ctx) => ctx.later({ name: 'job', announce: { type: 'job.wanted' } }), {
      input: object,
      background: { recovery: 'external' },
    }),
    ({ tasks }) => tasks.cancel('task-1', 'Job was dropped'),
  ),
  'a task has a deadline': one(task(never, { background: { grace: '1s' } }), undefined, {
    deadline: Date.UTC(2026, 0, 1, 0, 5),
  }),
}
