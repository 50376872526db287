// Cancelling a task in any state: it ends as cancelled within 250 ms plus its grace period and leaves nothing behind:
// no semaphore slot, inbox item, process or open call.

import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { runProcess } from '../../../src/toolbox/processes/run-process.ts'
import { createRuntime, retry, type Runtime, type Task, type Tool, type ToolContext } from '../../../src/index.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { Store } from '../../../src/store/store.ts'
import { type ManualClock } from '../../../src/testing/manual-clock.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { alive, clean, until as seen } from '../../kit/processes/process-trees.ts'
import { type Mortal, type StoreKind } from '../../kit/stores/killable-store.ts'
import { mortalWorld } from '../../kit/worker-takeover.ts'
import { hang, rerunTask, simpleTool } from '../../kit/simple-tools.ts'
import { waitForTask } from '../../kit/wait-until.ts'

/** Rejects when the signal aborts. */
const untilTold = (ctx: ToolContext): Promise<never> =>
  new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('told'))))
const withinMs = 250
const graceMs = 5_000

describe.each(['memory', 'sqlite'] as const)('cancelled tasks on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const { start } = mortalWorld(kind, (fresh) => void ({ clock, store, first } = fresh))
  /** Does not advance the clock. */
  const ended = (runtime: Runtime, id: string): Promise<Task> =>
    waitForTask(runtime, id, ({ outcome }) => outcome !== null)
  const mayStillRun = ({ outcome }: Task): boolean =>
    outcome?.status === 'cancelled' && outcome.cancellation.mayStillRun === true

  /** Asserts that the task left nothing behind. */
  const isOver = async (runtime: Runtime, task: Task, text = 'Enough'): Promise<void> => {
    expect(task).toMatchObject({ state: 'cancelled', summary: text })
    expect(await runtime.inbox()).toEqual([])
    expect((await store.waitsOf(task.call)).filter(({ resolution }) => resolution === null)).toEqual([])
    const { text: log } = await runtime.session('s').files.read(task.logPath ?? '')
    expect(log).toContain(`[system] ${text}\n`)
    const { text: result } = await runtime.session('s').files.read(task.resultPath ?? '')
    expect(JSON.parse(result ?? '')).toEqual({ status: 'cancelled', message: text })
    expect(
      (await runtime.session('s').notices.list()).filter((notice) => notice.task === task.id && notice.about === 'end'),
    ).toMatchObject([{ about: 'end' }])
    await expect(runtime.session('s').tasks.signal(task.id, 'go')).rejects.toMatchObject({ code: 'task_over' })
    await vi.waitFor(async () =>
      expect(await store.unsettled({ of: { tenant: 'default', session: 's' }, after: '', limit: 9 })).toEqual([]),
    )
    expect((await runtime.health()).findings).toEqual([])
    expect(await store.holds()).toEqual([])
  }
  const cancel = async (runtime: Runtime, id: string): Promise<Task> => {
    expect(await runtime.session('s').tasks.cancel(id, 'Enough', 'user:ada')).toBe(true)
    await clock.advance(withinMs)
    return ended(runtime, id)
  }

  let runs = 0
  const body = (execute: (ctx: ToolContext) => unknown, more: object = {}): Tool =>
    rerunTask('work', more, (_, ctx) => {
      runs++
      return execute(ctx)
    })
  beforeEach(() => void (runs = 0))

  const placesOf: Record<
    string,
    { tool: () => Tool; at: (task: Task) => unknown; after?: (runtime: Runtime) => void }
  > = {
    running: { tool: () => body(untilTold), at: ({ state }) => state === 'running' && runs === 1 },
    sleeping: {
      tool: () => body((ctx) => ctx.sleep('1h')),
      at: async ({ state }) => state === 'running',
    },
    'waiting for a signal': {
      tool: () => body((ctx) => ctx.task?.signal('go')),
      at: ({ state }) => state === 'running',
    },
    'waiting for a message': { tool: () => body((ctx) => ctx.task?.receive()), at: ({ state }) => state === 'running' },
    'waiting for a reply': {
      tool: () => body((ctx) => ctx.task?.request('Which?')),
      at: ({ state }) => state === 'awaiting_input',
    },
    'waiting for a person': {
      tool: () => body(async (ctx) => (await ctx.ask({ text: 'Which?' })).value),
      at: ({ state }) => state === 'awaiting_input',
    },
    'waiting for approval': {
      tool: () => body(() => 'never', { approval: 'always' }),
      at: ({ state }) => state === 'awaiting_input',
      after: () => expect(runs).toBe(0),
    },
    'in the delay of a retry': {
      tool: () =>
        body(
          () => {
            throw retry({ after: '30s' })
          },
          { hints: { idempotent: true } },
        ),
      at: ({ state }) => state === 'running' && runs === 1,
      after: () => expect(runs).toBe(1),
    },
  }
  test.each(Object.keys(placesOf))('TASK-5, TIME-3: a task that is %s is cancelled in time', async (name) => {
    const { tool: make, at, after } = placesOf[name] as (typeof placesOf)[string]
    const runtime = await start([make()])
    const { id } = await runtime.session('s').tasks.start({ tool: 'work' })
    await waitForTask(runtime, id, at)
    await clock.advance(10)
    const task = await cancel(runtime, id)
    await isOver(runtime, task)
    expect(mayStillRun(task)).toBe(false)
    after?.(runtime)
    expect(await runtime.session('s').tasks.cancel(id)).toBe(false)
  })

  test('TASK-5, WAIT-4: cancelling a parked task calls the cancel handler of its tool', async () => {
    let told = 0
    const parks = body((ctx) => ctx.later(), { cancel: () => void told++ })
    const runtime = await start([parks])
    const { id } = await runtime.session('s').tasks.start({ tool: 'work' })
    await vi.waitUntil(
      async () => (await runtime.session('s').calls.get(id, { batch: 'pawl:task' }))?.state === 'parked',
      { interval: 1 },
    )
    await isOver(runtime, await cancel(runtime, id))
    expect(told).toBe(1)
  })

  test('TASK-5, TIME-1: a task that ignores its signal is cancelled after its grace period', async () => {
    let go = (): void => {}
    const gate = new Promise<void>((resolve) => (go = resolve))
    const late: string[] = []
    const deaf = body(async (ctx) => {
      await gate
      ctx.output('late\n')
      ctx.task?.status('late')
      for (const [what, done] of [
        ['artifact', () => ctx.task?.artifact({ name: 'late', url: 'http://late' })],
        ['message', () => ctx.task?.message('late')],
        ['file', () => ctx.files.write('/late', 'late')],
        ['start', () => ctx.tasks.start({ tool: 'work' })],
      ] as const)
        await done()?.then(
          () => late.push(`${what} was taken`),
          (error: { code: string }) => late.push(error.code),
        )
    })
    const runtime = await start([deaf])
    const { id } = await runtime.session('s').tasks.start({ tool: 'work' })
    await waitForTask(runtime, id, () => runs === 1)
    await runtime.session('s').tasks.cancel(id, 'Enough')
    await clock.advance(graceMs - 1)
    expect(await runtime.session('s').tasks.get(id)).toMatchObject({ state: 'running' })
    await clock.advance(withinMs)
    const task = await ended(runtime, id)
    await isOver(runtime, task)
    expect(mayStillRun(task)).toBe(true)
    go()
    await vi.waitUntil(() => late.length === 4, { interval: 1 })
    expect(late).toEqual(['attempt_over', 'attempt_over', 'attempt_over', 'attempt_over'])
    await clock.advance('1s')
    expect(await runtime.session('s').tasks.get(id)).toMatchObject({ state: 'cancelled', status: null, artifacts: [] })
    expect((await runtime.session('s').files.read(task.logPath ?? '')).text).not.toContain('late')
    expect(await runtime.session('s').tasks.messages(id)).toEqual([])
  })

  test('TASK-5, TIME-3: a result within the grace period wins over the cancel', async () => {
    const finishes = body(
      (ctx) =>
        new Promise((resolve) =>
          ctx.signal.addEventListener('abort', () => clock.timer(4_000, () => resolve('saved'))),
        ),
    )
    const runtime = await start([finishes])
    const { id } = await runtime.session('s').tasks.start({ tool: 'work' })
    await waitForTask(runtime, id, () => runs === 1)
    await runtime.session('s').tasks.cancel(id)
    await clock.advance(4_000 + withinMs)
    expect(await ended(runtime, id)).toMatchObject({ state: 'succeeded', summary: 'saved' })
  })

  test('TASK-5: a task cancelled while queued never starts, and the others continue', async () => {
    const runtime = await start([body(untilTold)])
    const { tasks } = runtime.session('s')
    const ids: string[] = []
    for (let n = 0; n < 6; n++) ids.push((await tasks.start({ tool: 'work' })).id)
    await vi.waitUntil(() => runs === 5, { interval: 1 })
    await clock.advance(10)
    const last = ids[5] as string
    expect(await tasks.get(last)).toMatchObject({ state: 'queued' })
    const task = await cancel(runtime, last)
    expect(task).toMatchObject({ state: 'cancelled', summary: 'Enough', attempt: 0 })
    expect(mayStillRun(task)).toBe(false)
    expect((await tasks.list({ state: 'running' })).length).toBe(5)
    for (const id of ids.slice(0, 5)) await tasks.cancel(id, 'Enough')
    await clock.advance(withinMs)
    for (const id of ids.slice(0, 5)) await ended(runtime, id)
    await isOver(runtime, task)
    expect(runs).toBe(5)
  })

  test('TASK-5, TIME-3: cancelling a task that waits for another cancels both', async () => {
    const child = rerunTask('child', (_, ctx) => untilTold(ctx))
    const parent = body(async (ctx) =>
      ctx.tasks.wait((await ctx.tasks.start({ tool: 'child', id: 'c', onEnd: 'abandon' })).id),
    )
    const runtime = await start([child, parent])
    const { id } = await runtime.session('s').tasks.start({ tool: 'work' })
    await waitForTask(runtime, 'c', ({ state }) => state === 'running')
    await clock.advance(10)
    const task = await cancel(runtime, id)
    expect(await runtime.session('s').tasks.get('c')).toMatchObject({ state: 'cancelled', summary: 'Enough' })
    await isOver(runtime, task)
  })

  test('TASK-5: a cancel on one worker ends the task on another', async () => {
    const a = await start([body(untilTold)])
    const b = await start([])
    const { id } = await a.session('s').tasks.start({ tool: 'work' })
    await waitForTask(a, id, () => runs === 1)
    await isOver(a, await cancel(b, id))
  })

  test('TASK-5: a task cancelled before it is claimed never starts', async () => {
    const door = await start([body(untilTold)], store, { worker: false })
    const { id } = await door.session('s').tasks.start({ tool: 'work' })
    expect(await door.session('s').tasks.cancel(id, 'Enough')).toBe(true)
    const worker = await start([body(untilTold)])
    await clock.advance(withinMs)
    await isOver(worker, await ended(worker, id))
    expect(runs).toBe(0)
  })

  /** A task whose worker died while the body ran, and another worker. */
  const loseWorker = async (): Promise<{ id: string; b: Runtime }> => {
    const a = await start([body(hang)], first.store)
    const { id } = await a.session('s').tasks.start({ tool: 'work' })
    await waitForTask(a, id, () => runs === 1)
    first.die()
    return { id, b: await start([body(hang)]) }
  }

  test('TASK-5: a task cancelled while its worker is dead is settled without a run', async () => {
    const { id, b } = await loseWorker()
    expect(await b.session('s').tasks.cancel(id, 'Enough')).toBe(true)
    await clock.advance('31s')
    const task = await ended(b, id)
    await isOver(b, task)
    // Nothing proves that the body of a lost worker has ended.
    expect(mayStillRun(task)).toBe(true)
    expect(runs).toBe(1)
  })

  test('TASK-5, TASK-6: a task is cancelled during the backoff after a lost worker', async () => {
    const { id, b } = await loseWorker()
    await clock.advance('31s')
    await waitForTask(b, id, ({ status }) => status?.includes('lost worker'))
    const task = await cancel(b, id)
    await isOver(b, task)
    expect(mayStillRun(task)).toBe(true)
    expect(runs).toBe(1)
  })

  test('TASK-5: a moved call can be cancelled as a task', async () => {
    const runtime = await start([body(untilTold)])
    const session = runtime.session('s')
    const run = session.run([{ id: 'a', name: 'work' }])
    await vi.waitUntil(() => runs === 1, { interval: 1 })
    await clock.advance(50) // the call is recorded
    const { id } = (await session.tasks.adopt('a')) as Task
    await run
    expect(await cancel(runtime, id)).toMatchObject({ state: 'cancelled', summary: 'Enough' })
    expect(await store.unsettled({ after: '', limit: 9 })).toEqual([])
  })
})

