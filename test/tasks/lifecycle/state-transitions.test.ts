// The task states visible to an observer after every write.
import { createRuntime, retry, tool, type Session } from 'pawl'
import { describe, expect, test } from 'vitest'
import { keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { stores } from '../../kit/open-runtime.ts'
import { backgroundTool, hang, rerunTask, simpleTool } from '../../kit/simple-tools.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'

const input = { type: 'object' } as const

/** Observes task `a` at every step of the clock: it succeeds and does not return to queued. */
async function expectQueuedOnce(
  tasks: Session['tasks'],
  clock: ManualClock,
  steps: number,
  stepMs: number,
): Promise<void> {
  const seen: string[] = []
  for (let n = 0; n < steps; n++) {
    const { state = '' } = (await tasks.get('a')) ?? {}
    if (seen.at(-1) !== state) seen.push(state)
    await clock.advance(stepMs)
  }
  expect(seen.filter((state) => state === 'queued').length).toBeLessThanOrEqual(1)
  expect(seen.at(-1)).toBe('succeeded')
}

for (const [kind, fresh] of stores) {
  describe(`task states on ${kind}`, () => {
    test('TASK-2: a task that is retried does not return to queued', async () => {
      // The call itself is `queued` between two attempts; the task is not.
      const { clock, store } = fresh()
      let tries = 0
      const t = backgroundTool('t', { retry: { attempts: 3 } }, async () => {
        await new Promise<void>((resolve) => void clock.timer(3_000, resolve))
        if (++tries < 3) throw retry({ after: '10s' })
        return 'x'
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const { tasks } = runtime.session('s')
      await tasks.start({ tool: t, id: 'a' })
      await expectQueuedOnce(tasks, clock, 60, 1_000)
    })

    test('TASK-2: a task whose request was answered does not return to queued', async () => {
      const { clock, store } = fresh()
      const t = rerunTask('t', async (_, ctx) => (await ctx.task?.request('Which?'))?.text)
      const one = await createRuntime({ store: keepOpen(store), clock, tools: [t], logger: quiet })
      await one.session('s').tasks.start({ tool: t, id: 'a' })
      await clock.advance(1_000)
      expect(await one.session('s').tasks.get('a')).toMatchObject({ state: 'awaiting_input' })
      await after(one.close({ grace: 0 }), clock, 10_000, 100)
      const door = await createRuntime({ store: keepOpen(store), clock, tools: [t], logger: quiet, worker: false })
      const { tasks } = door.session('s')
      const asking = await tasks.get('a')
      expect(asking).toMatchObject({ state: 'awaiting_input' })
      await tasks.message('a', 'eu', { inReplyTo: asking?.inputRequest?.id ?? '' })
      expect((await tasks.get('a'))?.state).toBe('running')
    })

    test('TASK-2: a parked task that was resolved without a worker does not return to queued', async () => {
      const { clock, store } = fresh()
      let key = ''
      const t = simpleTool('t', { background: { recovery: 'external' } }, async (_, ctx) => {
        const later = await ctx.later<string>({ deadline: '7d' })
        key = later.key
        return later
      })
      const one = await createRuntime({ store: keepOpen(store), clock, tools: [t], logger: quiet })
      await one.session('s').tasks.start({ tool: t, id: 'a' })
      await clock.advance(1_000)
      await after(one.close({ grace: 0 }), clock, 10_000, 100)
      const door = await createRuntime({ store: keepOpen(store), clock, tools: [t], logger: quiet, worker: false })
      expect((await door.session('s').tasks.get('a'))?.state).toBe('running')
      await door.resolve(key, { value: 'x' })
      expect((await door.session('s').tasks.get('a'))?.state).toBe('running')
    })

    test('TASK-2: a task is running while its worker is dead and during the takeover', async () => {
      const { clock, store } = fresh()
      const dying = mortal(store)
      let runs = 0
      const t = rerunTask('t', () => (runs++ === 0 ? (dying.die(), hang()) : 'x'))
      const one = await createRuntime({ store: dying.store, clock, tools: [t], logger: quiet })
      await one.session('s').tasks.start({ tool: t, id: 'a' })
      await clock.advance(1_000)
      const two = await createRuntime({ store: keepOpen(store), clock, tools: [t], logger: quiet })
      const { tasks } = two.session('s')
      await expectQueuedOnce(tasks, clock, 200, 500)
    })

    test("TASK-8: until 'input' ignores a request that was answered in an earlier attempt", async () => {
      const { clock, store } = fresh()
      const dying = mortal(store)
      let lives = 0
      const t = rerunTask('t', async (_, ctx) => {
        const first = await ctx.task?.request('First?')
        if (lives++ === 0) {
          dying.die()
          return hang()
        }
        await ctx.sleep('10m')
        const second = await ctx.task?.request('Second?')
        return `${first?.text} ${second?.text}`
      })
      const one = await createRuntime({ store: dying.store, clock, tools: [t], logger: quiet })
      await one.session('s').tasks.start({ tool: t, id: 'a', wake: 'on_activity' })
      await clock.advance(1_000)
      await one.session('s').tasks.message('a', 'one', { inReplyTo: 'a.1' })
      await clock.advance(1_000)
      const two = await createRuntime({ store: keepOpen(store), clock, tools: [t], logger: quiet })
      const { tasks, notices } = two.session('s')
      const asked = (await after(tasks.wait('a', { until: 'input' }), clock, 3_600_000)) as {
        value: { inputRequest: { id: string; prompt: string } }
      }
      expect(asked.value.inputRequest?.prompt).toBe('Second?')
      await tasks.message('a', 'two', { inReplyTo: asked.value.inputRequest.id })
      expect(await after(tasks.wait('a'), clock)).toMatchObject({ value: { outcome: { value: 'one two' } } })
      expect((await notices.list()).map(({ about }) => about)).toEqual(['request', 'lost', 'request', 'end'])
      expect((await tasks.messages('a')).map(({ direction }) => direction)).toEqual(['out', 'in', 'out', 'in'])
    })

    test('TASK-1: one session may use seven eighths of the tasks of a worker', async () => {
      const { clock, store } = fresh()
      let running = 0
      const t = tool({ name: 't', description: 'd', input, background: true, execute: () => (running++, hang()) })
      const runtime = await createRuntime({
        store,
        clock,
        tools: [t],
        logger: quiet,
        limits: { tasksPerSession: 100, perSession: 200 },
      })
      const { tasks } = runtime.session('s')
      for (let n = 0; n < 70; n++) await tasks.start({ tool: t, id: `t${n}` })
      await clock.advance(10_000)
      expect(running).toBe(56)
    })
  })
}
