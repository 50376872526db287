// Tasks on PostgreSQL: two workers, crashes at writes, and a worker that lost its lease without noticing. The clock is
// manual; leases use the database clock, so the tests end them explicitly.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { createRuntime, type Runtime, type Tool } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import { dropSchemas } from '../../src/store/postgres/drop-schemas.ts'
import type { Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { type Ground, matrix } from '../kit/crash-matrix.ts'
import { tasks } from '../fault-injection/task-scenarios.ts'
import { backgroundTool, rerunTask, rerunTool, simpleTool } from '../kit/simple-tools.ts'
import { postgresGround, serverForFile } from '../kit/stores/postgres-for-file.ts'

const server = serverForFile()
let schemas = 0
const open: Runtime[] = []
const stores: { store: Store; schema: string }[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((runtime) => runtime.close({ grace: 0 })))
  for (const { store, schema } of stores.splice(0)) {
    await store.close()
    await dropSchemas(server.connection, [schema])
  }
})
const ground = (): Promise<Ground> => postgresGround(server.connection, `tasks_${++schemas}`)

// Only one write of each scenario, because this tests the store. The slow tier has every sixth write.
test.each(tasks.map((scenario, n) => ({ scenario, name: scenario.name, from: n % 4 })))(
  'TASK-3, TASK-6: a worker dies at one write of $name',
  // Generous: a scenario takes a second on a quiet machine.
  { timeout: 120_000 },
  async ({ scenario, from }) => {
    const { found, deaths } = await matrix(scenario, ground, { every: Number.POSITIVE_INFINITY, from })
    expect(found).toEqual([])
    // Before the write, and after it.
    expect(deaths).toBe(2)
  },
)