test('TASK-5, TIME-3: cancelling a task kills the process tree it started', async () => {
  const mark = randomUUID()
  const shell = simpleTool(
    'shell',
    {
      background: {
        async execute(_, ctx, sink) {
          const { killedBy } = await runProcess('sh', ['-c', 'sleep 999 & echo up; sleep 999'], {
            clock: systemClock,
            signal: ctx.signal,
            env: { TEST_TREE: mark },
            onOutput: (text, stream) => sink.output(stream, text),
          })
          ctx.signal.throwIfAborted()
          return killedBy ?? 'ended'
        },
      },
    },
    () => 'never',
  )
  const runtime = await createRuntime({ store: 'memory:', tools: [shell], logger: quiet })
  try {
    const { tasks } = runtime.session('s')
    const { id } = await tasks.start({ tool: 'shell' })
    await seen('the tree stands', () => alive(mark).length >= 2)
    const asked = performance.now()
    await tasks.cancel(id, 'Enough')
    const task = await tasks.wait(id)
    expect(performance.now() - asked).toBeLessThan(graceMs)
    expect(task).toMatchObject({ state: 'cancelled', summary: 'Enough' })
    expect(task.outcome).not.toMatchObject({ cancellation: { mayStillRun: true } })
    expect(alive(mark)).toEqual([])
    expect((await runtime.session('s').files.read(task.logPath ?? '')).text).toBe('[stdout] up\n[system] Enough\n')
  } finally {
    clean(mark)
    await runtime.close({ grace: 0 })
  }
})
