// Moving calls to the background: joined runs, early moves, races, and single read or write failures.
import { createRuntime, PawlError, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { after, type Faults, faulty, quiet } from '../../kit/stores/fresh-store.ts'
import { stores } from '../../kit/open-runtime.ts'
import { backgroundTool, hang } from '../../kit/simple-tools.ts'

const input = { type: 'object' } as const
const lost = (): never => {
  throw new PawlError('store_unavailable', 'planted')
}
const slow = (more: object = {}) =>
  tool({ name: 'slow', description: 'd', input, background: true, execute: hang, ...more })
const quick = tool({ name: 'quick', description: 'd', input, execute: () => 'quick' })
const handle = { value: [{ status: 'success', value: { status: 'running' } }] }

for (const [kind, fresh] of stores) {
  describe(`calls moved to the background on ${kind}`, () => {
    test('TASK-8: two runs that wait for one call both get the handle when it is moved', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [slow()], logger: quiet })
      const session = runtime.session('s')
      const first = session.run([{ id: 'a', name: 'slow' }])
      const second = session.run([{ id: 'a', name: 'slow' }])
      await clock.advance(10)
      expect(await session.tasks.adopt('a')).not.toBeNull()
      expect(await after(second, clock, 50_000)).toMatchObject(handle)
      expect(await after(first, clock, 50_000)).toMatchObject(handle)
    })

    for (const more of [{ hints: { readOnly: true } }, { onCrash: 'rerun' }] as const) {
      test(`TASK-8: a tool with ${JSON.stringify(more)} is moved by its rule, however short the delay`, async () => {
        // A rerunnable call is recorded only with its next write, so at this time there is no row to move.
        const { clock, store } = fresh()
        const runtime = await createRuntime({
          store,
          clock,
          tools: [slow({ ...more, background: { after: '20ms' }, timeout: '1h' })],
          logger: quiet,
        })
        const run = runtime.session('s').run([{ id: 'a', name: 'slow' }])
        expect(await after(run, clock, 600_000)).toMatchObject(handle)
      })
      test(`TASK-8: a tool with ${JSON.stringify(more)} can be moved by its caller right after the start`, async () => {
        const { clock, store } = fresh()
        const runtime = await createRuntime({ store, clock, tools: [slow({ ...more, timeout: '1h' })], logger: quiet })
        const run = runtime.session('s').run([{ id: 'a', name: 'slow' }])
        await clock.advance(10)
        expect(await runtime.session('s').tasks.adopt('a')).not.toBeNull()
        expect(await after(run, clock, 600_000)).toMatchObject(handle)
      })
    }

    test('TASK-8: a move by rule whose write fails once is repeated', async () => {
      const { clock, store } = fresh()
      let failing = 0
      const faults: Faults = {
        onCommit: (change) => (change.documents?.some(({ of }) => of === 'task') && failing-- > 0 ? lost() : undefined),
      }
      const runtime = await createRuntime({
        store: faulty(store, faults),
        clock,
        tools: [slow({ background: { after: '10s' }, timeout: '10h' })],
        logger: quiet,
      })
      const run = runtime.session('s').run([{ id: 'a', name: 'slow' }])
      await clock.advance(10)
      failing = 1
      expect(await after(run, clock, 600_000)).toMatchObject(handle)
    })

    test('TASK-8: a run gets its handle although the read of the move fails once', async () => {
      const { clock, store } = fresh()
      let failing = 0
      let armed = false
      const faults: Faults = {
        onCommit: (change) => {
          if (armed && change.documents?.some(({ of }) => of === 'task')) failing = 1
        },
        on: { document: () => (failing-- > 0 ? lost() : undefined) },
      }
      const runtime = await createRuntime({
        store: faulty(store, faults),
        clock,
        tools: [slow({ timeout: '10h' })],
        logger: quiet,
      })
      const session = runtime.session('s')
      const run = session.run([{ id: 'a', name: 'slow' }])
      await clock.advance(10)
      armed = true
      await session.tasks.adopt('a').catch(() => {})
      expect(await after(run, clock, 600_000)).toMatchObject(handle)
    })

    test('TASK-1: the limit of five active tasks applies to calls moved by the model', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({
        store,
        clock,
        tools: [slow({ concurrency: 'parallel', timeout: '10h' })],
        logger: quiet,
      })
      const session = runtime.session('s')
      void session.run(Array.from({ length: 7 }, (_, n) => ({ id: `c${n}`, name: 'slow' })))
      await clock.advance(10)
      const moved = await session.run(
        Array.from({ length: 7 }, (_, n) => ({ id: `m${n}`, name: 'move_to_background', input: { call_id: `c${n}` } })),
        { batch: 'm' },
      )
      expect(moved.filter(({ status }) => status === 'success').length).toBe(5)
    })

    test('TASK-8: a settled moved call returns its outcome although a hook is slow', async () => {
      // The check for a move must not win against the outcome while the hook is running.
      const { clock, store } = fresh()
      let end: (value: string) => void = () => {}
      const body = backgroundTool('slow', () => new Promise<string>((resolve) => (end = resolve)))
      const runtime = await createRuntime({
        store,
        clock,
        tools: [body],
        logger: quiet,
        hooks: [
          {
            name: 'thinks',
            // Slow only for the final outcome.
            project: (_facts, outcome) =>
              outcome.status === 'success' && outcome.value === '42 rows'
                ? new Promise<undefined>((resolve) => void clock.timer(100, () => resolve(undefined)))
                : undefined,
          },
        ],
      })
      const session = runtime.session('s')
      const run = session.run([{ id: 'a', name: 'slow' }])
      await clock.advance(10)
      const task = await session.tasks.adopt('a')
      await after(run, clock, 10_000, 100)
      end('42 rows')
      await clock.advance(1000)
      expect(await session.tasks.get(task?.id ?? '')).toMatchObject({ state: 'succeeded' })
      const again = session.run([{ id: 'a', name: 'slow' }])
      expect(await after(again, clock, 10_000, 100)).toMatchObject({ value: [{ value: '42 rows' }] })
    })

    test('TASK-8: a run gets its handle when another process moves the call', async () => {
      const { clock, store } = fresh()
      const keepOpen = { ...store, close: async () => {} }
      const one = await createRuntime({ store: keepOpen, clock, tools: [slow({ timeout: '10h' })], logger: quiet })
      const two = await createRuntime({
        store: keepOpen,
        clock,
        tools: [slow({ timeout: '10h' })],
        logger: quiet,
        worker: false,
      })
      const run = one.session('s').run([{ id: 'a', name: 'slow' }])
      await clock.advance(10)
      await two.session('s').tasks.adopt('a')
      expect(await after(run, clock, 600_000)).toMatchObject(handle)
    })

    for (const by of ['its caller', 'its model'] as const) {
      test(`TASK-8: a call with an idempotency key can be moved by ${by}`, async () => {
        // Such a call is stored under its key in a batch of the runtime, not under its call id.
        const { clock, store } = fresh()
        const runtime = await createRuntime({ store, clock, tools: [slow({ timeout: '10h' })], logger: quiet })
        const session = runtime.session('s')
        const run = session.run([{ id: 'a', name: 'slow', idempotencyKey: 'k' }])
        await clock.advance(100)
        if (by === 'its caller') await session.tasks.adopt('a').catch(() => {})
        else await session.run([{ id: 'm', name: 'move_to_background', input: { call_id: 'a' } }], { batch: 'm' })
        expect(await after(run, clock, 60_000)).toMatchObject(handle)
      })
    }

    test('TASK-8: of two calls with one id, the open one is moved', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [slow({ timeout: '10h' }), quick], logger: quiet })
      const session = runtime.session('s')
      const run = session.run([
        { id: 'a', name: 'quick' },
        { id: 'a', name: 'slow' },
      ])
      await clock.advance(100)
      await session.tasks.adopt('a').catch(() => {})
      expect(await after(run, clock, 60_000)).toMatchObject({
        value: [{ value: 'quick' }, { value: { status: 'running' } }],
      })
    })

    test('TASK-8: a moved call repeated under its idempotency key returns the handle', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({
        store,
        clock,
        tools: [slow({ timeout: '10h', background: { after: '10s' } })],
        logger: quiet,
      })
      const session = runtime.session('s')
      const run = session.run([{ id: 'a', name: 'slow', idempotencyKey: 'k' }])
      expect(await after(run, clock, 60_000)).toMatchObject(handle)
      const again = session.run([{ id: 'b', name: 'slow', idempotencyKey: 'k' }], { batch: 'x' })
      expect(await after(again, clock, 5_000, 1_000)).toMatchObject(handle)
      expect(await session.tasks.list()).toHaveLength(1)
    })

    test('TASK-8: a call moved while it is being cancelled ends once', async () => {
      const { clock, store } = fresh()
      const t = slow({
        execute: (_: unknown, ctx: { signal: AbortSignal }) =>
          new Promise((_r, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('x')))),
      })
      const runtime = await createRuntime({ store, clock, tools: [t], logger: quiet })
      const session = runtime.session('s')
      const stop = new AbortController()
      const run = session.run([{ id: 'a', name: 'slow' }], { signal: stop.signal })
      await clock.advance(10)
      const adopting = session.tasks.adopt('a')
      stop.abort()
      const adopted = await after(
        adopting.then((x) => x),
        clock,
        50_000,
      )
      expect(adopted).toHaveProperty('value')
      expect(await after(run, clock, 50_000)).toHaveProperty('value')
      await clock.advance(10_000)
      expect((await session.tasks.list({ state: 'open' })).length).toBe(0)
    })
  })
}
