// Tasks: limits, worker: false, encryption at rest, changed tools, erase, and hostile input to the task tools.
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { PawlError } from 'pawl'
import { createRuntime, type Runtime, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { keepOpen, mortal } from '../kit/stores/killable-store.ts'
import { after, freshSqlite, quiet } from '../kit/stores/fresh-store.ts'
import { stores } from '../kit/open-runtime.ts'
import { backgroundTool, hang, patient, rerunTask, rerunTool, simpleTool } from '../kit/simple-tools.ts'

const input = { type: 'object' } as const
const quick = tool({ name: 'quick', description: 'd', input, background: true, execute: () => 'quick' })

for (const [kind, fresh] of stores) {
  describe(`task limits and hostile input on ${kind}`, () => {
    test('TASK-1: parents that fill the task limit and wait for their children do not deadlock', async () => {
      const { clock, store } = fresh()
      const parent = rerunTask('parent', async (_, ctx) => {
        const child = await ctx.tasks.start({ tool: 'quick' })
        return (await ctx.tasks.wait(child.id)).state
      })
      const runtime = await createRuntime({
        store,
        clock,
        tools: [parent, quick],
        logger: quiet,
        limits: { tasksPerSession: 2, tasksPerWorker: 2 },
      })
      const { tasks } = runtime.session('s')
      for (let n = 0; n < 4; n++) await tasks.start({ tool: parent, id: `p${n}` })
      for (let n = 0; n < 4; n++)
        expect(await after(tasks.wait(`p${n}`), clock)).toMatchObject({ value: { state: 'succeeded' } })
      expect(await tasks.list({ state: 'open' })).toEqual([])
    })

    test('TASK-1: the limit of five tasks per session holds across two workers', async () => {
      const { clock, store } = fresh()
      let running = 0
      let most = 0
      const ends: (() => void)[] = []
      const t = backgroundTool(
        't',
        () =>
          new Promise<string>((resolve) => {
            most = Math.max(most, ++running)
            ends.push(() => {
              running--
              resolve('x')
            })
          }),
      )
      const one = await createRuntime({ store: keepOpen(store), clock, tools: [t], logger: quiet })
      const two = await createRuntime({ store: keepOpen(store), clock, tools: [t], logger: quiet })
      await clock.advance('11s')
      for (let n = 0; n < 12; n++) await (n % 2 ? one : two).session('s').tasks.start({ tool: t, id: `t${n}` })
      await clock.advance('11s')
      expect(running).toBe(5)
      for (let round = 0; round < 12; round++) {
        ends.shift()?.()
        await clock.advance('2s')
      }
      await clock.advance('60s')
      for (const end of ends.splice(0)) end()
      await clock.advance('60s')
      for (const end of ends.splice(0)) end()
      await clock.advance('60s')
      expect(most).toBe(5)
      expect((await one.session('s').tasks.list()).map(({ state }) => state)).toEqual(
        Array.from({ length: 12 }, () => 'succeeded'),
      )
    })

    test('TASK-4: tasks that were cancelled while queued, invalid or denied have a result file', async () => {
      const { clock, store } = fresh()
      const strict = tool({
        name: 'strict',
        description: 'd',
        input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        background: true,
        execute: () => 1,
      })
      const denied = tool({ name: 'denied', description: 'd', input, background: true, execute: () => 1 })
      const runtime = await createRuntime({
        store,
        clock,
        tools: [patient, strict, denied],
        logger: quiet,
        limits: { tasksPerSession: 1 },
        policy: { rules: [{ tool: 'denied', then: 'deny' }] },
      })
      const session = runtime.session('s')
      await session.tasks.start({ tool: 'patient', id: 'blocks' })
      await clock.advance(100)
      await session.tasks.start({ tool: 'patient', id: 'queued' })
      await session.tasks.start({ tool: strict, id: 'strict', input: {} })
      await session.tasks.start({ tool: denied, id: 'denied' })
      await clock.advance(100)
      await session.tasks.cancel('queued')
      await session.tasks.cancel('blocks')
      await clock.advance(60_000)
      const states: string[] = []
      for (const { id, state, resultPath } of await session.tasks.list())
        states.push(
          `${id} ${state} ${await session.files.read(resultPath ?? '').then(
            () => 'there',
            (error: PawlError) => error.code,
          )}`,
        )
      expect(states.toSorted()).toEqual([
        'blocks cancelled there',
        'denied failed there',
        'queued cancelled there',
        'strict failed there',
      ])
    })

    test('TASK-6, TASK-10: abandoning a parent cancels the tasks it started', async () => {
      const { clock, store } = fresh()
      const dying = mortal(store)
      const parent = simpleTool('parent', { background: { recovery: 'owner_bound' } }, async (_, ctx) => {
        await ctx.tasks.start({ tool: 'patient', id: 'child' })
        dying.die()
        return hang()
      })
      const one = await createRuntime({ store: dying.store, clock, tools: [parent, patient], logger: quiet })
      await one.session('s').tasks.start({ tool: parent, id: 'p' })
      await clock.advance(100)
      const two = await createRuntime({ store: keepOpen(store), clock, tools: [parent, patient], logger: quiet })
      await clock.advance('120s')
      await clock.advance('120s')
      expect(await two.session('s').tasks.get('p')).toMatchObject({ state: 'abandoned' })
      expect(await two.session('s').tasks.get('child')).toMatchObject({ state: 'cancelled' })
    })

    test('TASK-10: a task started by a nested call belongs to the parent task', async () => {
      const { clock, store } = fresh()
      const starter = rerunTool(
        'starter',
        async (_, ctx) => (await ctx.tasks.start({ tool: 'patient', id: 'child' })).id,
      )
      const parent = rerunTask('parent', async (_, ctx) => ctx.call(starter, {}))
      const runtime = await createRuntime({ store, clock, tools: [parent, patient, starter], logger: quiet })
      const { tasks } = runtime.session('s')
      await tasks.start({ tool: parent, id: 'p' })
      expect(await after(tasks.wait('p'), clock)).toMatchObject({ value: { state: 'succeeded' } })
      await clock.advance('60s')
      expect(await tasks.get('child')).toMatchObject({ state: 'cancelled', parent: 'p' })
    })

    test('TASK-9: session.supersede does not affect a task that waits for a person', async () => {
      const { clock, store } = fresh()
      const asks = rerunTask('asks', async (_, ctx) =>
        String(((await (await ctx.ask({ text: 'Sure?', deadline: '1d' })).value) as { answer?: unknown }).answer),
      )
      const runtime = await createRuntime({ store, clock, tools: [asks], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: asks, id: 'a' })
      await clock.advance(1_000)
      expect(await session.tasks.get('a')).toMatchObject({ state: 'awaiting_input' })
      await session.supersede()
      await clock.advance(1_000)
      expect(await session.tasks.get('a')).toMatchObject({ state: 'awaiting_input' })
    })

    test('CALL-7, TASK-6: a task fails if its tool no longer runs in the background', async () => {
      const { clock, store } = fresh()
      const t = (background: boolean) =>
        tool({
          name: 't',
          description: 'd',
          input,
          onCrash: 'rerun',
          ...(background ? { background: true } : {}),
          execute: async (_: unknown, ctx: { sleep(d: string): Promise<void> }) => (await ctx.sleep('1h'), 'x'),
        } as never)
      const one = await createRuntime({ store: keepOpen(store), clock, tools: [t(true)], logger: quiet })
      await one.session('s').tasks.start({ tool: 't', id: 'a' })
      await clock.advance(1_000)
      await after(one.close({ grace: 0 }), clock, 10_000, 100)
      const two = await createRuntime({ store: keepOpen(store), clock, tools: [t(false)], logger: quiet })
      expect(await after(two.session('s').tasks.wait('a'), clock, 7_200_000, 60_000)).toMatchObject({
        value: { state: 'failed' },
      })
    })

    test('worker: false can start, signal, wait and cancel; a later worker executes it', async () => {
      const { clock, store } = fresh()
      const hears = rerunTask('hears', async (_, ctx) => [
        await ctx.task?.signal('go'),
        (await ctx.task?.receive())?.text,
      ])
      const door = await createRuntime({
        store: keepOpen(store),
        clock,
        tools: [hears, patient],
        logger: quiet,
        worker: false,
      })
      const { tasks, notices } = door.session('s')
      await tasks.start({ tool: hears, id: 'a' })
      await tasks.start({ tool: patient, id: 'b' })
      await tasks.signal('a', 'go', 1)
      await tasks.message('a', 'hello')
      expect(await tasks.cancel('b')).toBe(true)
      await createRuntime({ store: keepOpen(store), clock, tools: [hears, patient], logger: quiet })
      expect(await after(tasks.wait('a'), clock)).toMatchObject({
        value: { state: 'succeeded', outcome: { value: [1, 'hello'] } },
      })
      expect(await after(tasks.wait('b'), clock)).toMatchObject({ value: { state: 'cancelled' } })
      expect((await notices.list()).map(({ task }) => String(task)).toSorted()).toEqual(['a', 'b'])
    })

    test('DUR-10: erase with open tasks cancels them and removes everything they recorded', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [patient], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: patient, id: 'a', wake: 'on_activity' })
      await clock.advance(100)
      const waiting = session.tasks.wait('a')
      waiting.catch(() => {})
      const erased = runtime.erase({ session: 's', open: 'cancel' })
      expect(await after(erased, clock, 60_000, 100)).toHaveProperty('value')
      expect(await after(waiting, clock)).not.toBe('hangs')
      expect(await session.tasks.list()).toEqual([])
      expect(await session.notices.list()).toEqual([])
      expect(await session.files.glob('/**')).toMatchObject({ entries: [] })
    })

    test('DUR-10: a wait for a task that another process erases does not hang', async () => {
      const { clock, store } = fresh()
      const gone = tool({ name: 'gone', description: 'd', input, background: true, execute: hang })
      const door = await createRuntime({ store: keepOpen(store), clock, tools: [gone], logger: quiet, worker: false })
      await door.session('s').tasks.start({ tool: gone, id: 'a' })
      const waiting = door.session('s').tasks.wait('a')
      waiting.catch(() => {})
      await clock.advance(100)
      const other = await createRuntime({ store: keepOpen(store), clock, tools: [gone], logger: quiet })
      const erased = other.erase({ session: 's', open: 'cancel' })
      await after(erased, clock, 60_000, 100)
      expect(await after(waiting, clock)).not.toBe('hangs')
    })

    test('TASK-1: hostile input to the task tools is rejected, never an internal error', async () => {
      const { clock, store } = fresh()
      const secretTool = backgroundTool('inner', { internal: true }, () => 'x')
      const runtime = await createRuntime({ store, clock, tools: [patient, quick, secretTool], logger: quiet })
      await runtime.session('other').tasks.start({ tool: patient, id: 'theirs' })
      const session = runtime.session('s')
      const tries: [string, object][] = [
        ['spawn_background', { tool: 'inner', args: {} }],
        ['spawn_background', { tool: ' inner ', args: {} }],
        ['spawn_background', { tool: 'spawn_background', args: {} }],
        ['spawn_background', { tool: 'constructor', args: {} }],
        ['spawn_background', { tool: '__proto__', args: {} }],
        ['spawn_background', { tool: 'list_tasks', args: {} }],
        ['spawn_background', { tool: 'patient', args: [] }],
        ['spawn_background', { tool: 'x'.repeat(100_000), args: {} }],
        ['spawn_background', { tool: 'inner', args: {}, schedule: { cron_expression: '* * * * *' } }],
        ['spawn_background', { tool: ' inner', args: {}, schedule: { cron_expression: '* * * * *' } }],
        ['get_task', { task_id: 'theirs' }],
        ['get_task', { task_id: '../other/theirs' }],
        ['get_task', { task_id: '__proto__' }],
        ['get_task', { task_id: 'x'.repeat(100_000) }],
        ['get_task', { task_id: '\u0000' }],
        ['cancel_task', { task_id: 'theirs' }],
        ['message_task', { task_id: 'theirs', message: 'x' }],
        ['wait_task', { task_id: 'theirs', timeout_seconds: 1 }],
        ['wait_task', { task_id: 'theirs', timeout_seconds: 1e9 }],
        ['move_to_background', { call_id: 'nope' }],
        ['move_to_background', { call_id: 'x', batch: 'pawl:task' }],
        ['move_to_background', { call_id: 'x'.repeat(100_000) }],
        ['move_to_background', { call_id: 'a\u0000b', batch: '\u0000' }],
        ['list_tasks', { state: 'constructor' }],
      ]
      const wrong: string[] = []
      for (const [n, [name, args]] of tries.entries()) {
        const run = session.run([{ id: `h${n}`, name, input: args }])
        const answer = await after(run, clock, 60_000)
        const [outcome] = typeof answer === 'object' && 'value' in answer ? answer.value : []
        const said = outcome?.status === 'failure' ? outcome.failure.code : JSON.stringify(answer).slice(0, 200)
        if (
          outcome?.status !== 'failure' ||
          outcome.failure.class === 'internal' ||
          /internal|unavailable_store/.test(said)
        )
          wrong.push(`${name} ${JSON.stringify(args).slice(0, 80)}: ${said}`)
      }
      expect(wrong).toEqual([])
    })
  })
}

