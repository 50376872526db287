// Writes of a tool body to schedules and triggers: fenced by the lease, and made once although the body runs again.

import { expect, test, vi } from 'vitest'
import { PawlError, type Runtime, type Tool, type ToolContext } from '../../src/index.ts'
import type { Change, Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { mortal, renewOnce } from '../kit/stores/killable-store.ts'
import { rerunTask } from '../kit/simple-tools.ts'
import { mortalWorld } from '../kit/worker-takeover.ts'

const hour = 3_600_000

let clock: ManualClock
let store: Store
const { start } = mortalWorld('memory', (fresh) => void ({ clock, store } = fresh))
const report = rerunTask('report', () => 'done')

/** A worker without heartbeat runs `does` after another worker took over its task; returns the result. */
async function zombie(does: (ctx: ToolContext) => Promise<unknown>): Promise<{ said: string; b: Runtime }> {
  let runs = 0
  let said = ''
  const make = (dead: boolean): Tool =>
    rerunTask('works', async (_, ctx) => {
      runs++
      if (!dead) return 'alive'
      await vi.waitUntil(() => runs === 2, { interval: 1 })
      said = await does(ctx).then(
        () => 'taken',
        (error: unknown) => (error instanceof PawlError ? error.code : String(error)),
      )
      return 'dead'
    })
  const a = await start([make(true), report], renewOnce(store))
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

test('TASK-3: a worker that lost its task cannot create a schedule from it', async () => {
  const { said, b } = await zombie((ctx) => ctx.tasks.schedule({ tool: 'report', input: {} }, { cron: '0 0 * * *' }))
  expect(await b.session('s').schedules.list()).toEqual([])
  expect(said).not.toBe('taken')
})

test('TASK-3: a worker that lost its task cannot emit an event from it', async () => {
  const { said, b } = await zombie((ctx) => ctx.triggers.emit('e', null))
  expect((await b.session('s').tasks.list({ kind: 'triggered' })).map(({ id }) => id)).toEqual([])
  expect(said).not.toBe('taken')
})

/** A store whose worker dies right after committing a matching change. */
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
const makes = (change: Change): boolean =>
  (change.documents ?? []).some(({ of, value }) => of === 'schedule' && value !== null)
const asks = (schedule: object) => [
  { id: '1', name: 'spawn_background', input: { tool: 'report', args: {}, schedule } },
]

// The worker dies after the schedule is committed, and the instant passes before the takeover. The rerun must report
// the existing schedule, or the model would schedule it a second time.
test('TASK-1: spawn_background rerun after the scheduled time reports the existing schedule', async () => {
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

// The body reruns because its worker died; the cancelled schedule must not come back.
test('TASK-1: a rerun of the body does not recreate a cancelled schedule', async () => {
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
