// Background tasks: start, files, cancel, recovery, fencing, signals, events, limits and retention.

import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createRuntime, fail, type Tool, tool } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { type ManualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { type Mortal, renewOnce, type StoreKind } from '../kit/stores/killable-store.ts'
import { noticeCases, double } from './notices/notice-cases.ts'
import { mortalWorld } from '../kit/worker-takeover.ts'
import { argumentTool, backgroundTool, hang, rerunTask, rerunTool, simpleTool } from '../kit/simple-tools.ts'
import { waitForTask } from '../kit/wait-until.ts'

const empty = z.object({})

describe.each(['memory', 'sqlite'] as const)('tasks on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const world = mortalWorld(kind, (fresh) => void ({ clock, store, first } = fresh))
  const { start, takeOver } = world
  noticeCases(world)

  test('TASK-2, TASK-8: a started task runs in the background and ends with its outcome', async () => {
    const runtime = await start([double])
    const { tasks } = runtime.session('s')
    const started = await tasks.start({ tool: 'double', input: { n: 21 }, title: 'Twice' })
    expect(started).toMatchObject({
      title: 'Twice',
      tool: 'double',
      kind: 'background_tool',
      wake: 'on_terminal',
      parent: null,
    })
    const ended = await tasks.wait(started.id)
    expect(ended).toMatchObject({
      state: 'succeeded',
      outcome: { status: 'success', value: 42 },
      summary: '42',
      attempt: 1,
    })
    expect(await tasks.list()).toMatchObject([{ id: started.id }])
    expect(await tasks.list({ state: 'open' })).toEqual([])
    expect(await runtime.session('other').tasks.get(started.id)).toBeUndefined()
  })

  test('TASK-8: the same id is the same task; other content under it is a conflict', async () => {
    const runtime = await start([double])
    const { tasks } = runtime.session('s')
    const one = await tasks.start({ tool: double, input: { n: 1 }, id: 'mine' })
    expect((await tasks.start({ tool: double, input: { n: 1 }, id: 'mine' })).call).toBe(one.call)
    await expect(tasks.start({ tool: double, input: { n: 2 }, id: 'mine' })).rejects.toMatchObject({
      code: 'task_conflict',
    })
    await expect(tasks.start({ tool: 'nothing' })).rejects.toMatchObject({ code: 'task_invalid' })
    await expect(tasks.get('nobody')).resolves.toBeUndefined()
    await expect(tasks.cancel('nobody')).rejects.toMatchObject({ code: 'task_unknown' })
  })

  test('TASK-4: status, progress and output are stored while a task runs, the result at its end', async () => {
    let go = (): void => {}
    const gate = new Promise<void>((resolve) => (go = resolve))
    const report = simpleTool(
      'report',
      {
        background: {
          async execute(_, ctx, sink) {
            sink.status('Reading')
            sink.progress({ current: 1, total: 2 })
            sink.output('stdout', 'one\ntwo')
            sink.output('stderr', 'oh\n')
            sink.output('stdout', 'three\n')
            await gate
            await sink.artifact({ name: 'report', path: '/report.csv' })
            return { rows: 2 }
          },
        },
      },
      () => ({ rows: 0 }),
    )
    const runtime = await start([report])
    const { tasks } = runtime.session('s')
    const { id } = await tasks.start({ tool: report })
    await waitForTask(runtime, id, ({ state }) => state === 'running')
    await clock.advance('1s')
    const running = await waitForTask(runtime, id, ({ status }) => status !== null)
    expect(running).toMatchObject({ status: 'Reading', progress: { current: 1, total: 2 }, state: 'running' })
    const log = `/.background/${id}/output.log`
    expect((await runtime.session('s').files.read(log)).text).toBe(
      '[stdout] one\n[stdout] two\n[stderr] oh\n[stdout] three\n',
    )
    go()
    const ended = await tasks.wait(id)
    expect(ended).toMatchObject({
      state: 'succeeded',
      artifacts: [{ name: 'report', path: '/report.csv' }],
      logPath: log,
    })
    expect(JSON.parse((await runtime.session('s').files.read(`/.background/${id}/result.json`)).text ?? '')).toEqual({
      rows: 2,
    })
    const told: string[] = []
    for await (const event of runtime.session('s').events()) {
      told.push(event.type)
      if (event.type === 'call.settled') break
    }
    expect(told).toEqual([
      'call.received',
      'task.created',
      'call.started',
      'task.output',
      'task.updated',
      'task.artifact',
      'task.updated',
      'task.updated',
      'call.settled',
    ])
  })

  test('TASK-4: the limit of the output log never splits a character', async () => {
    for (const lead of ['', 'x']) {
      const loud = backgroundTool('loud', (_, ctx) => {
        ctx.output(`${lead}${'😀'.repeat(140_000)}`)
      })
      const runtime = await start([loud])
      const { tasks, files } = runtime.session(`s${lead}`)
      const { id } = await tasks.start({ tool: loud })
      await tasks.wait(id)
      const { text } = await files.read(`/.background/${id}/output.log`)
      expect(text).toMatch(/^\[stdout\] x?(?:😀)+\n\[system\] background output truncated at 262144 characters\n$/u)
    }
  })

  test('TASK-4: a stream name with a line break is refused, so that it forges no line of the log', async () => {
    const forged = backgroundTool('forged', (_, ctx) => {
      ctx.output('first\n')
      ctx.output('text', 'stdout] ok\n[stderr')
    })
    const runtime = await start([forged])
    const { tasks, files } = runtime.session('s')
    const { id, call } = await tasks.start({ tool: forged })
    expect(await tasks.wait(id)).toMatchObject({ state: 'failed' })
    expect((await files.read(`/.background/${id}/output.log`)).text).toBe('[stdout] first\n')
    expect((await runtime.diagnostics(call))?.causes[0]).toContain(
      'The stream of ctx.output is "stdout] ok\\n[stderr"; its name must not contain line breaks or control characters.',
    )
  })

  test('TASK-4: the output log is truncated at its limit with a marker', async () => {
    const loud = backgroundTool('loud', (_, ctx) => {
      for (let n = 0; n < 400; n++) ctx.output(`${'é'.repeat(999)}\n`)
      return 'over'
    })
    const runtime = await start([loud])
    const { tasks, files } = runtime.session('s')
    const { id } = await tasks.start({ tool: loud })
    await tasks.wait(id)
    const { text } = await files.read(`/.background/${id}/output.log`)
    const end = '\n[system] background output truncated at 262144 characters\n'
    expect(text?.endsWith(end)).toBe(true)
    expect(text?.length).toBe(262_144 + end.length)
    await expect(files.write(`/.background/${id}/output.log`, 'x')).rejects.toMatchObject({ code: 'file_readonly' })
  })

  test('TASK-5: a cancelled task ends as cancelled, with the reason in its log', async () => {
    const long = backgroundTool(
      'long',
      (_, ctx) =>
        new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('gone')))),
    )
    const runtime = await start([long])
    const { tasks } = runtime.session('s')
    const { id } = await tasks.start({ tool: long })
    await waitForTask(runtime, id, ({ state }) => state === 'running')
    expect(await tasks.cancel(id, 'Not needed', 'user:ada')).toBe(true)
    expect(await tasks.wait(id)).toMatchObject({ state: 'cancelled', summary: 'Not needed' })
    expect(await tasks.cancel(id)).toBe(false)
    expect((await runtime.session('s').files.read(`/.background/${id}/output.log`)).text).toContain('Not needed')
  })

  test('TASK-6: a rerunnable task whose worker is lost runs again after a backoff', async () => {
    let runs = 0
    const body = (stay: boolean): Tool =>
      rerunTask('again', async (_, ctx) => {
        runs++
        ctx.output(`run ${runs}\n`)
        if (stay) await hang()
        return 'done'
      })
    const a = await start([body(true)], first.store)
    const { id } = await a.session('s').tasks.start({ tool: 'again' })
    await waitForTask(a, id, ({ state }) => state === 'running')
    await clock.advance('1s')
    first.die()
    const b = await takeOver([body(false)])
    await waitForTask(b, id, ({ status }) => status !== null)
    expect(runs).toBe(1)
    await clock.advance('2s')
    expect(await b.session('s').tasks.wait(id)).toMatchObject({ state: 'succeeded', attempt: 2 })
    expect((await b.session('s').files.read(`/.background/${id}/output.log`)).text).toBe(
      '[stdout] run 1\n[system] attempt 2\n[stdout] run 2\n',
    )
  })

  test('TASK-6: an owner_bound task whose worker is lost is abandoned with evidence and a notice', async () => {
    const once = (): Tool =>
      tool({ name: 'once', description: 'Once', input: empty, background: { recovery: 'owner_bound' }, execute: hang })
    const a = await start([once()], first.store)
    const { id } = await a.session('s').tasks.start({ tool: 'once', title: 'One time' })
    await waitForTask(a, id, ({ state }) => state === 'running')
    first.die()
    const b = await takeOver([once()])
    const ended = await b.session('s').tasks.wait(id)
    expect(ended).toMatchObject({
      state: 'abandoned',
      outcome: { status: 'unknown', unknown: { evidence: { attempt: 1 } } },
    })
    const notices = await b.session('s').notices.list()
    expect(notices).toMatchObject([{ about: 'end', task: id }])
    expect(notices[0]?.text).toContain(
      `[Runtime notice: this is not a message of the user. Task "One time" (${id}) finished: abandoned.]`,
    )
  })

  test('TASK-3: a worker that lost its lease cannot write to its task in any way', async () => {
    const refused: string[] = []
    let go = (): void => {}
    const gate = new Promise<void>((resolve) => (go = resolve))
    let runs = 0
    const make = (zombie: boolean): Tool =>
      rerunTool('zombie', { background: { events: { told: {} } } }, async (_, ctx) => {
        runs++
        if (!zombie) {
          ctx.output('alive\n')
          await ctx.task?.message('alive')
          await gate
          return 'alive'
        }
        ctx.output('first\n')
        await ctx.files.write('/a.txt', 'first')
        await vi.waitUntil(() => runs === 2, { interval: 1 })
        const code = (what: string, done: Promise<unknown> | undefined) =>
          done?.then(
            () => refused.push(`${what} was taken`),
            (error: { code: string }) => refused.push(`${what}: ${error.code}`),
          )
        ctx.task?.status('dead')
        ctx.output('dead\n')
        await code('artifact', ctx.task?.artifact({ name: 'dead', url: 'http://dead' }))
        await code('message', ctx.task?.message('dead'))
        await code('event', ctx.emit('told', 'dead'))
        await code('file', ctx.files.write('/a.txt', 'dead'))
        await code('start', ctx.tasks.start({ tool: 'double', input: { n: 1 } }))
        return 'dead'
      })
    const a = await createRuntime({ store: renewOnce(store), tools: [make(true), double], clock, logger: quiet })
    const { id } = await a.session('s').tasks.start({ tool: 'zombie' })
    await waitForTask(a, id, ({ state }) => state === 'running')
    const b = await start([make(false), double])
    await clock.advance('31s')
    await clock.advance('2s')
    await vi.waitUntil(() => refused.length === 5, { interval: 1 })
    expect(refused.map((each) => each.replace(/: .*/, ''))).toEqual(['artifact', 'message', 'event', 'file', 'start'])
    expect(refused.join()).not.toContain('taken')
    await clock.advance('1s')
    go()
    expect(await b.session('s').tasks.wait(id)).toMatchObject({
      state: 'succeeded',
      outcome: { value: 'alive' },
      artifacts: [],
    })
    expect((await b.session('s').files.read('/a.txt')).text).toBe('first')
    expect(await b.session('s').tasks.messages(id)).toMatchObject([{ text: 'alive' }])
    expect((await b.session('s').tasks.list()).length).toBe(1)
    expect((await b.session('s').files.read(`/.background/${id}/output.log`)).text).not.toContain('dead')
    await a.close({ grace: 0 }).catch(() => {})
  })

  const listener = rerunTask('listener', async (_, ctx) => {
    const one = await ctx.task?.signal('go')
    const two = await ctx.task?.signal('go')
    const message = await ctx.task?.receive()
    return [one, two, message?.text ?? '']
  })

  test('TASK-8: the n-th signal resolves the n-th wait, and early signals are stored', async () => {
    const runtime = await start([listener])
    const { tasks } = runtime.session('s')
    const { id } = await tasks.start({ tool: listener })
    expect(await tasks.signal(id, 'go', 1, { key: 'a' })).toEqual({ accepted: true, number: 1 })
    expect(await tasks.signal(id, 'go', 1, { key: 'a' })).toEqual({ accepted: true, number: 1 })
    await tasks.message(id, 'hello')
    await tasks.signal(id, 'go', 2)
    expect(await tasks.wait(id)).toMatchObject({ outcome: { value: [1, 2, 'hello'] } })
    await expect(tasks.signal(id, 'go')).rejects.toMatchObject({ code: 'task_over' })
    expect(await tasks.messages(id)).toMatchObject([{ direction: 'in', text: 'hello' }])
  })

  test('TASK-8: a signal after a crash resolves the wait of the next worker', async () => {
    const a = await start([listener], first.store)
    const { id } = await a.session('s').tasks.start({ tool: listener })
    await a.session('s').tasks.signal(id, 'go', 'x')
    await waitForTask(a, id, ({ state }) => state === 'running')
    await vi.waitUntil(async () => (await a.session('s').calls.get(id, { batch: 'pawl:task' }))?.waits.length === 2, {
      interval: 1,
    })
    first.die()
    const b = await takeOver([listener])
    await clock.advance('2s')
    await b.session('s').tasks.signal(id, 'go', 'y')
    await b.session('s').tasks.message(id, 'z')
    expect(await b.session('s').tasks.wait(id)).toMatchObject({ outcome: { value: ['x', 'y', 'z'] } })
  })

  test('TASK-7: declared events are recorded once per key; undeclared ones are rejected', async () => {
    const codes: string[] = []
    const emits = rerunTool(
      'emits',
      {
        background: {
          events: { page: { schema: z.object({ n: z.number() }), wake: true }, ready: { terminal: 'succeeded' } },
        },
      },
      async (_, ctx) => {
        const code = (emitted: Promise<void>) => emitted.catch((error: { code: string }) => void codes.push(error.code))
        await ctx.emit('page', { n: 1 }, { key: 'one' })
        await ctx.emit('page', { n: 1 }, { key: 'one' })
        await code(ctx.emit('page', { n: 2 }, { key: 'one' }))
        await code(ctx.emit('page', { n: 'x' }))
        await code(ctx.emit('other'))
        await code(ctx.emit(' '))
        await ctx.emit('ready', 'the end')
        return 'not this'
      },
    )
    const runtime = await start([emits])
    const { tasks, notices } = runtime.session('s')
    const { id } = await tasks.start({ tool: emits, wake: 'on_activity' })
    expect(await tasks.wait(id)).toMatchObject({ state: 'succeeded', outcome: { value: 'the end' } })
    expect(codes).toEqual(['emit_conflict', 'emit_invalid', 'emit_invalid', 'emit_invalid'])
    expect((await notices.list()).map(({ about }) => about)).toEqual(['event', 'end'])
    expect(await tasks.events(id)).toMatchObject([
      { number: 1, type: 'page', payload: { n: 1 } },
      { number: 2, type: 'ready', payload: 'the end' },
    ])
    expect(await tasks.events(id, { after: 1 })).toHaveLength(1)
    const told: unknown[] = []
    for await (const event of runtime.session('s').events()) {
      if (event.type === 'task.event') told.push(event.payload)
      if (event.type === 'call.settled') break
    }
    expect(told).toEqual([{ n: 1 }, 'the end'])
    const [outside] = await runtime.session('s').run([{ id: 'c', name: 'emits' }])
    expect(outside?.status).toBe('failure')
  })

  test('TASK-1: five tasks of a session run concurrently; more started by code are queued', async () => {
    let running = 0
    let most = 0
    const go: (() => void)[] = []
    const slow = tool({
      name: 'slow',
      description: 'Slow',
      input: z.object({ n: z.number() }),
      hints: { readOnly: true },
      background: true,
      async execute() {
        most = Math.max(most, ++running)
        await new Promise<void>((resolve) => go.push(resolve))
        running--
      },
    })
    const runtime = await start([slow])
    const { tasks } = runtime.session('s')
    const ids: string[] = []
    for (let n = 0; n < 8; n++) ids.push((await tasks.start({ tool: slow, input: { n } })).id)
    await vi.waitUntil(() => go.length === 5, { interval: 1 })
    const states = (await tasks.list({ state: 'open' })).map(({ state }) => state)
    expect(states.filter((state) => state === 'running')).toHaveLength(5)
    for (let n = 0; n < 8; n++) {
      await vi.waitUntil(() => go.length > n, { interval: 1 })
      go[n]?.()
    }
    for (const id of ids) expect((await tasks.wait(id)).state).toBe('succeeded')
    expect(most).toBe(5)
  })

  test('TASK-8: a rerun body starts its task once and holds no slot while it waits for it', async () => {
    let inner = 0
    const child = tool({ name: 'child', description: 'Child', input: empty, background: true, execute: () => ++inner })
    const parent = (): Tool =>
      rerunTool('parent', async (_, ctx) => {
        const { id } = await ctx.tasks.start({ tool: child })
        const ended = await ctx.tasks.wait(id)
        await ctx.sleep('1m')
        return ended.outcome?.status === 'success' ? ended.outcome.value : null
      })
    const a = await start([child, parent()], first.store)
    const run = a.session('s').run([{ id: 'c', name: 'parent' }])
    run.catch(() => {})
    await vi.waitUntil(() => inner === 1, { interval: 1 })
    await vi.waitUntil(async () => (await a.session('s').tasks.list())[0]?.state === 'succeeded', { interval: 1 })
    first.die()
    const b = await takeOver([child, parent()])
    const again = b.session('s').run([{ id: 'c', name: 'parent' }])
    await clock.advance('2m')
    expect(await again).toMatchObject([{ status: 'success', value: 1 }])
    expect(inner).toBe(1)
  })

  test('DUR-10: prune removes old tasks with their messages, events and files', async () => {
    const child = tool({ name: 'child', description: 'Child', input: empty, background: true, execute: () => 'child' })
    const busy = rerunTool('busy', { background: { events: { told: {} } } }, async (_, ctx) => {
      ctx.output('words\n')
      await ctx.task?.message('hello')
      await ctx.emit('told')
      await ctx.tasks.wait((await ctx.tasks.start({ tool: child })).id)
      return ctx.task?.signal('go') ?? null
    })
    const runtime = await start([busy, child])
    const { tasks, files } = runtime.session('s')
    const { id } = await tasks.start({ tool: busy })
    await tasks.signal(id, 'go', 1)
    await tasks.wait(id)
    await clock.advance('40d')
    const late = await tasks.start({ tool: child, id: 'late' })
    await tasks.wait(late.id)
    const collections = [
      'task',
      'task-run',
      'task-order',
      'task-wake',
      'task-signals',
      'task-message',
      'task-event',
      'task-child',
      'file',
      'file-part',
    ]
    const left = async (): Promise<string[]> => {
      const rows = await Promise.all(collections.map(async (of) => store.documentsOf({ of, after: '', limit: 100 })))
      return rows.flat().map(({ of, key, value }) => `${of} ${key} ${value}`)
    }
    expect((await left()).filter((row) => row.includes(id)).length).toBeGreaterThan(8)
    await runtime.prune({ olderThan: '30d' })
    expect((await tasks.list()).map((task) => task.id)).toEqual(['late'])
    expect((await left()).filter((row) => row.includes(id))).toEqual([])
    expect((await files.list('/.background')).entries.map(({ name }) => name)).toEqual(['late'])
    expect((await files.read('/.background/late/result.json')).text).toBe('"child"\n')
  })

  test('CRON-4: a body that runs again emits its event once', async () => {
    const heard = argumentTool('heard', z.object({ what: z.string() }), { background: true }, ({ what }) => what)
    const tells = (stay: boolean): Tool =>
      rerunTool('tells', async (_, ctx) => {
        await ctx.triggers.emit('order.paid', 'A1')
        if (stay) await hang()
        await ctx.triggers.emit('order.paid', 'A2', { key: 'second' })
        return 'told'
      })
    const a = await start([tells(true), heard], first.store)
    await a.session('other').triggers.subscribe({ event: 'order.paid', tool: heard, payloadTo: 'what' })
    const run = a.session('s').run([{ id: 'c', name: 'tells' }])
    run.catch(() => {})
    await vi.waitUntil(async () => (await a.session('other').tasks.list())[0]?.state === 'succeeded', { interval: 1 })
    first.die()
    const b = await takeOver([tells(false), heard])
    expect(await b.session('s').run([{ id: 'c', name: 'tells' }])).toMatchObject([{ value: 'told' }])
    await vi.waitUntil(async () => (await b.session('other').tasks.list({ state: 'succeeded' })).length === 2, {
      interval: 1,
    })
    expect((await b.session('other').tasks.list()).map(({ summary }) => summary)).toEqual(['A2', 'A1'])
  })

  test('TASK-2: a tool failure fails the task, and an internal error is not disclosed', async () => {
    const bad = backgroundTool('bad', () => Promise.reject(fail('No disk')))
    const worse = backgroundTool('worse', () => Promise.reject(new Error('hunter2')))
    const runtime = await start([bad, worse])
    const { tasks, notices } = runtime.session('s')
    const one = await tasks.start({ tool: bad })
    const two = await tasks.start({ tool: worse })
    expect(await tasks.wait(one.id)).toMatchObject({ state: 'failed', summary: 'No disk' })
    expect(await tasks.wait(two.id)).toMatchObject({
      state: 'failed',
      summary: 'An internal error occurred while executing the tool',
    })
    expect(JSON.stringify([await notices.list(), await tasks.list()])).not.toContain('hunter2')
  })
})
