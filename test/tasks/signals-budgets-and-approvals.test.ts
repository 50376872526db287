// Signals after a wait whose time was over, artifacts, folders that are erased, budgets, approvals.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { after, freshDir, freshMemory, freshSqlite, quiet } from '../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const hang = (): Promise<never> => new Promise(() => {})

for (const [kind, fresh] of [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const) {
  describe(`and besides, on ${kind}`, () => {
    test('TASK-8: a signal that was accepted while nobody waited is heard by the next wait, also if one before ran out of time', async () => {
      // "early signals keep". A body that looks for a signal once a minute swallows as many signals as it had looked in vain: each was accepted.
      const { clock, store } = fresh()
      const t = tool({
        name: 't',
        description: 'd',
        input,
        onCrash: 'rerun',
        background: true,
        async execute(_, ctx) {
          for (let round = 1; round <= 10; round++) {
            const stop = await ctx.task?.signal('stop', { deadline: '1m' }).catch(() => undefined)
            if (stop !== undefined) return `stopped in round ${round}`
            await ctx.sleep('10s')
          }
          return 'never heard of it'
        },
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const { tasks } = runtime.session('s')
      await tasks.start({ tool: t, id: 'a' })
      await clock.advance('65s')
      expect(await tasks.signal('a', 'stop', true)).toMatchObject({ accepted: true })
      const ended = await after(tasks.wait('a'), clock, 3_600_000)
      expect(ended).toMatchObject({ value: { outcome: { value: 'stopped in round 2' } } })
    })

    test.each([
      ['../../etc/passwd', [{ name: 'report', type: 'file', path: '/etc/passwd' }]],
      ['\u0000', 'refused'],
      [5, 'refused'],
      ['x'.repeat(2_000_000), 'refused'],
    ])('TASK-4 BOX-2: the path of an artifact is a path within the session, or is refused (try %#)', async (path, expected) => {
      const { clock, store } = fresh()
      let refused = false
      const t = tool({
        name: 't',
        description: 'd',
        input,
        background: true,
        async execute(_, ctx) {
          await ctx.task?.artifact({ name: 'report', path: path as string }).catch(() => (refused = true))
          return 'x'
        },
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: t, id: 'a' })
      await clock.advance(1_000)
      const task = await session.tasks.get('a')
      expect(task?.state).toBe('succeeded')
      expect(refused ? 'refused' : task?.artifacts).toEqual(expected)
      expect(refused ? task?.artifacts : []).toEqual([])
    })

    test('DUR-10 BOX-2: files in a folder of yours stay when the session is erased, and the guide says so', async () => {
      const { clock, store } = fresh()
      const folder = freshDir()
      const runtime = await createRuntime({ store, clock, tools: [], logger: quiet, files: { folder: () => folder } })
      await runtime.session('s').files.write('/personal.txt', 'personal')
      await runtime.erase({ session: 's' })
      expect(existsSync(join(folder, 'personal.txt'))).toBe(true)
      expect(readFileSync(new URL('../../docs/guide/files.md', import.meta.url), 'utf8')).toContain('`erase` leaves it')
    })

    test('TASK-8: a call that waits for an approval is moved, approved, and runs', async () => {
      const { clock, store } = fresh()
      const t = tool({ name: 't', description: 'd', input, background: true, execute: () => 'ran' })
      const runtime = await createRuntime({
        store,
        clock,
        tools: [t],
        logger: quiet,
        policy: { rules: [{ tool: 't', then: 'ask' }] } as never,
      })
      const session = runtime.session('s')
      const run = session.run([{ id: 'a', name: 't' }])
      await clock.advance(100)
      const task = await session.tasks.adopt('a')
      expect(task).toMatchObject({ state: 'awaiting_input' })
      expect(await after(run, clock, 10_000)).toMatchObject({ value: [{ value: { task_id: task?.id } }] })
      const [item] = await runtime.inbox()
      await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' } as never)
      expect(await after(session.tasks.wait(task?.id ?? ''), clock)).toMatchObject({ value: { state: 'succeeded' } })
      expect(await session.notices.list()).toHaveLength(1)
    })

    test('TASK-10: a task that waits for an approval ends with its session, and its item leaves the inbox', async () => {
      const { clock, store } = fresh()
      const t = tool({ name: 't', description: 'd', input, background: true, execute: () => 'ran' })
      const runtime = await createRuntime({
        store,
        clock,
        tools: [t],
        logger: quiet,
        policy: { rules: [{ tool: 't', then: 'ask' }] } as never,
      })
      const session = runtime.session('s')
      await session.tasks.start({ tool: t, id: 'a' })
      await clock.advance(100)
      expect(await runtime.inbox()).toHaveLength(1)
      await session.end()
      await clock.advance(10_000)
      expect(await session.tasks.get('a')).toMatchObject({ state: 'cancelled' })
      expect(await runtime.inbox()).toHaveLength(0)
    })

    test("POL-8: what a turn starts in the background is counted in the turn's budget, as what it calls is", async () => {
      const { clock, store } = fresh()
      let ran = 0
      const t = tool({ name: 't', description: 'd', input, background: true, execute: () => ++ran })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet, budgets: { turn: { calls: 3 } } })
      const session = runtime.session('s')
      for (let n = 0; n < 3; n++) {
        const run = session.run([{ id: `c${n}`, name: 'spawn_background', input: { tool: 't', args: {} } }], {
          turn: 'one',
          batch: `b${n}`,
        })
        await after(run, clock, 10_000)
      }
      await clock.advance(10_000)
      expect(ran).toBeLessThan(3)
    })

    test('TASK-5: a body that ignores its cancel: cancelled with mayStillRun after its grace, and what it says later changes nothing', async () => {
      const { clock, store } = fresh()
      let late: (() => Promise<unknown>) | undefined
      const t = tool({
        name: 't',
        description: 'd',
        input,
        background: { grace: '2s' },
        execute(_, ctx) {
          late = async () => {
            ctx.output('late\n')
            ctx.task?.status('late')
            return Promise.allSettled([
              ctx.task?.message('late'),
              ctx.task?.artifact({ name: 'late', url: 'x:late' }),
              ctx.files.write('/late', 'late'),
              ctx.tasks.start({ tool: 't', id: 'late' }),
              ctx.tasks.signal('a', 'late', 1),
            ])
          }
          return hang()
        },
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: t, id: 'a' })
      await clock.advance(100)
      await session.tasks.cancel('a')
      await clock.advance(2_500)
      expect(await session.tasks.get('a')).toMatchObject({ state: 'cancelled', outcome: { cancellation: { mayStillRun: true } } })
      const before = JSON.stringify(await session.tasks.get('a'))
      const said = (await after(late?.() as Promise<{ status: string }[]>, clock, 10_000, 1_000)) as { value: { status: string }[] }
      await clock.advance(2_000)
      expect(said.value.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected', 'rejected'])
      expect(JSON.stringify(await session.tasks.get('a'))).toBe(before)
      expect((await session.tasks.list()).length).toBe(1)
    })

    for (const first of ['schedule', 'start'] as const) {
      test(`TASK-8: one id is one task: ${first} takes it, and the other is refused`, async () => {
        // start-task.ts and monitor.ts write the row of a task without asking whether another has it: the first is no longer to be found.
        const { clock, store } = fresh()
        const t = tool({ name: 't', description: 'd', input, background: true, execute: hang })
        const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
        const { tasks } = runtime.session('s')
        const schedule = (): Promise<unknown> => tasks.schedule({ tool: t, id: 'x' }, { cron: '0 0 * * *' })
        const start = (): Promise<unknown> => tasks.start({ tool: t, id: 'x' })
        await (first === 'schedule' ? schedule() : start())
        const before = await tasks.get('x')
        const other = await (first === 'schedule' ? start() : schedule()).then(
          () => 'taken',
          ({ code }: { code: string }) => code,
        )
        expect((await tasks.get('x'))?.kind).toBe(before?.kind)
        expect(other).not.toBe('taken')
      })
    }

    test('TASK-1: a tool of one session runs in the background of that session', async () => {
      const { clock, store } = fresh()
      const t = tool({ name: 't', description: 'd', input, background: true, execute: () => 'mine' })
      const runtime = await createRuntime({ store, clock, tools: [], logger: quiet })
      const session = runtime.session('s', { tools: [t] })
      expect(session.tools.map(({ name }) => name)).toContain('spawn_background')
      const run = session.run([{ id: '1', name: 'spawn_background', input: { tool: 't', args: {} } }])
      expect(await after(run, clock)).toMatchObject({ value: [{ status: 'success' }] })
      await clock.advance(10_000)
      expect((await session.tasks.list()).map(({ state }) => state)).toEqual(['succeeded'])
      await expect(runtime.session('other').tasks.start({ tool: t })).rejects.toMatchObject({ code: 'task_invalid' })
    })
  })
}