for (const how of ['all', 'sensitive'] as const) {
  test(`DUR-12: task data is not readable at rest (${how === 'all' ? 'encrypt: true' : 'a sensitive tool'})`, async () => {
    const { clock, store, file } = freshSqlite()
    const word = 'PLAINTEXTWORD'
    const t = tool({
      name: 't',
      description: 'd',
      input: { type: 'object', properties: { x: { type: 'string' } } },
      onCrash: 'rerun',
      ...(how === 'sensitive' ? { sensitive: true } : {}),
      background: { events: { told: { wake: true } } },
      async execute(_: unknown, ctx: never) {
        const c = ctx as {
          output(t: string): void
          progress(p: object): void
          emit(a: string, b: unknown): Promise<void>
          files: { write(p: string, t: string): Promise<unknown> }
          task: {
            status(t: string): void
            message(t: string): Promise<void>
            artifact(a: object): Promise<void>
            signal(n: string): Promise<unknown>
            receive(): Promise<unknown>
            request(p: string): Promise<unknown>
          }
        }
        c.output(`${word} out\n`)
        c.task.status(`${word} status`)
        c.progress({ current: 1, label: `${word} label` })
        await c.task.message(`${word} message`)
        await c.task.artifact({ name: `${word} artifact`, url: `https://x.example/${word}` })
        await c.emit('told', `${word} event`)
        await c.files.write('/note.txt', `${word} file`)
        await c.task.signal('go')
        await c.task.signal('go')
        await c.task.receive()
        await c.task.request(`${word} request`)
        return `${word} result`
      },
    } as never)
    const runtime: Runtime = await createRuntime({
      store,
      clock,
      tools: [t],
      logger: quiet,
      ...(how === 'all' ? { encrypt: true } : {}),
    })
    const session = runtime.session('s')
    await session.tasks.start({ tool: t, id: 'a', input: { x: word }, title: `${word} title`, wake: 'on_activity' })
    await session.tasks.signal('a', 'go', `${word} early`)
    await clock.advance(2_000)
    await session.tasks.signal('a', 'go', `${word} late`)
    await clock.advance(2_000)
    await session.tasks.message('a', `${word} in`)
    await clock.advance(2_000)
    const asking = await session.tasks.get('a')
    await session.tasks.message('a', `${word} reply`, { inReplyTo: asking?.inputRequest?.id ?? '' })
    expect(await after(session.tasks.wait('a'), clock)).toMatchObject({ value: { state: 'succeeded' } })
    if (how === 'all') await session.end({ reason: `${word} reason` })
    await clock.advance(2_000)
    await runtime.close({ grace: 0 })
    await store.close()
    const found: string[] = []
    for (const name of readdirSync(dirname(file))) {
      const text = readFileSync(join(dirname(file), name), 'latin1')
      for (const [, what] of text.matchAll(/PLAINTEXTWORD ?([a-z]*)/g)) found.push(what ?? '')
    }
    expect([...new Set(found)]).toEqual([])
  })
}
