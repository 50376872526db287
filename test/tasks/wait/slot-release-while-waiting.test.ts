// Semaphore slots of waiting tasks, limits of stored signals, and invalid input to the task API.
import { createRuntime, PawlError, type RuntimeOptions, type Tool, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { stores } from '../../kit/open-runtime.ts'
import { backgroundTool, patient, rerunTask } from '../../kit/simple-tools.ts'
import { keepOpen } from '../../kit/stores/killable-store.ts'

const input = { type: 'object' } as const
const quick = tool({ name: 'quick', description: 'd', input, background: true, execute: () => 'quick' })
const waiter = (name: string, more: object): Tool =>
  tool({
    name,
    description: 'd',
    input,
    ...more,
    async execute(
      _: unknown,
      ctx: { tasks: { start(s: object): Promise<{ id: string }>; wait(id: string): Promise<{ state: string }> } },
    ) {
      const child = await ctx.tasks.start({ tool: 'quick' })
      return (await ctx.tasks.wait(child.id)).state
    },
  })

for (const [kind, fresh] of stores) {
  describe(`semaphore slots of tasks on ${kind}`, () => {
    for (const workers of [1, 2]) {
      const cases: [string, readonly Tool[], RuntimeOptions['limits']][] = [
        [
          'a task that must not rerun, one task at a time',
          [waiter('top', { background: true })],
          { tasksPerSession: 1 },
        ],
        [
          'a task that may rerun, one task at a time',
          [waiter('top', { background: true, onCrash: 'rerun' })],
          { tasksPerSession: 1 },
        ],
        [
          'a task that must not rerun, one task for each worker',
          [waiter('top', { background: true })],
          { tasksPerWorker: 1 },
        ],
        [
          'a task that must not rerun, one call for each session',
          [waiter('top', { background: true })],
          { perSession: 1 },
        ],
        [
          'a task that must not rerun, one call for each worker',
          [waiter('top', { background: true })],
          { perWorker: 1 },
        ],
        [
          'a tool that a task calls, one task at a time',
          [
            waiter('inner', {}),
            backgroundTool('top', async (_, ctx) => (await ctx.run([{ id: '1', name: 'inner' }]))[0]?.status),
          ],
          { tasksPerSession: 1 },
        ],
        [
          'a tool that a task calls, where both may rerun, one task at a time',
          [
            waiter('inner', { onCrash: 'rerun' }),
            rerunTask('top', async (_, ctx) => (await ctx.run([{ id: '1', name: 'inner' }]))[0]?.status),
          ],
          { tasksPerSession: 1 },
        ],
      ]
      for (const [what, tools, limits] of cases) {
        test(`TASK-8: a waiting task holds no slot: ${what}, ${workers} worker(s)`, async () => {
          const { clock, store } = fresh()
          const runtimes = []
          for (let n = 0; n < workers; n++)
            runtimes.push(
              await createRuntime({
                store: keepOpen(store),
                clock,
                tools: [...tools, quick],
                logger: quiet,
                ...(limits ? { limits } : {}),
              }),
            )
          await clock.advance('11s')
          const { tasks } = (runtimes[0] as (typeof runtimes)[0]).session('s')
          await tasks.start({ tool: 'top', id: 'a' })
          expect(await after(tasks.wait('a'), clock)).toMatchObject({ value: { state: 'succeeded' } })
          expect(await tasks.list({ state: 'open' })).toEqual([])
          expect(await store.holds()).toEqual([])
        })
      }
    }

    test('TASK-8: wait_task waits for its own timeout, not the timeout of a call', async () => {
      const { clock, store } = fresh()
      const long = rerunTask('long', async (_, ctx) => (await ctx.sleep('30m'), 'done'))
      const runtime = await createRuntime({ store, clock, tools: [long], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: long, id: 'a' })
      const run = session.run([{ id: 'w', name: 'wait_task', input: { task_id: 'a', timeout_seconds: 7200 } }])
      expect(await after(run, clock, 7_200_000, 60_000)).toMatchObject({
        value: [{ status: 'success', value: { timed_out: false, task: { state: 'succeeded' } } }],
      })
    })

    test('TASK-8: messages stored for a task that does not receive them are limited in bytes', async () => {
      // They are all in one row, which every send reads and rewrites.
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [patient], logger: quiet })
      const { tasks } = runtime.session('s')
      await tasks.start({ tool: patient, id: 'a' })
      const large = 'x'.repeat(900_000)
      let sent = 0
      while (sent < 20) {
        if ((await tasks.message('a', large).catch(() => null)) === null) break
        sent++
      }
      let most = 0
      for (const { value } of await store.documentsOf({
        of: 'task-signals',
        tenant: 'default',
        session: 's',
        after: '',
        limit: 10,
      }))
        most = Math.max(most, value.length)
      expect(most).toBeLessThan(16 * 1024 * 1024)
    })

    test('TASK-8: a message to a moved call is rejected', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({
        store,
        clock,
        tools: [
          tool({ name: 'slow', description: 'd', input, background: true, execute: () => new Promise(() => {}) }),
        ],
        logger: quiet,
      })
      const session = runtime.session('s')
      void session.run([{ id: 'a', name: 'slow' }])
      await clock.advance(100)
      const task = await session.tasks.adopt('a')
      await expect(session.tasks.message(task?.id ?? '', 'hello')).rejects.toBeInstanceOf(PawlError)
    })

    test('invalid input to the task API is rejected with a PawlError', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [patient, quick], logger: quiet })
      const { tasks, notices } = runtime.session('s')
      await tasks.start({ tool: quick, id: 'a' })
      await tasks.start({ tool: patient, id: 'p' })
      await clock.advance(1_000)
      const circular: Record<string, unknown> = {}
      circular.self = circular
      const any = (value: unknown): never => value as never
      const asks: [string, () => Promise<unknown>][] = [
        ['start bigint', () => tasks.start({ tool: quick, input: { n: 1n } })],
        ['start circular', () => tasks.start({ tool: quick, input: circular })],
        ['start null', () => tasks.start(any(null))],
        ['start tool null', () => tasks.start({ tool: any(null) })],
        ['start deadline', () => tasks.start({ tool: quick, deadline: any('tomorrow') })],
        ['start deadline NaN', () => tasks.start({ tool: quick, deadline: Number.NaN })],
        ['start id', () => tasks.start({ tool: quick, id: any(5) })],
        ['start wake', () => tasks.start({ tool: quick, wake: any('loud') })],
        ['adopt title', () => tasks.adopt('a', { title: any(5) })],
        ['adopt wake', () => tasks.adopt('a', { batch: 'pawl:task', wake: any('loud') })],
        ['adopt id', () => tasks.adopt(any(undefined))],
        ['adopt occurrence', () => tasks.adopt('a', { batch: '', occurrence: any('x') })],
        ['wait timeout', () => tasks.wait('p', { timeout: any(-1) })],
        ['wait timeout text', () => tasks.wait('p', { timeout: any('soon') })],
        ['wait until', () => tasks.wait('p', { until: any('never') })],
        ['signal name', () => tasks.signal('p', any({ toString: () => 'x' }), 1)],
        ['signal value', () => tasks.signal('p', 'x', any(1n))],
        ['signal key', () => tasks.signal('p', 'x', 1, { key: any({}) })],
        ['message text', () => tasks.message('p', any(5))],
        ['message data', () => tasks.message('p', 'x', { data: any(circular) })],
        ['cancel reason', () => tasks.cancel('p', any(5))],
        ['list limit', () => tasks.list({ limit: any('x') })],
        ['list after', () => tasks.list({ after: any({}) })],
        ['messages limit', () => tasks.messages('p', { limit: any('x') })],
        ['events after', () => tasks.events('p', { after: any(-5) })],
        ['get', () => tasks.get(any({}))],
        ['acknowledge', () => notices.acknowledge(any(null))],
        ['acknowledge number', () => notices.acknowledge(any([5]))],
        ['end', () => runtime.session('x').end({ reason: any(5) })],
        ['end by', () => runtime.session('y').end({ by: any({}) })],
      ]
      const wrong: string[] = []
      for (const [what, ask] of asks) {
        const answer = await after(
          (async () => ask())().then(
            () => 'taken',
            (error: unknown) =>
              error instanceof PawlError ? 'refused' : `${(error as Error).name}: ${(error as Error).message}`,
          ),
          clock,
          2_000,
          1_000,
        )
        const said = typeof answer === 'object' && 'value' in answer ? answer.value : JSON.stringify(answer)
        if (said !== 'refused' && said !== 'taken') wrong.push(`${what}: ${said}`)
      }
      expect(wrong).toEqual([])
    })

    test('BOX-2: only the runtime writes below /.background, in every spelling of the path', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [quick], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: quick, id: 'a' })
      await clock.advance(1_000)
      await session.files.write('/mine/x', 'mine')
      const { files } = session
      const taken: string[] = []
      for (const path of [
        '/.background/a/result.json',
        '.background/a/x',
        '/workspace/.background/x',
        '/.BACKGROUND/x',
        '/x/../.background/y',
        '/.bac\u212aground/y',
        '/.background',
        '/./.background//a',
        '/.background/../.background/z',
      ]) {
        const tries: [string, () => Promise<unknown>][] = [
          ['write', () => files.write(path, 'forged')],
          ['mkdir', () => files.makeDirectory(path)],
          ['remove', () => files.remove(path, { recursive: true })],
          ['move to', () => files.move('/mine/x', path)],
          ['move from', () => files.move(path, '/mine/y')],
        ]
        for (const [what, ask] of tries)
          await ask().then(
            () => taken.push(`${what} ${path}`),
            () => {},
          )
      }
      await files.remove('/', { recursive: true }).catch(() => {})
      await files.move('/', '/all').catch(() => {})
      expect(taken).toEqual([])
      expect((await files.read('/.background/a/result.json')).text).toBe('"quick"\n')
    })
  })
}