describe('two workers', () => {
  let clock: ManualClock
  let store: Store
  const opened = async (): Promise<void> => {
    const schema = `tasks_${++schemas}`
    clock = manualClock()
    store = await postgresStore({ connection: server.connection, schema, clock, commit: 'process' })
    stores.push({ store, schema })
  }
  const worker = async (tools: readonly Tool[], on: Store = store): Promise<Runtime> => {
    const runtime = await createRuntime({
      store: { ...on, close: async () => {} },
      tools,
      clock,
      logger: quiet,
      keys: { secret: 'a secret that both workers share' },
    })
    open.push(runtime)
    return runtime
  }
  const after = <T>(look: () => Promise<T | undefined | false>): Promise<T> =>
    vi.waitUntil(look, { interval: 3, timeout: 60_000 })

  test('TASK-1, TASK-2: forty tasks run once each, at most five per session', async () => {
    await opened()
    const ran = new Map<string, number>()
    const now = new Map<string, number>()
    let most = 0
    const work = backgroundTool('work', async (_, ctx) => {
      ran.set(ctx.callId, (ran.get(ctx.callId) ?? 0) + 1)
      const running = (now.get(ctx.session) ?? 0) + 1
      now.set(ctx.session, running)
      most = Math.max(most, running)
      ctx.output(`${ctx.callId}\n`)
      await ctx.task?.message('done')
      now.set(ctx.session, (now.get(ctx.session) ?? 0) - 1)
      return ctx.callId
    })
    const [a, b] = [await worker([work]), await worker([work])]
    const ids = Array.from({ length: 40 }, (_, n) => ({ id: `t${n}`, session: `s${n % 4}` }))
    await Promise.all(
      ids.map(({ id, session }, n) => (n % 2 ? a : b).session(session).tasks.start({ tool: 'work', id })),
    )
    await Promise.all(
      ids.map(async ({ id, session }) => {
        expect(await a.session(session).tasks.wait(id)).toMatchObject({
          state: 'succeeded',
          outcome: { value: id },
          attempt: 1,
        })
        expect((await b.session(session).files.read(`/.background/${id}/output.log`)).text).toBe(`[stdout] ${id}\n`)
        expect(await b.session(session).tasks.messages(id)).toMatchObject([{ text: 'done' }])
      }),
    )
    expect([...ran.values()].every((times) => times === 1)).toBe(true)
    expect(ran.size).toBe(40)
    expect(most).toBeLessThanOrEqual(5)
  })

  test('TASK-5, TASK-8: signals, replies and cancels reach a task on another worker', async () => {
    await opened()
    const hears = rerunTask('hears', async (_, ctx) => {
      const one = await ctx.task?.signal('go')
      const reply = await ctx.task?.request('Which?')
      return [one, reply?.text ?? '']
    })
    const a = await worker([hears])
    const { id } = await a.session('s').tasks.start({ tool: 'hears' })
    const second = await a.session('s').tasks.start({ tool: 'hears' })
    const b = await worker([])
    const { tasks: there } = b.session('s')
    await there.signal(id, 'go', 1)
    const asks = await after(async () => (await there.get(id))?.inputRequest ?? undefined)
    await there.message(id, 'this', { inReplyTo: asks.id })
    expect(await there.wait(id)).toMatchObject({ state: 'succeeded', outcome: { value: [1, 'this'] } })
    expect(await there.cancel(second.id, 'Enough')).toBe(true)
    expect(await there.wait(second.id)).toMatchObject({ state: 'cancelled', summary: 'Enough' })
  })

  test('TASK-3: a worker that lost its lease unnoticed writes nothing more to its task', async () => {
    await opened()
    const refused: string[] = []
    let runs = 0
    const make = (zombie: boolean): Tool =>
      rerunTool('zombie', { background: { events: { told: {} } } }, async (_, ctx) => {
        runs++
        await ctx.task?.message('first')
        if (!zombie) {
          await vi.waitUntil(() => refused.length === 7, { interval: 3, timeout: 60_000 })
          await ctx.task?.message('alive')
          ctx.output('alive\n')
          return 'alive'
        }
        ctx.output('first\n')
        await vi.waitUntil(() => runs === 2, { interval: 3, timeout: 60_000 })
        const said = (what: string, done: Promise<unknown> | undefined): Promise<unknown> =>
          Promise.resolve(done).then(
            () => refused.push(`${what} was taken`),
            (error: { code: string }) => refused.push(error.code),
          )
        ctx.task?.status('dead')
        ctx.output('dead\n')
        // The store rejects the first write; from then on the worker knows.
        await Promise.all([
          said('signal', ctx.tasks.signal('other', 'go', 'dead')),
          said('start', ctx.tasks.start({ tool: 'zombie', id: 'dead' })),
          said('file', ctx.files.write('/dead', 'dead')),
          said('artifact', ctx.task?.artifact({ name: 'dead', url: 'http://dead' })),
          said('message', ctx.task?.message('dead')),
          said('event', ctx.emit('told', 'dead')),
          said(
            'step',
            ctx.step('dead', () => 'dead'),
          ),
        ])
        return 'dead'
      })
    const waits = rerunTask('waits', (_, ctx) => ctx.task?.signal('go'))
    let name = ''
    // Lease renewal hangs without an error.
    const frozen: Store = {
      ...store,
      renew: (self, ms) => (name === '' ? ((name = self), store.renew(self, ms)) : new Promise<never>(() => {})),
    }
    const a = await worker([make(true)], frozen)
    const { id } = await a.session('s').tasks.start({ tool: 'zombie' })
    await after(async () => runs === 1 && (await a.session('s').tasks.messages(id)).length === 1)
    const b = await worker([make(false), waits])
    const { tasks: there } = b.session('s')
    await there.start({ tool: 'waits', id: 'other' })
    await store.leave(name) // its lease is over, and it gets no notification
    await after(async () => {
      await clock.advance('5s')
      return runs === 2
    })
    expect(await there.wait(id)).toMatchObject({ state: 'succeeded', outcome: { value: 'alive' }, artifacts: [] })
    expect(refused.join()).not.toContain('taken')
    expect((await there.messages(id)).map(({ text }) => text)).toEqual(['first', 'alive'])
    expect(await there.get('dead')).toBeUndefined()
    expect(await there.get('other')).toMatchObject({ state: 'running' })
    const { text } = await b.session('s').files.read(`/.background/${id}/output.log`)
    expect(text).toContain('alive')
    expect(text).not.toContain('dead')
  })

  test('TASK-4: a task preserves text that PostgreSQL cannot store unchanged', async () => {
    await opened()
    const odd = 'nul \u0000, half \ud83d, whole 😀, \u2028 and "quotes" \\'
    const says = simpleTool('says', { background: { events: { told: {} } } }, async (_, ctx) => {
      ctx.output(`${odd}\n`)
      ctx.task?.status(odd)
      ctx.progress({ label: odd.toWellFormed() })
      await ctx.task?.artifact({ name: odd.toWellFormed(), url: 'http://a' })
      await ctx.task?.message(odd, { odd: odd.toWellFormed() })
      await ctx.emit('told', { odd: odd.toWellFormed() })
      return odd.toWellFormed()
    })
    const a = await worker([says])
    const { id } = await a.session('s').tasks.start({ tool: 'says', title: odd, wake: 'on_activity' })
    const whole = odd.toWellFormed()
    expect(await a.session('s').tasks.wait(id)).toMatchObject({
      state: 'succeeded',
      status: whole,
      artifacts: [{ name: whole }],
      outcome: { value: whole },
    })
    expect((await a.session('s').files.read(`/.background/${id}/output.log`)).text).toContain(whole)
    expect(await a.session('s').tasks.messages(id)).toMatchObject([{ text: whole }])
  })
})
