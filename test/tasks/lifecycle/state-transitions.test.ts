// The states that a task goes through, as somebody sees them who looks after every write.
import { createRuntime, retry, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { after, freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const hang = (): Promise<never> => new Promise(() => {})
const open = (store: Store): Store => ({ ...store, close: async () => {} })

for (const [kind, fresh] of [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const) {
  describe(`states of tasks, on ${kind}`, () => {
    test('TASK-2: queued → running ⇄ awaiting_input → end: a task that is tried again does not go back to queued', async () => {
      // store/records/task-record.ts: a call between two tries is `queued`, and so is the task.
      const { clock, store } = fresh()
      let tries = 0
      const t = tool({
        name: 't',
        description: 'd',
        input,
        retry: { attempts: 3 },
        background: true,
        async execute() {
          await new Promise<void>((resolve) => void clock.timer(3_000, resolve))
          if (++tries < 3) throw retry({ after: '10s' })
          return 'x'
        },
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const { tasks } = runtime.session('s')
      await tasks.start({ tool: t, id: 'a' })
      const seen: string[] = []
      for (let second = 0; second < 60; second++) {
        const { state = '' } = (await tasks.get('a')) ?? {}
        if (seen.at(-1) !== state) seen.push(state)
        await clock.advance(1_000)
      }
      expect(seen.filter((state) => state === 'queued').length).toBeLessThanOrEqual(1)
      expect(seen.at(-1)).toBe('succeeded')
    })

    test('TASK-2: a question that was answered: the task does not go back to queued', async () => {
      const { clock, store } = fresh()
      const t = tool({
        name: 't',
        description: 'd',
        input,
        onCrash: 'rerun',
        background: true,
        execute: async (_, ctx) => (await ctx.task?.request('Which?'))?.text,
      })
      const one = await createRuntime({ store: open(store), clock, tools: [t], logger: quiet })
      await one.session('s').tasks.start({ tool: t, id: 'a' })
      await clock.advance(1_000)
      expect(await one.session('s').tasks.get('a')).toMatchObject({ state: 'awaiting_input' })
      await after(one.close({ grace: 0 }), clock, 10_000, 100)
      const door = await createRuntime({ store: open(store), clock, tools: [t], logger: quiet, worker: false })
      const { tasks } = door.session('s')
      const asking = await tasks.get('a')
      expect(asking).toMatchObject({ state: 'awaiting_input' })
      await tasks.message('a', 'eu', { inReplyTo: asking?.inputRequest?.id ?? '' })
      expect((await tasks.get('a'))?.state).toBe('running')
    })

    test('TASK-2: what it waited for outside has come, and no worker is there: the task does not go back to queued', async () => {
      const { clock, store } = fresh()
      let key = ''
      const t = tool({
        name: 't',
        description: 'd',
        input,
        background: { recovery: 'external' },
        async execute(_, ctx) {
          const later = await ctx.later<string>({ deadline: '7d' })
          key = later.key
          return later
        },
      })
      const one = await createRuntime({ store: open(store), clock, tools: [t], logger: quiet })
      await one.session('s').tasks.start({ tool: t, id: 'a' })
      await clock.advance(1_000)
      await after(one.close({ grace: 0 }), clock, 10_000, 100)
      const door = await createRuntime({ store: open(store), clock, tools: [t], logger: quiet, worker: false })
      expect((await door.session('s').tasks.get('a'))?.state).toBe('running')
      await door.resolve(key, { value: 'x' })
      expect((await door.session('s').tasks.get('a'))?.state).toBe('running')
    })

    test('TASK-2: while its worker is dead and nobody has found it yet, and while another takes it up, it is running', async () => {
      const { clock, store } = fresh()
      const dying = mortal(store)
      let runs = 0
      const t = tool({
        name: 't',
        description: 'd',
        input,
        onCrash: 'rerun',
        background: true,
        execute: () => (runs++ === 0 ? (dying.die(), hang()) : 'x'),
      })
      const one = await createRuntime({ store: dying.store, clock, tools: [t], logger: quiet })
      await one.session('s').tasks.start({ tool: t, id: 'a' })
      await clock.advance(1_000)
      const two = await createRuntime({ store: open(store), clock, tools: [t], logger: quiet })
      const { tasks } = two.session('s')
      const seen: string[] = []
      for (let n = 0; n < 200; n++) {
        const { state = '' } = (await tasks.get('a')) ?? {}
        if (seen.at(-1) !== state) seen.push(state)
        await clock.advance(500)
      }
      expect(seen.filter((state) => state === 'queued').length).toBeLessThanOrEqual(1)
      expect(seen.at(-1)).toBe('succeeded')
    })

    test('TASK-8: until input returns for what is asked now, not for what was answered in an earlier life', async () => {
      const { clock, store } = fresh()
      const dying = mortal(store)
      let lives = 0
      const t = tool({
        name: 't',
        description: 'd',
        input,
        onCrash: 'rerun',
        background: true,
        async execute(_, ctx) {
          const first = await ctx.task?.request('First?')
          if (lives++ === 0) {
            dying.die()
            return hang()
          }
          await ctx.sleep('10m')
          const second = await ctx.task?.request('Second?')
          return `${first?.text} ${second?.text}`
        },
      })
      const one = await createRuntime({ store: dying.store, clock, tools: [t], logger: quiet })
      await one.session('s').tasks.start({ tool: t, id: 'a', wake: 'on_activity' })
      await clock.advance(1_000)
      await one.session('s').tasks.message('a', 'one', { inReplyTo: 'a.1' })
      await clock.advance(1_000)
      const two = await createRuntime({ store: open(store), clock, tools: [t], logger: quiet })
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

    test('TASK-1: one session may have seven eighths of the tasks of a worker, as it is documented', async () => {
      const { clock, store } = fresh()
      let running = 0
      const t = tool({ name: 't', description: 'd', input, background: true, execute: () => (running++, hang()) })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet, limits: { tasksPerSession: 100, perSession: 200 } })
      const { tasks } = runtime.session('s')
      for (let n = 0; n < 70; n++) await tasks.start({ tool: t, id: `t${n}` })
      await clock.advance(10_000)
      expect(running).toBe(56)
    })
  })
}
