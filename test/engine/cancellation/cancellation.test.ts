// A cancel is recorded and takes effect: across crashes, parks and nested calls.

import { createRuntime, retry, type Runtime, tool } from 'pawl'
import { type ManualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Store } from '../../../src/store/store.ts'
import { type Mortal, type StoreKind } from '../../kit/stores/killable-store.ts'
import { mortalWorld } from '../../kit/worker-takeover.ts'
import { argumentTool, hang, rerunTool, simpleTool } from '../../kit/simple-tools.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

const empty = z.object({})

describe.each(['memory', 'sqlite'] as const)('cancellation on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const { start } = mortalWorld(kind, (fresh) => void ({ clock, store, first } = fresh))
  const eventsOf = async (
    runtime: Runtime,
    until: (type: string) => boolean,
  ): Promise<{ type: string; body: unknown }[]> => {
    const seen: { type: string; body: unknown }[] = []
    for await (const event of runtime.events()) {
      seen.push({ type: event.type, body: event.body })
      if (until(event.type)) break
    }
    return seen
  }

  test.for([
    ['rerun', { status: 'cancelled', cancellation: { message: 'Enough', mayStillRun: true } }],
    ['stop', { status: 'unknown' }],
  ] as const)('TIME-3 DUR-3: a cancelled %s body whose worker dies does not run again', async ([onCrash, expected]) => {
    let runs = 0
    const work = tool({ name: 'work', description: 'Works', input: empty, onCrash, execute: () => (runs++, hang()) })
    const dying = await start([work], first.store)
    const call = dying.session('s').call(work, {}, { id: 'a' })
    await clock.advance('1s')
    await call.cancel('Enough', 'user:ada')
    await clock.advance(10)
    first.die()
    // A cancelled call skips the policy: a denial would say that nothing ran.
    const runtime = await start([work], store, { policy: { rules: [{ tool: 'work', then: 'deny' }] } })
    await clock.advance('31s')
    expect((await runtime.session('s').run([{ id: 'a', name: 'work' }]))[0]).toMatchObject({ attempts: 1, ...expected })
    expect(runs).toBe(1)
  })

  test('TIME-3: a call cancelled in the queue does not start after a crash', async () => {
    const ran: string[] = []
    const work = argumentTool(
      'work',
      z.object({ n: z.string() }),
      { onCrash: 'rerun' },
      ({ n }) => (ran.push(n), n === 'a' && ran.length === 1 ? hang() : n),
    )
    // The outcome of the cancelled call is lost with its worker; the cancel itself is on record.
    const deaf: Store = {
      ...first.store,
      write: (change, heard, how) =>
        change.updateCall?.progress.state === 'settled' ? undefined : first.store.write(change, heard, how),
    }
    const dying = await start([work], deaf)
    const calls = ['a', 'b'].map((n) => ({ id: n, name: 'work', input: { n } }))
    void dying.session('s').run(calls, { batch: 'm' })
    await clock.advance('1s')
    void dying.session('s').cancel('Enough')
    await clock.advance(10)
    first.die()
    const asked: unknown[] = []
    const hooks = [{ name: 'asks', before: ({ input }: { input: unknown }) => void asked.push(input) }]
    const runtime = await start([work], store, { hooks })
    await clock.advance('31s')
    const [a, b] = await runtime.session('s').run(calls, { batch: 'm' })
    expect(a).toMatchObject({ status: 'cancelled', cancellation: { mayStillRun: true } })
    expect(b).toMatchObject({ status: 'cancelled', attempts: 0 })
    expect(b).not.toHaveProperty('cancellation.mayStillRun')
    expect([ran, asked]).toEqual([['a'], []])
  })

  test('TIME-3: the actor of a cancel and the reason of a signal are recorded', async () => {
    const parks = rerunTool('parks', (_, ctx) => ctx.later())
    const hangs = tool({ name: 'hangs', description: 'Hangs', input: empty, execute: hang })
    const runtime = await start([parks, hangs])
    const call = runtime.session('s').call(parks, {})
    await clock.advance(0)
    await call.cancel('No longer needed', 'user:ada')
    await clock.advance(0)
    expect(await call.outcome).toMatchObject({ status: 'cancelled', cancellation: { message: 'No longer needed' } })
    const told = await eventsOf(runtime, (type) => type === 'call.settled')
    expect(told.filter(({ type }) => type === 'call.cancelling').map(({ body }) => body)).toEqual([
      { reason: 'No longer needed', by: 'user:ada' },
    ])
    const messages: unknown[] = []
    for (const [n, reason] of [
      'The tab was closed',
      new Error('Out of money'),
      undefined,
      { by: 'nobody' },
      '',
    ].entries()) {
      const stop = new AbortController()
      const run = runtime.session('s').run([{ id: `h${n}`, name: 'hangs' }], { signal: stop.signal })
      await clock.advance(0)
      stop.abort(reason)
      await clock.advance(100)
      const [outcome] = await run
      messages.push(outcome?.status === 'cancelled' && outcome.cancellation.message)
    }
    const plain = 'The batch was cancelled'
    expect(messages).toEqual(['The tab was closed', 'Out of money', plain, plain, plain])
  })

  test('TIME-3 WAIT-1: a body that parks after a cancel is cancelled immediately', async () => {
    let told = (): void => {}
    const parks = rerunTool('parks', { description: 'Parks when told to stop' }, async (_, ctx) => {
      const later = await ctx.later()
      await new Promise<void>((resolve) => (told = resolve))
      return later
    })
    const runtime = await start([parks])
    const call = runtime.session('s').call(parks, {})
    await clock.advance(0)
    await call.cancel('Enough')
    told()
    await clock.advance('1s')
    expect(await call.outcome).toMatchObject({ status: 'cancelled', cancellation: { message: 'Enough' } })
  })

  test('TIME-3 WAIT-1: a cancel at any moment reaches a call that parks', async () => {
    const parks = rerunTool('parks', (_, ctx) => ctx.later())
    const runtime = await start([parks])
    const ends: unknown[] = []
    for (let moment = 0; moment < 40; moment++) {
      const call = runtime.session('s').call(parks, {})
      for (let turn = 0; turn < moment; turn++)
        await (moment % 2 ? Promise.resolve() : new Promise((resolve) => setImmediate(resolve)))
      await call.cancel()
      let end = 'still parked'
      void call.outcome.then(({ status }) => (end = status))
      await clock.advance('1s')
      ends.push(end)
    }
    expect(ends).toEqual(ends.map(() => 'cancelled'))
  })

  test('TIME-3 WAIT-1: a cancel during the write of a park resolves the wait', async () => {
    const parks = tool({
      name: 'parks',
      description: 'Parks',
      input: empty,
      onCrash: 'rerun',
      execute: (_, ctx) => ctx.later(),
    })
    const held: (() => void)[] = []
    const slow: Store = {
      ...store,
      async commit(change) {
        if (change.events.some(({ type }) => type === 'call.parked'))
          await new Promise<void>((resolve) => held.push(resolve))
        return store.commit(change)
      },
    }
    const runtime = await createRuntime({ store: slow, tools: [parks], clock, logger: quiet })
    const call = runtime.session('s').call(parks, {})
    await clock.advance(0)
    await call.cancel('Enough', 'user:ada')
    await clock.advance(0)
    held[0]?.()
    await clock.advance('1s')
    expect(await call.outcome).toMatchObject({ status: 'cancelled', cancellation: { message: 'Enough' } })
    await runtime.close({ grace: 0 })
  })

  test.for(['cancel', 'timeout'] as const)(
    'TIME-3 DUR-4: a step that waits for its retry is not retried after a %s',
    async (how) => {
      let tries = 0
      const stepping = rerunTool('stepping', { timeout: '10s' }, (_, ctx) =>
        ctx.step('x', () => (tries++, Promise.reject(new Error('no'))), { retry: { attempts: 5, delay: '25s' } }),
      )
      const runtime = await start([stepping])
      const call = runtime.session('s').call(stepping, {})
      await clock.advance('1s')
      if (how === 'cancel') await call.cancel()
      await clock.advance('10s')
      const outcome = await call.outcome
      expect(outcome.status).toBe(how === 'cancel' ? 'cancelled' : 'failure')
      expect(JSON.stringify(outcome)).not.toContain('mayStillRun') // the body stopped immediately
      await clock.advance('10m')
      expect(tries).toBe(1)
    },
  )

  test('TIME-3: a call cancelled during the write of its start does not begin', async () => {
    let ran = 0
    const held: (() => void)[] = []
    const slow: Store = {
      ...store,
      write(change, heard, how) {
        if (change.events.some(({ type }) => type === 'call.started')) held.push(() => store.write(change, heard, how))
        else if (held.length > 0) held.push(() => store.write(change, heard, how))
        else store.write(change, heard, how)
      },
    }
    const once = tool({ name: 'once', description: 'Must not run twice', input: empty, execute: () => ran++ })
    const runtime = await createRuntime({ store: slow, tools: [once], clock, logger: quiet })
    const call = runtime.session('s').call(once, {})
    await clock.advance(0)
    void call.cancel()
    await clock.advance('1s')
    for (const write of held.splice(0)) write()
    await clock.advance('1s')
    const outcome = await call.outcome
    expect(outcome.status).toBe('cancelled')
    expect(outcome).not.toHaveProperty('cancellation.mayStillRun')
    expect(ran).toBe(0)
    await runtime.close({ grace: 0 })
  })

  test('TIME-3: cancelling a session includes calls that the store has not confirmed yet', async () => {
    let ran = 0
    const remote: Store = { ...store, callAt: async (position) => store.callAt(position) }
    const work = tool({ name: 'work', description: 'Works', input: empty, execute: () => (ran++, hang()) })
    const runtime = await createRuntime({ store: remote, tools: [work], clock, logger: quiet })
    const session = runtime.session('s')
    const run = session.run([{ id: 'a', name: 'work' }])
    expect(await session.cancel('Enough')).toBe(1)
    await clock.advance('1s')
    expect((await run)[0]).toMatchObject({ status: 'cancelled', cancellation: { message: 'Enough' } })
    expect(ran).toBe(0)
    await runtime.close({ grace: 0 })
  })

  test('TIME-3 SCHED-4: nested calls are cancelled with their parent, with the same reason', async () => {
    const child = simpleTool(
      'child',
      (_, ctx) =>
        new Promise<never>((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
    )
    const parent = simpleTool('parent', { description: 'Calls' }, async (_, ctx) => {
      const end = await ctx.call(child, {})
      if (end.status !== 'success') throw new Error(end.status)
    })
    const runtime = await start([child, parent])
    const call = runtime.session('s').call(parent, {})
    await clock.advance(0)
    await call.cancel('Enough', 'user:ada')
    await clock.advance('1s')
    expect((await call.outcome).status).toBe('cancelled')
    let settled = 0
    const told = await eventsOf(runtime, (type) => type === 'call.settled' && ++settled === 2)
    expect(told.filter(({ type }) => type === 'call.cancelling').map(({ body }) => body)).toEqual([
      { reason: 'Enough', by: 'user:ada' },
      { reason: 'Enough', by: 'user:ada' },
    ])
  })

  test("CALL-8: an abort in a nested call ends its parent and the parent's batch", async () => {
    const child = tool({ name: 'child', description: 'Child', input: empty, execute: () => 1 })
    const ran: string[] = []
    const middle = simpleTool('middle', async (_, ctx) => (await ctx.call(child, {})).status)
    const parent = simpleTool(
      'parent',
      { description: 'Goes on whatever happens' },
      async (_, ctx) => (await ctx.call(middle, {})).status,
    )
    const write = tool({ name: 'write', description: 'Writes', input: empty, execute: () => ran.push('write') })
    const hooks = [
      {
        name: 'guard',
        before: ({ tool: name }: { tool: string }) => (name === 'child' ? { abort: 'stop everything' } : undefined),
      },
    ]
    const runtime = await start([child, middle, parent, write], store, { hooks })
    const run = runtime.session('s').run(
      [
        { id: 'p', name: 'parent' },
        { id: 'w', name: 'write' },
      ],
      { batch: 'm' },
    )
    await clock.advance('1s')
    const [above, behind] = await run
    expect(above).toMatchObject({ status: 'failure', failure: { code: 'turn_aborted', source: 'hook' } })
    expect(behind).toMatchObject({ status: 'cancelled' })
    expect(ran).toEqual([])
  })

  test('TIME-2: timeouts pause for a nested call that was parked before a restart', async () => {
    let key = ''
    const wait = rerunTool('wait', { description: 'Parks' }, async (_, ctx) => {
      const later = await ctx.later<string>({ deadline: '1d' })
      key = later.key
      return later
    })
    const parent = argumentTool(
      'parent',
      z.object({ deep: z.boolean() }),
      { description: 'Calls wait, twice removed', onCrash: 'rerun' },
      async ({ deep }, ctx): Promise<unknown> => {
        const [end] = deep
          ? await ctx.run([{ id: 'n', name: 'parent', input: { deep: false } }])
          : [await ctx.call(wait, {})]
        return end?.status === 'success' ? end.value : end?.status
      },
    )
    const keys = { secret: 'x'.repeat(32) }
    const dying = await start([wait, parent], first.store, { keys })
    void dying.session('s').run([{ id: 'p', name: 'parent', input: { deep: true } }])
    await clock.advance('50s')
    first.die()
    const runtime = await start([wait, parent], store, { keys })
    await clock.advance('1h')
    const run = runtime.session('s').run([{ id: 'p', name: 'parent', input: { deep: true } }])
    await clock.advance('1h')
    await runtime.resolve(key, { value: 'signed' })
    await clock.advance('1s')
    expect((await run)[0]).toMatchObject({ status: 'success', value: 'signed', attempts: 2 })
  })

  test('TIME-2: timeouts keep running while one of the nested calls works', async () => {
    const nap = rerunTool('nap', { concurrency: 'parallel' }, (_, ctx) => ctx.sleep('1h'))
    const busy = tool({
      name: 'busy',
      description: 'Busy',
      input: empty,
      concurrency: 'parallel',
      timeout: '1d',
      execute: hang,
    })
    const parent = simpleTool('parent', { timeout: '10s' }, async (_, ctx) => {
      const ends = await ctx.run(['nap', 'busy'].map((name) => ({ id: name, name })))
      if (ends.some(({ status }) => status !== 'success')) throw new Error('not done')
    })
    const runtime = await start([nap, busy, parent])
    const run = runtime.session('s').run([{ id: 'p', name: 'parent' }])
    await clock.advance('11s')
    const [outcome] = await Promise.race([run, clock.advance('1m').then(() => [])])
    expect(outcome).toMatchObject({ failure: { code: 'attempt_timeout' } })
  })

  test('DUR-13: close() does not wait for queued calls', async () => {
    const rated = simpleTool(
      'rated',
      { concurrency: 'parallel', limits: { rate: { count: 1, per: '1h' } } },
      () => 'done',
    )
    const closing = await createRuntime({ store, tools: [rated], clock, logger: quiet })
    const session = closing.session('s')
    const calls = ['a', 'b'].map((id) => ({ id, name: 'rated' }))
    const ends = calls.map((call) =>
      session.run([call]).then(
        ([end]) => end?.status,
        (error: { code: string }) => error.code,
      ),
    )
    await clock.advance(0)
    await closing.close({ grace: '5s' })
    expect(await Promise.all(ends)).toEqual(['success', 'runtime_closed'])
    const runtime = await start([rated])
    const run = runtime.session('s').run(calls)
    await clock.advance('1h')
    expect((await run).map(({ status }) => status)).toEqual(['success', 'success'])
  })

  test('DUR-13: a call delayed by a hook does not begin while the runtime closes', async () => {
    let answer = (): void => {}
    const ran: string[] = []
    const work = tool({ name: 'work', description: 'Works', input: empty, execute: () => ran.push('work') })
    const hooks = [{ name: 'slow', before: () => new Promise<void>((resolve) => (answer = resolve)) }]
    const closing = await createRuntime({ store, tools: [work], clock, logger: quiet, hooks })
    ignoreResult(closing.session('s').run([{ id: 'a', name: 'work' }]))
    await clock.advance(0)
    const closed = closing.close({ grace: '5s' })
    await clock.advance('1s')
    answer()
    await clock.advance('1s')
    await closed
    expect(ran).toEqual([])
    const runtime = await start([work])
    await clock.advance(0)
    expect((await runtime.session('s').run([{ id: 'a', name: 'work' }]))[0]).toMatchObject({
      status: 'success',
      attempts: 1,
    })
  })

  test('DUR-13: the grace period covers work of a body that wakes during it', async () => {
    const child = simpleTool(
      'child',
      { description: 'Takes two seconds, must not run twice' },
      () => new Promise<string>((resolve) => void clock.timer(2_000, () => resolve('done'))),
    )
    const sleeper = rerunTool('sleeper', { concurrency: 'parallel' }, async (_, ctx) => {
      await ctx.sleep('2s')
      return (await ctx.call(child, {})).status
    })
    const busy = simpleTool(
      'busy',
      { concurrency: 'parallel' },
      () => new Promise<string>((resolve) => void clock.timer(3_000, () => resolve('done'))),
    )
    const closing = await createRuntime({ store, tools: [child, sleeper, busy], clock, logger: quiet })
    const run = closing.session('s').run(['sleeper', 'busy'].map((name) => ({ id: name, name })))
    await clock.advance('1s')
    const closed = closing.close({ grace: '10s' })
    await clock.advance('9s')
    await closed
    expect(await run).toMatchObject([{ value: 'success' }, { value: 'done' }])
  })

  test('DUR-13: during close() a running body may make nested calls, and no retry begins', async () => {
    let go = (): void => {}
    let tries = 0
    const child = tool({ name: 'child', description: 'Child', input: empty, execute: () => 'child' })
    const parent = simpleTool(
      'parent',
      { description: 'Must not run twice', concurrency: 'parallel' },
      async (_, ctx) => {
        await new Promise<void>((resolve) => (go = resolve))
        return (await ctx.call(child, {})).status
      },
    )
    const flaky = simpleTool('flaky', { concurrency: 'parallel' }, () =>
      ++tries === 1 ? Promise.reject(retry({ after: '1s' })) : 'done',
    )
    const tools = [child, parent, flaky]
    const closing = await createRuntime({ store, tools, clock, logger: quiet })
    const calls = ['parent', 'flaky'].map((name) => ({ id: name, name }))
    ignoreResult(closing.session('s').run(calls, { batch: 'm' }))
    await clock.advance(500)
    const closed = closing.close({ grace: '5s' })
    await clock.advance('2s')
    expect(tries).toBe(1)
    go()
    await clock.advance('5s')
    await closed
    const runtime = await start(tools)
    const run = runtime.session('s').run(calls, { batch: 'm' })
    await clock.advance('2s')
    expect(await run).toMatchObject([
      { value: 'success', attempts: 1 },
      { value: 'done', attempts: 2 },
    ])
  })
})
