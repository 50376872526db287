// Calls that are moved to the background: who waits for them, what they hold, and what one failing read or write does.
import { createRuntime, PawlError, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { after, type Faults, faulty, freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const hang = (): Promise<never> => new Promise(() => {})
const lost = (): never => {
  throw new PawlError('store_unavailable', 'planted')
}
const slow = (more: object = {}) => tool({ name: 'slow', description: 'd', input, background: true, execute: hang, ...more })
const quick = tool({ name: 'quick', description: 'd', input, execute: () => 'quick' })
const handle = { value: [{ status: 'success', value: { status: 'running' } }] }

for (const [kind, fresh] of [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const) {
  describe(`calls moved to the background, on ${kind}`, () => {
    test('TASK-8: two runs wait for one call (joined) and it is adopted: both get the handle', async () => {
      // background.md: "Asked for again while it runs, it gives the handle". sessions/background-moves.ts keeps one watcher by uid: the second replaces the first.
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
      test(`TASK-8: a tool with ${JSON.stringify(more)} is moved by its rule, however short that is`, async () => {
        // What may rerun goes on record with the next write: nothing is there to move, and the rule is asked once.
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
      test(`TASK-8: a tool with ${JSON.stringify(more)} is moved by its caller, however early`, async () => {
        const { clock, store } = fresh()
        const runtime = await createRuntime({ store, clock, tools: [slow({ ...more, timeout: '1h' })], logger: quiet })
        const run = runtime.session('s').run([{ id: 'a', name: 'slow' }])
        await clock.advance(10)
        expect(await runtime.session('s').tasks.adopt('a')).not.toBeNull()
        expect(await after(run, clock, 600_000)).toMatchObject(handle)
      })
    }

    test('TASK-8: the write that moves a call by rule fails once: it is moved a moment later', async () => {
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

    test('TASK-8: the read that looks for a move made here fails once: the run gets its handle a moment later', async () => {
      const { clock, store } = fresh()
      let failing = 0
      let armed = false
      const faults: Faults = {
        onCommit: (change) => {
          if (armed && change.documents?.some(({ of }) => of === 'task')) failing = 1
        },
        on: { document: () => (failing-- > 0 ? lost() : undefined) },
      }
      const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [slow({ timeout: '10h' })], logger: quiet })
      const session = runtime.session('s')
      const run = session.run([{ id: 'a', name: 'slow' }])
      await clock.advance(10)
      armed = true
      await session.tasks.adopt('a').catch(() => {})
      expect(await after(run, clock, 600_000)).toMatchObject(handle)
    })

    test('TASK-1: a session has at most five active tasks, also if its model moves calls to the background', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [slow({ concurrency: 'parallel', timeout: '10h' })], logger: quiet })
      const session = runtime.session('s')
      void session.run(Array.from({ length: 7 }, (_, n) => ({ id: `c${n}`, name: 'slow' })))
      await clock.advance(10)
      const moved = await session.run(
        Array.from({ length: 7 }, (_, n) => ({ id: `m${n}`, name: 'move_to_background', input: { call_id: `c${n}` } })),
        { batch: 'm' },
      )
      expect(moved.filter(({ status }) => status === 'success').length).toBe(5)
    })

    test('TASK-8: a moved call that has settled gives its outcome when asked again, also where a hook takes its time over what the model reads', async () => {
      // batch.ts: the look for a move races with the outcome; while the hook thinks, the handle ("running") is first.
      const { clock, store } = fresh()
      let end: (value: string) => void = () => {}
      const body = tool({
        name: 'slow',
        description: 'd',
        input,
        background: true,
        execute: () => new Promise<string>((resolve) => (end = resolve)),
      })
      const runtime = await createRuntime({
        store,
        clock,
        tools: [body],
        logger: quiet,
        hooks: [
          {
            name: 'thinks',
            // Over what there is much to say about it thinks longer.
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

    test('TASK-8: another process moves the call: the run that waits here gets its handle', async () => {
      const { clock, store } = fresh()
      const keepOpen = { ...store, close: async () => {} }
      const one = await createRuntime({ store: keepOpen, clock, tools: [slow({ timeout: '10h' })], logger: quiet })
      const two = await createRuntime({ store: keepOpen, clock, tools: [slow({ timeout: '10h' })], logger: quiet, worker: false })
      const run = one.session('s').run([{ id: 'a', name: 'slow' }])
      await clock.advance(10)
      await two.session('s').tasks.adopt('a')
      expect(await after(run, clock, 600_000)).toMatchObject(handle)
    })

    for (const by of ['its caller', 'its model'] as const) {
      test(`TASK-8: a call with an idempotency key is moved by ${by}, as every other is`, async () => {
        // adopt-task.ts looks for open calls by the id of their place and leaves out batches of the runtime: a key is such a place.
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

    test('TASK-8: of two calls with one id, the one that is open is moved', async () => {
      // adopt-task.ts, callMeant: "else the one that is open"; it takes the first, which has settled, and says that there is nothing to move.
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [slow({ timeout: '10h' }), quick], logger: quiet })
      const session = runtime.session('s')
      const run = session.run([
        { id: 'a', name: 'quick' },
        { id: 'a', name: 'slow' },
      ])
      await clock.advance(100)
      await session.tasks.adopt('a').catch(() => {})
      expect(await after(run, clock, 60_000)).toMatchObject({ value: [{ value: 'quick' }, { value: { status: 'running' } }] })
    })

    test('TASK-8: a call that was moved and asked for again under its idempotency key gives the handle', async () => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, tools: [slow({ timeout: '10h', background: { after: '10s' } })], logger: quiet })
      const session = runtime.session('s')
      const run = session.run([{ id: 'a', name: 'slow', idempotencyKey: 'k' }])
      expect(await after(run, clock, 60_000)).toMatchObject(handle)
      const again = session.run([{ id: 'b', name: 'slow', idempotencyKey: 'k' }], { batch: 'x' })
      expect(await after(again, clock, 5_000, 1_000)).toMatchObject(handle)
      expect(await session.tasks.list()).toHaveLength(1)
    })

    test('TASK-8: moved while it is being cancelled: one end, told as cancelled', async () => {
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
