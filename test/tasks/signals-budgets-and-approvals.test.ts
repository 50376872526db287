// Tasks: signals after a timed-out wait, artifacts, erased folders, budgets and approvals.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { after, freshDir, quiet } from '../kit/stores/fresh-store.ts'
import { stores } from '../kit/open-runtime.ts'
import { backgroundTool, hang, rerunTask, simpleTool } from '../kit/simple-tools.ts'

const input = { type: 'object' } as const

for (const [kind, fresh] of stores) {
  describe(`signals, budgets and approvals on ${kind}`, () => {
    test('TASK-8: an early signal resolves the next wait even after a previous wait timed out', async () => {
      // A timed-out wait must not consume a signal that was accepted later.
      const { clock, store } = fresh()
      const t = rerunTask('t', async (_, ctx) => {
        for (let round = 1; round <= 10; round++) {
          const stop = await ctx.task?.signal('stop', { deadline: '1m' }).catch(() => undefined)
          if (stop !== undefined) return `stopped in round ${round}`
          await ctx.sleep('10s')
        }
        return 'never heard of it'
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
    ])('TASK-4, BOX-2: an artifact path stays within the session or is rejected (case %#)', async (path, expected) => {
      const { clock, store } = fresh()
      let refused = false
      const t = backgroundTool('t', async (_, ctx) => {
        await ctx.task?.artifact({ name: 'report', path: path as string }).catch(() => (refused = true))
        return 'x'
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

    test('DUR-10, BOX-2: erase leaves files in a host folder, as the guide says', async () => {
      const { clock, store } = fresh()
      const folder = freshDir()
      const runtime = await createRuntime({ store, clock, tools: [], logger: quiet, files: { folder: () => folder } })
      await runtime.session('s').files.write('/personal.txt', 'personal')
      await runtime.erase({ session: 's' })
      expect(existsSync(join(folder, 'personal.txt'))).toBe(true)
      expect(readFileSync(new URL('../../docs/guide/files.md', import.meta.url), 'utf8')).toContain('`erase` leaves it')
    })

    const openWithApproval = async () => {
      const { clock, store } = fresh()
      const policy = { rules: [{ tool: 't', then: 'ask' }] } as never
      const runtime = await createRuntime({
        store,
        clock,
        tools: [backgroundTool('t', () => 'ran')],
        logger: quiet,
        policy,
      })
      return { clock, runtime, session: runtime.session('s') }
    }

    test('TASK-8: a call that waits for approval can be moved to the background, approved and run', async () => {
      const { clock, runtime, session } = await openWithApproval()
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

    test('TASK-10: ending a session cancels a task that waits for approval and clears the inbox', async () => {
      const { clock, runtime, session } = await openWithApproval()
      await session.tasks.start({ tool: 't', id: 'a' })
      await clock.advance(100)
      expect(await runtime.inbox()).toHaveLength(1)
      await session.end()
      await clock.advance(10_000)
      expect(await session.tasks.get('a')).toMatchObject({ state: 'cancelled' })
      expect(await runtime.inbox()).toHaveLength(0)
    })

    test('POL-8: tasks that a turn starts count toward its budget', async () => {
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

    test('TASK-5: a task that ignores its cancel is settled after its grace; later writes fail', async () => {
      const { clock, store } = fresh()
      let late: (() => Promise<unknown>) | undefined
      const t = simpleTool('t', { background: { grace: '2s' } }, (_, ctx) => {
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
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: t, id: 'a' })
      await clock.advance(100)
      await session.tasks.cancel('a')
      await clock.advance(2_500)
      expect(await session.tasks.get('a')).toMatchObject({
        state: 'cancelled',
        outcome: { cancellation: { mayStillRun: true } },
      })
      const before = JSON.stringify(await session.tasks.get('a'))
      const said = (await after(late?.() as Promise<{ status: string }[]>, clock, 10_000, 1_000)) as {
        value: { status: string }[]
      }
      await clock.advance(2_000)
      expect(said.value.map(({ status }) => status)).toEqual([
        'rejected',
        'rejected',
        'rejected',
        'rejected',
        'rejected',
      ])
      expect(JSON.stringify(await session.tasks.get('a'))).toBe(before)
      expect((await session.tasks.list()).length).toBe(1)
    })

    for (const first of ['schedule', 'start'] as const) {
      test(`TASK-8: ${first} claims a task id, and the other kind is rejected`, async () => {
        // A second row under the same id would hide the first task.
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

    test('TASK-1: a session tool runs in the background of its session only', async () => {
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
