// Timeouts, cancels, and retries of tools that are declared safe.

import { fail, retry, type Runtime, tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { argumentTool, hang, readOnlyTool, rerunTool, simpleTool } from '../../kit/simple-tools.ts'

const empty = z.object({})

onEachStore('timeouts, cancels and retries', (bench) => {
  const start = async (
    tools: Parameters<typeof bench.open>[0],
    options = {},
  ): Promise<{ runtime: Runtime; clock: ManualClock }> => {
    const clock = manualClock()
    return { clock, runtime: await bench.open(tools, { clock, ...options }) }
  }

  test.for([
    ['ignores its signal', () => hang(), { mayStillRun: true }],
    [
      'listens to its signal',
      (signal: AbortSignal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      {},
    ],
    ['is a thenable that never settles', () => ({ then: () => {} }), { mayStillRun: true }],
  ] as const)('TIME-1: a body that %s times out once', async ([, body, expected]) => {
    const slow = simpleTool('slow', { timeout: '5s' }, (_, ctx) => body(ctx.signal))
    const { runtime, clock } = await start([slow])
    const run = runtime.session('s').run([{ id: 'a', name: 'slow' }])
    await clock.advance('4s')
    await clock.advance('2s')
    const [outcome] = await run
    expect(outcome).toMatchObject({
      status: 'failure',
      failure: { class: 'timeout', code: 'attempt_timeout', ...expected },
    })
    if (!('mayStillRun' in expected)) expect(outcome).not.toHaveProperty('failure.mayStillRun')
  })

  test('TIME-1: the attempt timeout is 60 s by default; a call may set timeout and deadline', async () => {
    const hangs = tool({ name: 'hangs', description: 'Hangs', input: empty, concurrency: 'parallel', execute: hang })
    const { runtime, clock } = await start([hangs])
    const ended: string[] = []
    const ask = (id: string, more: object) =>
      runtime
        .session('s')
        .run([{ id, name: 'hangs', ...more }])
        .then(([outcome]) => ended.push(`${id} ${outcome?.status === 'failure' ? outcome.failure.code : ''}`))
    void ask('default', {})
    void ask('own', { timeout: '2s' })
    void ask('deadline', { deadline: clock.now() + 3_000 })
    void ask('total', { timeout: { total: '4s' } })
    await clock.advance('10s')
    expect(ended).toEqual(['own attempt_timeout', 'deadline deadline_exceeded', 'total deadline_exceeded'])
    await clock.advance('51s')
    expect(ended).toContain('default attempt_timeout')
  })

  test('TIME-1: progress resets the idle timeout', async () => {
    const steady = simpleTool(
      'steady',
      {
        description: 'Shows progress, then stops',
        timeout: { attempt: '1h', idle: '10s' },
      },
      async (_, ctx) => {
        for (let current = 1; current <= 3; current++) {
          await new Promise<void>((resolve) => clock.timer(8_000, resolve))
          ctx.progress({ current, total: 9 })
        }
        return hang()
      },
    )
    const { runtime, clock } = await start([steady])
    let code = ''
    const began = clock.now()
    const run = runtime.session('s').run([{ id: 'a', name: 'steady' }])
    void run.then(([outcome]) => (code = outcome?.status === 'failure' ? outcome.failure.code : ''))
    await clock.advance('33s')
    expect(code).toBe('')
    await clock.advance('2s')
    expect(code).toBe('idle_timeout')
    expect(clock.now() - began).toBe(35_000)
  })

  test('TIME-1: a late result is recorded and never delivered; the late ctx is fenced', async () => {
    let finish: (value: string) => void = () => {}
    let afterwards: unknown
    const late = rerunTool('late', { timeout: '1s' }, async (_, ctx) => {
      const value = await new Promise<string>((resolve) => (finish = resolve))
      afterwards = await ctx.step('after', () => 1).catch((error: { code: string }) => error.code)
      return value
    })
    const { runtime, clock } = await start([late])
    const run = runtime.session('s').run([{ id: 'a', name: 'late' }])
    await clock.advance('2s')
    const [outcome] = await run
    expect(outcome).toMatchObject({ failure: { code: 'attempt_timeout', mayStillRun: true } })
    finish('at last')
    await clock.advance(0)
    expect(afterwards).toBe('attempt_over')
    expect((await runtime.session('s').run([{ id: 'a', name: 'late' }]))[0]).toEqual(outcome)
    const types: string[] = []
    for await (const event of runtime.events()) {
      types.push(event.type)
      if (event.type === 'call.late') break
    }
    expect(types.filter((type) => type === 'call.settled')).toHaveLength(1)
    expect(types.at(-1)).toBe('call.late')
  })

  test('TIME-1: settled calls leave no timer behind', async () => {
    const quick = simpleTool('quick', { timeout: { attempt: '1h', idle: '1h', total: '1h', queue: '1h' } }, () => 1)
    const { runtime, clock } = await start([quick])
    await runtime.session('s').run([{ id: 'warm', name: 'quick' }])
    await clock.advance('1m')
    const before = clock.pending
    const calls = Array.from({ length: 20 }, (_, n) => ({ id: `c${n}`, name: 'quick' }))
    await runtime.session('s').run(calls)
    await clock.advance('1m')
    expect(clock.pending).toBe(before)
  })

  test('TIME-2: the attempt timeout pauses while the body sleeps or waits', async () => {
    const sleeper = rerunTool(
      'sleeper',
      { description: 'Sleeps longer than its timeout', timeout: '10s' },
      async (_, ctx) => {
        await ctx.sleep('1h')
        const later = await ctx.later<string>()
        keys.push(later.key)
        return later.value
      },
    )
    const keys: string[] = []
    const { runtime, clock } = await start([sleeper])
    const run = runtime.session('s').run([{ id: 'a', name: 'sleeper' }])
    await clock.advance('2h')
    await runtime.resolve(keys[0] as string, { value: 'awake' })
    expect((await run)[0]).toMatchObject({ value: 'awake' })
  })

  test('TIME-3: a cancel reaches a call in every state, with its reason', async () => {
    const body = tool({ name: 'body', description: 'Hangs', input: empty, concurrency: 'parallel', execute: hang })
    const parks = rerunTool('parks', { concurrency: 'parallel' }, (_, ctx) => ctx.later())
    const sleeps = rerunTool('sleeps', { description: 'Sleeps', concurrency: 'parallel' }, (_, ctx) => ctx.sleep('1d'))
    const flaky = simpleTool('flaky', { description: 'Fails', concurrency: 'parallel' }, () =>
      Promise.reject(retry({ after: '20s' })),
    )
    const queued = simpleTool('queued', { limits: { concurrent: 1 }, concurrency: 'parallel' }, hang)
    const { runtime, clock } = await start([body, parks, sleeps, flaky, queued])
    const session = runtime.session('s')
    const names = ['body', 'parks', 'sleeps', 'flaky', 'queued', 'queued']
    const run = session.run(names.map((name, n) => ({ id: `c${n}`, name })))
    await clock.advance('1s')
    expect(await session.cancel('Enough', 'user:ada')).toBe(6)
    await clock.advance(250)
    const outcomes = await run
    expect(outcomes.map(({ status }) => status)).toEqual(names.map(() => 'cancelled'))
    expect(outcomes[0]).toMatchObject({
      cancellation: { message: 'Enough', source: 'cancellation', mayStillRun: true },
    })
    expect(outcomes[5]).toMatchObject({ attempts: 0 })
    expect(outcomes[5]).not.toHaveProperty('cancellation.mayStillRun')
  })

  test('TIME-3: a signal cancels a batch, a result in the grace period wins, cancel() reports it', async () => {
    let release: (value: string) => void = () => {}
    const polite = simpleTool(
      'polite',
      { concurrency: 'parallel' },
      () => new Promise<string>((resolve) => (release = resolve)),
    )
    const { runtime, clock } = await start([polite])
    const stop = new AbortController()
    const run = runtime.session('s').run([{ id: 'a', name: 'polite' }], { signal: stop.signal })
    await clock.advance(0)
    stop.abort()
    await clock.advance(20)
    release('just in time')
    expect((await run)[0]).toMatchObject({ value: 'just in time' })
    const call = runtime.session('s').call(polite, {})
    await clock.advance(0)
    expect(await call.cancel('No longer needed')).toBe(true)
    await clock.advance(100)
    expect(await call.outcome).toMatchObject({ status: 'cancelled', cancellation: { message: 'No longer needed' } })
    expect(await call.cancel()).toBe(false)
    expect(
      (await runtime.session('s').run([{ id: 'z', name: 'polite' }], { signal: AbortSignal.abort() }))[0],
    ).toMatchObject({
      status: 'cancelled',
      attempts: 0,
    })
  })

  test('CALL-3: onFailure continue runs the rest; onFailure stop cancels running and queued calls', async () => {
    const ran: string[] = []
    const fails = simpleTool('fails', { description: 'Fails', concurrency: 'parallel' }, () =>
      Promise.reject(fail('No')),
    )
    const hangs = simpleTool(
      'hangs',
      { concurrency: 'parallel' },
      (_, ctx) => new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
    )
    const write = tool({ name: 'write', description: 'Barrier', input: empty, execute: () => ran.push('write') })
    const breaks = tool({
      name: 'breaks',
      description: 'A barrier that fails',
      input: empty,
      execute: () => Promise.reject(fail('No')),
    })
    const { runtime, clock } = await start([fails, hangs, write, breaks])
    const calls = [
      { id: 'f', name: 'fails' },
      { id: 'h', name: 'hangs' },
      { id: 'w', name: 'write' },
    ]
    const run = runtime.session('s').run(calls, { batch: 'stops', onFailure: 'stop' })
    await clock.advance('1s')
    expect((await run).map(({ status }) => status)).toEqual(['failure', 'cancelled', 'cancelled'])
    const behind = runtime.session('s').run(
      [
        { id: 'b', name: 'breaks' },
        { id: 'w1', name: 'write' },
        { id: 'w2', name: 'write' },
      ],
      { batch: 'barriers', onFailure: 'stop' },
    )
    await clock.advance('1s')
    expect((await behind).map(({ status }) => status)).toEqual(['failure', 'cancelled', 'cancelled'])
    expect(ran).toEqual([])
    const goesOn = runtime.session('s').run(
      [
        { id: 'b', name: 'breaks' },
        { id: 'w1', name: 'write' },
      ],
      { batch: 'goes on' },
    )
    await clock.advance('1s')
    expect((await goesOn).map(({ status }) => status)).toEqual(['failure', 'success'])
  })

  test('TIME-1 TIME-4: the total timeout covers attempts and delays; fail() is not retried', async () => {
    let tries = 0
    const tools = [
      simpleTool(
        'total',
        {
          description: 'Too slow in all',
          concurrency: 'parallel',
          timeout: { total: '1s' },
        },
        () => (tries++, Promise.reject(retry({ after: '3s' }))),
      ),
      readOnlyTool('late', { retry: { attempts: 3 }, timeout: { total: '1s' } }, () => (tries++, hang())),
      readOnlyTool(
        'answer',
        { retry: { attempts: 3 } },
        () => (tries++, Promise.reject(fail('No', { class: 'unavailable' }))),
      ),
    ]
    const { runtime, clock } = await start(tools)
    const run = runtime.session('s').run(tools.map(({ name }) => ({ id: name, name })))
    await clock.advance('20s')
    expect((await run).map((outcome) => outcome.status === 'failure' && outcome.failure.code)).toEqual([
      'deadline_exceeded',
      'deadline_exceeded',
      'tool_error',
    ])
    expect(tries).toBe(3)
  })

  test('SCHED-1 TIME-4: a retried barrier keeps its position in the batch order', async () => {
    const order: string[] = []
    const write = simpleTool(
      'write',
      (_, ctx) => (order.push(`write ${ctx.attempt}`), ctx.attempt < 2 ? Promise.reject(retry({ after: '1s' })) : 1),
    )
    const read = readOnlyTool('read', () => order.push('read'))
    const { runtime, clock } = await start([write, read])
    const run = runtime.session('s').run([
      { id: 'w', name: 'write' },
      { id: 'r', name: 'read' },
    ])
    await clock.advance('5s')
    await run
    expect(order).toEqual(['write 1', 'write 2', 'read'])
  })

  test('POL-8: budgets limit tool time and repeated invalid arguments', async () => {
    const slow = simpleTool('slow', () => new Promise<void>((resolve) => clock.timer(1_000, resolve)))
    const strict = tool({
      name: 'strict',
      description: 'Wants n',
      input: z.object({ n: z.number() }),
      execute: () => 1,
    })
    const { runtime, clock } = await start([slow, strict], { budgets: { session: { time: '1s', invalid: 2 } } })
    const codes: unknown[] = []
    for (const [n, name] of ['slow', 'slow', 'strict', 'strict', 'strict'].entries()) {
      const run = runtime.session('s').run([{ id: `c${n}`, name }], { batch: `m${n}` })
      await clock.advance('2s')
      const [outcome] = await run
      codes.push(outcome?.status === 'failure' ? outcome.failure.code : outcome?.status)
    }
    expect(codes).toEqual(['success', 'over_budget', 'invalid_arguments', 'invalid_arguments', 'over_budget'])
  })

  test('TIME-4: only safe failures are retried, and the last one is marked exhausted', async () => {
    const tries = { retry: 0, plain: 0, readOnly: 0, stubborn: 0 }
    const tools = [
      simpleTool('safe', { concurrency: 'parallel' }, () =>
        ++tries.retry < 3 ? Promise.reject(retry({ after: '2s' })) : 'third time',
      ),
      simpleTool('plain', { concurrency: 'parallel' }, () => (tries.plain++, Promise.reject(fail('No')))),
      readOnlyTool(
        'reader',
        { retry: { attempts: 4, base: '1s' } },
        () => (tries.readOnly++, Promise.reject(new Error('down'))),
      ),
      simpleTool(
        'stubborn',
        { concurrency: 'parallel' },
        () => (tries.stubborn++, Promise.reject(retry({ message: 'Busy', after: '90s' }))),
      ),
    ]
    const { runtime, clock } = await start(tools)
    const run = runtime.session('s').run(['safe', 'plain', 'reader', 'stubborn'].map((name) => ({ id: name, name })))
    await clock.advance('2m')
    const [safe, plain, reader, stubborn] = await run
    expect(safe).toMatchObject({ value: 'third time', attempts: 3 })
    expect(plain).toMatchObject({ attempts: 1, failure: { retry: { when: 'never' } } })
    expect(reader).toMatchObject({
      attempts: 4,
      failure: { class: 'internal', retry: { when: 'exhausted', attempts: 4 } },
    })
    expect(stubborn).toMatchObject({
      attempts: 3,
      failure: { message: 'Busy', retry: { when: 'exhausted', attempts: 3 } },
    })
    expect(tries).toEqual({ retry: 3, plain: 1, readOnly: 4, stubborn: 3 })
  })

  test('TIME-4 DUR-1: a retry replays recorded steps and runs failed steps again', async () => {
    const ran: string[] = []
    const work = argumentTool(
      'work',
      z.object({ who: z.string() }),
      {
        description: 'Fails in its second step, twice',
        onCrash: 'rerun',
        concurrency: 'parallel',
      },
      async ({ who }, ctx) => {
        const one = await ctx.step('one', () => (ran.push(`${who} one`), who))
        await ctx.step('two', () => {
          ran.push(`${who} two`)
          if (ctx.attempt < 3) throw retry({ after: '1s' })
        })
        return { one, keys: ctx.idempotencyKey }
      },
    )
    const { runtime, clock } = await start([work])
    const run = runtime.session('s').run(['a', 'b'].map((who) => ({ id: who, name: 'work', input: { who } })))
    await clock.advance('10s')
    expect(
      (await run).map((outcome) => outcome.status === 'success' && (outcome.value as { one: string }).one),
    ).toEqual(['a', 'b'])
    expect(ran.filter((each) => each === 'a one')).toHaveLength(1)
    expect(ran.filter((each) => each === 'b two')).toHaveLength(3)
  })

  test('TIME-4: an attempt that may still run is retried only if the tool is harmless', async () => {
    let harmless = 0
    let harmful = 0
    const tools = [
      readOnlyTool('harmless', { timeout: '1s', retry: { attempts: 2, base: 1 } }, () => (harmless++, hang())),
      simpleTool(
        'harmful',
        {
          concurrency: 'parallel',
          timeout: '1s',
          retry: { attempts: 2, base: 1 },
        },
        () => (harmful++, hang()),
      ),
    ]
    const { runtime, clock } = await start(tools)
    const run = runtime.session('s').run(['harmless', 'harmful'].map((name) => ({ id: name, name })))
    await clock.advance('10s')
    await run
    expect([harmless, harmful]).toEqual([2, 1])
  })

  test('TIME-5: the idempotency key is equal for all attempts and different for other calls', async () => {
    const seen: string[][] = []
    const keyed = simpleTool('keyed', { description: 'Looks at its keys' }, (_, ctx) => {
      seen.push([ctx.idempotencyKey, ctx.key('a'), ctx.key('b')])
      if (ctx.attempt < 2) throw retry({ after: 1 })
    })
    const { runtime, clock } = await start([keyed])
    const run = runtime.session('s').run([
      { id: 'x', name: 'keyed' },
      { id: 'y', name: 'keyed' },
    ])
    await clock.advance('1s')
    await run
    const [x1, x2, y1, y2] = seen.toSorted((p, q) => (p[0] as string).localeCompare(q[0] as string)) as [
      string[],
      string[],
      string[],
      string[],
    ]
    expect(x1).toEqual(x2)
    expect(y1).toEqual(y2)
    expect(new Set([...x1, ...y1]).size).toBe(6)
  })
})
