// From the first attempt to the outcome: results, failures, retries, timeouts, cancels, steps, sleeps, batches and
// queues.

import { fail, result, retry, type RuntimeOptions, type Tool } from 'pawl'
import { failingTool, flakyTool, hangingTool } from 'pawl/testing'
import type { Scenario, World } from '../scenario.ts'
import { batch, calls, never, work } from './kit.ts'

const run =
  (
    tools: readonly Tool[],
    asked: readonly object[] = calls,
    how: object = {},
    options: Partial<RuntimeOptions> = {},
  ): Scenario =>
  async (world: World) => {
    const runtime = await world.run(tools, options)
    return world.outcome(runtime.session('s').run(asked as typeof calls, { ...batch, ...how }))
  }
const rerun = { onCrash: 'rerun', timeout: '10h' } as const
const named = (...names: string[]): object[] =>
  names.map((name, index) => ({ id: String.fromCharCode(97 + index), name, input: {} }))

export const attempts: Readonly<Record<string, Scenario>> = {
  success: run([work(() => ({ done: true }))]),
  'a result with parts, cost and an attachment': run([
    work((_, ctx) => {
      const file = ctx.attachments.create('hello', { mediaType: 'text/plain', name: 'hello.txt' })
      return result({ file }, { cost: 3 })
    }),
  ]),
  failure: run([failingTool({ name: 'work', message: 'Out of stock', code: 'out_of_stock' })]),
  'an internal error': async (world) => {
    const runtime = await world.run([failingTool({ name: 'work', throws: new TypeError('broken') })])
    await world.outcome(runtime.session('s').run(calls, batch))
    let call = ''
    for await (const event of runtime.session('s').events()) {
      call = event.call
      break
    }
    const trouble = await runtime.diagnostics(call)
    return { ...trouble, causes: trouble?.causes.map((cause) => cause.split('\n')[0]) }
  },
  'retry, then success': run([flakyTool({ name: 'work', failures: 1, after: '2s' })]),
  'retries are used up': run([flakyTool({ name: 'work', failures: 9, retry: { attempts: 2, base: '1s' } })]),
  'a failure of the tool is not retried': run([
    work(
      (_, ctx) => {
        if (ctx.attempt === 1) throw fail('Busy', { class: 'unavailable', code: 'busy' })
        return ctx.attempt
      },
      { hints: { idempotent: true }, retry: { attempts: 3, base: '1s' } },
    ),
  ]),
  'the attempt times out': run([hangingTool({ name: 'work', timeout: '5s' })]),
  'the idle clock runs out': run([hangingTool({ name: 'work', timeout: { idle: '5s' } })]),
  'the total clock runs out between attempts': run([
    work(
      () => {
        throw retry({ after: '10s' })
      },
      { retry: { attempts: 5 }, timeout: { total: '12s' } },
    ),
  ]),
  'a call is cancelled by its session': async (world) => {
    const runtime = await world.run([hangingTool({ name: 'work', listens: true })])
    const running = runtime.session('s').run(calls, batch)
    await world.advance('1s')
    await runtime.session('s').cancel('Changed my mind', 'user:ada')
    await world.outcome(running)
  },
  'a body that does not stop is cancelled': async (world) => {
    const runtime = await world.run([hangingTool({ name: 'work' })])
    const stop = new AbortController()
    const running = runtime.session('s').run(calls, { ...batch, signal: stop.signal })
    await world.advance('1s')
    stop.abort(new Error('The caller left'))
    await world.outcome(running)
  },
  'a body ends after its timeout': async (world) => {
    const runtime = await world.run([
      work(
        async () => {
          await new Promise<void>((resolve) => world.clock.timer(20_000, resolve))
          return 'late'
        },
        { timeout: '5s' },
      ),
    ])
    await world.outcome(runtime.session('s').run(calls, batch))
    await world.advance('30s')
  },
  'the output does not match its schema': run([
    work(() => ({ n: 'one' }), { output: { type: 'object', properties: { n: { type: 'number' } } } }),
  ]),
  'the result is too large': run([work(() => 'x'.repeat(5_000))], calls, {}, { sizes: { result: 2_000 } }),
  'the value cannot be recorded': run([work(() => ({ big: 10n ** 30n, fn: () => 1 }))]),
  steps: run([
    work(async (_, ctx) => {
      const one = await ctx.step('one', { cents: 5 }, ({ cents }) => cents + 1)
      const two = await ctx.step('two', () => ({ one }), { once: true })
      return { two, uuid: ctx.uuid(), now: await ctx.now(), key: ctx.key('two'), random: ctx.random() }
    }, rerun),
  ]),
  'a step fails and the body catches it': run([
    work(async (_, ctx) => {
      const caught = await ctx
        .step('broken', () => {
          throw new Error('no route')
        })
        .catch((error: { code: string }) => error.code)
      return ctx.step('after', () => caught)
    }, rerun),
  ]),
  'a step is tried again and times out': run([
    work((_, ctx) => ctx.step('slow', never, { timeout: '1s', retry: { attempts: 2, delay: '1s' } }), rerun),
  ]),
  'a step fails in the first attempt and the second attempt goes on after it': run([
    work(
      async (_, ctx) => {
        const first = await ctx.step('first', () => ctx.attempt)
        await ctx.step('second', () => {
          if (ctx.attempt === 1) throw retry({ after: '1s' })
          return ctx.attempt
        })
        return first
      },
      { ...rerun, retry: { attempts: 2 } },
    ),
  ]),
  'two steps of one name': run([
    work(async (_, ctx) => {
      await ctx.step('same', () => 1)
      return ctx.step('same', () => 2)
    }, rerun),
  ]),
  sleeps: run([
    work(async (_, ctx) => {
      await ctx.sleep('2s')
      await ctx.sleep('1h')
      return 'awake'
    }, rerun),
  ]),
  'nested calls': run(
    [
      work(
        async (_, ctx) => {
          const outcomes = await ctx.run([
            { id: 'x', name: 'leaf', input: { n: 1 } },
            { id: 'y', name: 'leaf', input: { n: 2 } },
          ])
          return outcomes.map(({ status }) => status)
        },
        { ...rerun, name: 'tree' },
      ),
      work((input) => input, { name: 'leaf', hints: { readOnly: true } }),
    ],
    named('tree'),
  ),
  'a nested call fails': run(
    [
      work(async (_, ctx) => (await ctx.run([{ id: 'x', name: 'leaf' }])).map(({ status }) => status), {
        ...rerun,
        name: 'tree',
      }),
      failingTool({ name: 'leaf' }),
    ],
    named('tree'),
  ),
  'a batch with a barrier': run(
    [
      work((_, ctx) => ctx.callId, { name: 'read', hints: { readOnly: true } }),
      work((_, ctx) => ctx.callId, { name: 'write' }),
    ],
    named('read', 'read', 'write', 'read'),
  ),
  'a failure stops the batch': run(
    [
      work(never, { name: 'slow', concurrency: 'parallel' }),
      failingTool({ name: 'bad', concurrency: 'parallel' }),
      work(() => 1, { name: 'later' }),
    ],
    named('slow', 'bad', 'later'),
    { onFailure: 'stop' },
  ),
  'equal ids in one batch': run([work((input) => input)], [...calls, ...calls]),
  'exclusive and keyed calls': run(
    [
      work((_, ctx) => ctx.callId, { name: 'alone', concurrency: 'exclusive' }),
      work((_, ctx) => ctx.callId, { name: 'keyed', concurrency: { key: () => 'k' } }),
    ],
    named('keyed', 'keyed', 'alone'),
  ),
  'the queue clock runs out': run(
    [
      work(() => new Promise(() => {}), {
        timeout: { attempt: '20s', queue: '5s' },
        concurrency: 'parallel',
        limits: { concurrent: 1 },
      }),
    ],
    named('work', 'work'),
  ),
  'the queue is full': run(
    [hangingTool({ name: 'work', timeout: '5s', concurrency: 'parallel' })],
    named('work', 'work', 'work'),
    {},
    { limits: { perWorker: 1, waiting: 1 } },
  ),
  'a rate lets the second call wait': run(
    [work(() => 1, { concurrency: 'parallel', limits: { rate: { count: 1, per: '10s' } } })],
    named('work', 'work'),
  ),
  'the runtime closes while a body runs': async (world) => {
    const { runtime } = await world.open({ tools: [hangingTool({ name: 'work', onCrash: 'rerun', listens: true })] })
    void runtime
      .session('s')
      .run(calls, batch)
      .catch(() => {})
    await world.advance('1s')
    await world.outcome(runtime.close({ grace: '1s' }))
  },
}
