// What a body schedules, tells and takes back: fenced like all else that it writes (TASK-3), and once (TASK-1).

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createRuntime, PawlError, type Runtime, type Tool, type ToolContext, tool } from '../../src/index.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Change, Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { mortal } from '../kit/stores/killable-store.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const hour = 3_600_000

let clock: ManualClock
let store: Store
let open: Runtime[]
beforeEach(() => {
  clock = manualClock()
  store = memoryStore({ clock })
  open = []
})
afterEach(async () => {
  await Promise.all(open.map((runtime) => runtime.close({ grace: 0 })))
  await store.close()
})
const start = async (tools: readonly Tool[], on: Store = store): Promise<Runtime> => {
  const runtime = await createRuntime({ store: on, tools, clock, logger: quiet })
  if (on === store) open.push(runtime)
  return runtime
}
const report = tool({
  name: 'report',
  description: 'Reports',
  input: z.object({}),
  onCrash: 'rerun',
  background: true,
  execute: () => 'done',
})

/** A worker whose heart stops does something when another has taken its task over; tells what became of it. */
async function zombie(does: (ctx: ToolContext) => Promise<unknown>): Promise<{ said: string; b: Runtime }> {
  let runs = 0
  let said = ''
  const make = (dead: boolean): Tool =>
    tool({
      name: 'works',
      description: 'Works',
      input: z.object({}),
      onCrash: 'rerun',
      background: true,
      async execute(_, ctx) {
        runs++
        if (!dead) return 'alive'
        await vi.waitUntil(() => runs === 2, { interval: 1 })
        said = await does(ctx).then(
          () => 'taken',
          (error: unknown) => (error instanceof PawlError ? error.code : String(error)),
        )
        return 'dead'
      },
    })
  let renewed = false
  const sleeper: Store = {
    ...store,
    renew: (worker, ms) => (renewed ? new Promise<number>(() => {}) : ((renewed = true), store.renew(worker, ms))),
    close: async () => {},
  }
  const a = await start([make(true), report], sleeper)
  const { id } = await a.session('s').tasks.start({ tool: 'works', input: {} })
  await vi.waitUntil(() => runs === 1, { interval: 1 })
  const b = await start([make(false), report])
  await b.session('s').triggers.subscribe({ event: 'e', tool: report, input: {}, id: 'x' })
  await clock.advance('31s')
  await clock.advance('2s')
  await vi.waitUntil(() => said !== '', { interval: 1 })
  await clock.advance('2s')
  expect((await b.session('s').tasks.get(id))?.outcome).toMatchObject({ value: 'alive' })
  await a.close({ grace: 0 }).catch(() => {})
  return { said, b }
}

// TASK-3: "Everything a runner writes … is fenced". ctx.tasks.start of such a worker is refused; ctx.tasks.schedule is not.
test('TASK-3: a worker that lost a task makes no schedule of it', async () => {
  const { said, b } = await zombie((ctx) => ctx.tasks.schedule({ tool: 'report', input: {} }, { cron: '0 0 * * *' }))
  expect(await b.session('s').schedules.list()).toEqual([])
  expect(said).not.toBe('taken')
})

test('TASK-3: a worker that lost a task emits no event', async () => {
  const { said, b } = await zombie((ctx) => ctx.triggers.emit('e', null))
  expect((await b.session('s').tasks.list({ kind: 'triggered' })).map(({ id }) => id)).toEqual([])
  expect(said).not.toBe('taken')
})

/** A worker that dies right after a change of this kind. */
const dying = (isIt: (change: Change) => boolean): { store: Store; dead: Promise<void> } => {
  const life = mortal(store)
  const dead = Promise.withResolvers<void>()
  return {
    dead: dead.promise,
    store: {
      ...life.store,
      async commit(change) {
        const written = await life.store.commit(change)
        if (!isIt(change)) return written
        life.die()
        dead.resolve()
        return new Promise<never>(() => {})
      },
      close: async () => {},
    },
  }
}
const makes = (change: Change): boolean => (change.documents ?? []).some(({ of, value }) => of === 'schedule' && value !== null)
const asks = (schedule: object) => [{ id: '1', name: 'spawn_background', input: { tool: 'report', args: {}, schedule } }]

// TASK-1 and CRON-1: the model asked for one run at an instant; the worker died when it was on record; the run took place. The model reads that nothing
// was scheduled, and asks again.
test('TASK-1: spawn_background that is taken up after its instant has passed tells of the schedule it made', async () => {
  const { store: fragile, dead } = dying(makes)
  const a = await start([report], fragile)
  const asked = asks({ scheduled_at: new Date(clock.now() + 10_000).toISOString() })
  void a
    .session('s')
    .run(asked, { batch: 'm' })
    .catch(() => null)
  await dead
  const b = await start([report])
  await clock.advance('31s')
  await clock.advance('31s')
  const again = b.session('s').run(asked, { batch: 'm' })
  await clock.advance('31s')
  expect((await b.session('s').tasks.list({ kind: 'scheduled' })).length).toBe(1)
  expect(await again).toMatchObject([{ status: 'success', value: { created: true } }])
})

// What was cancelled does not come back: the body that made it runs again because its worker died.
test('TASK-1: a schedule that was cancelled is not made again by a body that runs again', async () => {
  const { store: fragile, dead } = dying(makes)
  const a = await start([report], fragile)
  void a
    .session('s')
    .run(asks({ cron_expression: '0 0 * * *' }), { batch: 'm' })
    .catch(() => null)
  await dead
  const b = await start([report])
  const [made] = await b.session('s').schedules.list()
  expect(await b.session('s').schedules.cancel(made?.id ?? '')).toBe(true)
  await clock.advance('31s')
  await clock.advance('31s')
  await clock.advance(hour)
  expect(await b.session('s').schedules.list()).toEqual([])
})
