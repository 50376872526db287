// Declared recovery: `rerunnable` tasks run again, and `external` tasks continue elsewhere. `owner_bound` is in
// tasks.test.ts.

import { describe, expect, test, vi } from 'vitest'
import type { Tool, ToolContext } from '../../../src/index.ts'
import type { Change, Store } from '../../../src/store/store.ts'
import { type ManualClock } from '../../../src/testing/manual-clock.ts'
import { mortal, type Mortal, type StoreKind } from '../../kit/stores/killable-store.ts'
import { mortalWorld } from '../../kit/worker-takeover.ts'
import { muted } from '../../kit/stores/failing-writes.ts'
import { hang, rerunTask, simpleTool } from '../../kit/simple-tools.ts'
import { waitForTask } from '../../kit/wait-until.ts'

describe.each(['memory', 'sqlite'] as const)('declared recovery on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  let runs: number
  /** Wait key of the external answer. */
  let key: string
  const { start, takeOver } = mortalWorld(kind, (fresh) => {
    ;({ clock, store, first } = fresh)
    runs = 0
    key = ''
  })
  const until = (what: () => unknown): Promise<unknown> => vi.waitUntil(what, { interval: 1, timeout: 5_000 })
  const isParked = async (): Promise<boolean> => (await store.unsettled({ after: '', limit: 1 }))[0]?.state === 'parked'
  /** By its hints it must not run twice; only its declared recovery differs. */
  const declared = (recovery: 'rerunnable' | 'external', execute: (ctx: ToolContext) => unknown): Tool =>
    simpleTool('work', { background: { recovery } }, (_, ctx) => {
      runs++
      return execute(ctx)
    })

  test('TASK-6: a rerunnable task runs again with its recorded steps, although a call would not', async () => {
    const steps: number[] = []
    const work = declared('rerunnable', async (ctx) => {
      await ctx.step('once', () => void steps.push(ctx.attempt))
      return ctx.attempt === 1 ? hang() : 'done'
    })
    const a = await start([work], first.store)
    const { id } = await a.session('s').tasks.start({ tool: work })
    void a.session('s').run([{ id: 'call', name: 'work' }])
    await until(() => runs === 2 && steps.length === 2)
    first.die()
    const b = await takeOver([work])
    await waitForTask(b, id, ({ status }) => status?.includes('lost worker'))
    expect(runs).toBe(2) // the backoff comes first
    await clock.advance('2s')
    expect(await b.session('s').tasks.wait(id)).toMatchObject({
      state: 'succeeded',
      attempt: 2,
      outcome: { value: 'done' },
    })
    expect(steps).toEqual([1, 1])
    expect(await b.session('s').run([{ id: 'call', name: 'work' }])).toMatchObject([{ status: 'unknown' }])
    expect(runs).toBe(3)
  })

  test('TASK-6: a rerunnable task is abandoned after three worker deaths', async () => {
    const b = await start([], store, { worker: false })
    const lives = [first, mortal(store), mortal(store)]
    const work = declared('rerunnable', hang)
    for (const [n, life] of lives.entries()) {
      await start([work], life.store)
      if (n === 0)
        await start([work], store, { worker: false }).then((door) =>
          door.session('s').tasks.start({ tool: work, id: 'x' }),
        )
      for (let step = 0; step < 20 && runs === n; step++) await clock.advance('10s')
      await until(() => runs === n + 1)
      await waitForTask(b, 'x', ({ attempt }) => attempt === n + 1)
      life.die()
    }
    await takeOver([work])
    const ended = await waitForTask(b, 'x', ({ outcome }) => outcome)
    expect(ended).toMatchObject({ state: 'abandoned', outcome: { failure: { code: 'poisoned', raw: { deaths: 3 } } } })
    expect(runs).toBe(3)
  })

  test.each([
    ['a task queued behind it', ['p', 'h']],
    ['a task running before it', ['h', 'p']],
  ] as const)('TASK-6, DUR-8: a poison task is abandoned after three deaths alone, but not %s', async (_, order) => {
    let dying: Mortal = first
    const began: string[] = []
    const body = (name: string, run: (attempt: number) => unknown): Tool =>
      rerunTask(name, (_, ctx) => {
        began.push(`${name} ${ctx.attempt}`)
        return run(ctx.attempt)
      })
    const poison = body('poison', () => (dying.die(), hang()))
    // Running each time the poison kills the worker; at its third attempt it takes a second.
    const healthy = body('healthy', (attempt) =>
      attempt < 3 ? hang() : new Promise<string>((resolve) => void clock.timer(1_000, () => resolve('done'))),
    )
    const tools = [healthy, poison]
    const door = await start(tools, store, { worker: false })
    for (const id of order) {
      await door.session('s').tasks.start({ tool: id === 'p' ? poison : healthy, id })
      await clock.advance(1)
    }
    const over = async (id: string): Promise<unknown> => (await door.session('s').tasks.get(id))?.outcome
    for (let n = 0; n < 8 && !((await over('p')) && (await over('h'))); n++) {
      dying = n === 0 ? first : mortal(store)
      await start(tools, dying.store)
      for (let step = 0; step < 90; step++) await clock.advance('2s')
      dying.die()
      await clock.advance('31s')
    }
    // Twice in company, which counts against neither. Then one at a time.
    const healthyRuns = [1, 2, 3].map((attempt) => `healthy ${attempt}`)
    expect(began.toSorted()).toEqual([...healthyRuns, ...[1, 2, 3, 4, 5].map((attempt) => `poison ${attempt}`)])
    expect(await door.session('s').tasks.get('p')).toMatchObject({
      state: 'abandoned',
      outcome: { failure: { code: 'poisoned', raw: { deaths: 3, attempt: 5 } } },
    })
    expect(await door.session('s').tasks.get('h')).toMatchObject({ state: 'succeeded', attempt: 3 })
  })

  test('TASK-3: the claim of a worker that dies at once is taken over within 4/3 of a lease', async () => {
    const lease = 30_000
    const took: number[] = []
    const work = declared('rerunnable', () => 'done')
    const door = await start([work], store, { worker: false })
    // Offset between the polls of both workers, and uptime of the one that dies.
    for (const [apart, there] of [
      ['0s', '0s'],
      ['1s', '0s'],
      ['11s', '0s'],
      ['9s', '0s'],
      ['9s', '9s'],
    ] as const) {
      const life = mortal(store)
      let died = 0
      const dying: Store = {
        ...life.store,
        async claim(...asked) {
          const claimed = await life.store.claim(...asked)
          if (claimed.length === 0) return claimed
          died = clock.now()
          life.die()
          return hang()
        },
      }
      // The other worker claims nothing until then, or it would be first.
      const other = await start([work], {
        ...store,
        claim: (...asked) => (died === 0 ? [] : store.claim(...asked)),
        close: async () => {},
      })
      await clock.advance(apart)
      await start([work], dying)
      await clock.advance(there)
      const { id } = await door.session('s').tasks.start({ tool: work })
      await until(() => died !== 0)
      for (let step = 0; step < 40; step++) await clock.advance('1s')
      const { startedAt } = await waitForTask(door, id, ({ outcome }) => outcome)
      took.push((startedAt ?? Infinity) - died)
      await other.close({ grace: 0 })
    }
    // Not sooner: until the lease expires the worker may be alive.
    for (const ms of took) expect(ms).toBeGreaterThanOrEqual((lease * 2) / 3)
    for (const ms of took) expect(ms).toBeLessThanOrEqual((lease * 4) / 3)
  })

  const elsewhere = declared('external', async (ctx) => {
    const later = await ctx.later<string>({ deadline: '7d' })
    ;({ key } = later)
    return later
  })
  const parks = ({ updateCall }: Change): boolean => updateCall?.progress.state === 'parked'
  /** The worker dies once a matching change is committed, and gets no answer. */
  const diesAfter = (life: Mortal, what: (change: Change) => boolean): Store =>
    muted(life.store, (change) => {
      if (!what(change)) return true
      life.die()
      return false
    })

  test('TASK-6: an external task that was handed over before the loss ends with its answer', async () => {
    await start([elsewhere], diesAfter(first, parks))
    const door = await start([elsewhere], store, { worker: false })
    const { id } = await door.session('s').tasks.start({ tool: elsewhere })
    await until(isParked)
    const b = await takeOver([elsewhere])
    await clock.advance('1h')
    expect(await b.session('s').tasks.get(id)).toMatchObject({ state: 'running', attempt: 1 })
    expect(await door.resolve(key, { value: 'from outside' })).toEqual({ answer: 'accepted' })
    expect(await b.session('s').tasks.wait(id)).toMatchObject({
      state: 'succeeded',
      attempt: 1,
      outcome: { value: 'from outside' },
    })
    expect(runs).toBe(1)
  })

  test('TASK-6: if the worker that settles an external answer is lost, another settles it', async () => {
    const a = await start([elsewhere])
    const { id } = await a.session('s').tasks.start({ tool: elsewhere })
    await until(isParked)
    await a.close({ grace: 0 })
    const door = await start([elsewhere], store, { worker: false })
    const claims: number[] = []
    const taking: Store = {
      ...first.store,
      async claim(...asked) {
        const claimed = await first.store.claim(...asked)
        if (claimed.length === 0) return claimed
        claims.push(claimed.length)
        first.die()
        return hang()
      },
    }
    await start([elsewhere], taking)
    await door.resolve(key, { value: 'from outside' })
    await until(() => claims.length > 0)
    const b = await takeOver([elsewhere])
    expect(await b.session('s').tasks.wait(id)).toMatchObject({
      state: 'succeeded',
      attempt: 1,
      outcome: { value: 'from outside' },
    })
    expect(runs).toBe(1)
  })

  test('TASK-6: an external task lost during its start is abandoned, and a late answer is refused', async () => {
    const starting = declared('external', async (ctx) => {
      ;({ key } = await ctx.later<string>({ deadline: '7d' }))
      first.die()
      return hang()
    })
    await start([starting], first.store)
    const door = await start([starting], store, { worker: false })
    const { id } = await door.session('s').tasks.start({ tool: starting })
    await until(() => runs === 1 && key !== '')
    const b = await takeOver([starting])
    expect(await b.session('s').tasks.wait(id)).toMatchObject({
      state: 'abandoned',
      attempt: 1,
      outcome: { status: 'unknown', unknown: { evidence: { attempt: 1 }, startedAt: expect.any(Number) } },
    })
    expect(await b.session('s').notices.list()).toMatchObject([{ about: 'end', task: id }])
    expect(await door.resolve(key, { value: 'late' })).not.toMatchObject({ answer: 'accepted' })
    expect(await b.session('s').tasks.get(id)).toMatchObject({ state: 'abandoned' })
    expect(runs).toBe(1)
  })
})
