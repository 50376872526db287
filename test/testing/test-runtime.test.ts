// The testing toolkit: testRuntime, misbehaving tools and scriptedModel.

import { type CallOutcome, tool } from 'pawl'
import { failingTool, flakyTool, hangingTool, manualClock, scriptedModel, slowTool, testRuntime } from 'pawl/testing'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { rerunTool } from '../kit/simple-tools.ts'

describe('testRuntime', () => {
  test('KIT-1: testRuntime has a memory store and a clock that only the test advances', async () => {
    const nap = rerunTool('nap', async (_, ctx) => {
      ctx.log.info('asleep')
      await ctx.sleep('3d')
      return ctx.now()
    })
    const { runtime, clock, session, logged } = await testRuntime({ tools: [nap] })
    const begun = clock.now()
    const run = session.run([{ id: 'a', name: 'nap' }])
    await clock.advance('2d')
    expect(logged).toMatchObject([{ level: 'info', message: 'asleep', fields: { tool: 'nap' } }])
    expect(clock.pending).toBe(1)
    await clock.advance('1d')
    expect(await run).toMatchObject([{ value: begun + 3 * 86_400_000 }])
    expect(session.id).toBe('test')
    await runtime.close()
  })

  test('KIT-1: testRuntime accepts the options of createRuntime and a given clock', async () => {
    const clock = manualClock(5)
    const told: string[] = []
    const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => void told.push(message) }
    const given = await testRuntime({
      clock,
      logger,
      tools: [failingTool({ throws: new Error('no') })],
      budgets: { session: { calls: 1 } },
    })
    expect(given.clock).toBe(clock)
    const outcomes = await given.session.run([
      { id: 'a', name: 'failing' },
      { id: 'b', name: 'failing' },
    ])
    expect(outcomes).toMatchObject([{ failure: { code: 'internal_error' } }, { failure: { code: 'over_budget' } }])
    expect([told, given.logged]).toEqual([['A tool threw'], []])
    await given.runtime.close()
    await expect(testRuntime({ tols: [] } as never)).rejects.toMatchObject({ code: 'config_invalid' })
  })
})

describe('misbehaving tools', () => {
  test('KIT-1: failingTool fails with the given failure or throws', async () => {
    const tools = [
      failingTool({ message: 'No such order', code: 'not_found', class: 'invalid_request', concurrency: 'parallel' }),
      failingTool({ name: 'plain', concurrency: 'parallel' }),
      failingTool({ name: 'rude', throws: null, concurrency: 'parallel' }),
    ]
    const { runtime, session, logged } = await testRuntime({ tools })
    const [failing, plain, rude] = await session.run(tools.map(({ name }) => ({ id: name, name })))
    expect(failing).toMatchObject({
      failure: { class: 'invalid_request', code: 'not_found', message: 'No such order', source: 'tool' },
    })
    expect(plain).toMatchObject({
      failure: { class: 'execution', code: 'tool_error', message: 'This tool always fails' },
    })
    expect(rude).toMatchObject({ failure: { class: 'internal', code: 'internal_error' } })
    expect(logged).toMatchObject([{ level: 'error', fields: { tool: 'rude' } }])
    await runtime.close()
  })

  test('KIT-1: hangingTool never returns and observes its signal only with `listens`', async () => {
    const more = { timeout: '1s', concurrency: 'parallel' } as const
    const { runtime, clock, session } = await testRuntime({
      tools: [hangingTool(more), hangingTool({ ...more, name: 'listening', listens: true })],
    })
    const run = session.run([
      { id: 'a', name: 'hanging' },
      { id: 'b', name: 'listening' },
    ])
    await clock.advance('2s')
    const [deaf, polite] = await run
    expect(deaf).toMatchObject({ failure: { code: 'attempt_timeout', mayStillRun: true } })
    expect(polite).toMatchObject({ failure: { code: 'attempt_timeout' } })
    expect(polite).not.toHaveProperty('failure.mayStillRun')
    await runtime.close()
  })

  test('KIT-1: flakyTool fails the given number of times per call and then succeeds', async () => {
    const flaky = flakyTool({ failures: 4, after: '10s', value: { rows: 3 } })
    const { runtime, clock, session } = await testRuntime({
      tools: [flaky, flakyTool({ name: 'hopeless', failures: 4, retry: { attempts: 2 } })],
    })
    for (const id of ['a', 'b']) {
      const call = session.call(flaky, {}, { id })
      const begun = clock.now()
      await clock.advance('40s')
      expect(await call.outcome).toMatchObject({ status: 'success', value: { rows: 3 }, attempts: 5 })
      expect(clock.now() - begun).toBe(40_000)
      expectTypeOf(call.outcome).resolves.toEqualTypeOf<CallOutcome<{ rows: number }>>()
    }
    const hopeless = session.run([{ id: 'c', name: 'hopeless' }])
    await clock.advance('1m')
    expect(await hopeless).toMatchObject([
      { failure: { message: 'Attempt 2 failed', retry: { when: 'exhausted', attempts: 2 } } },
    ])
    await runtime.close()
  })

  test('KIT-1: slowTool takes its time on the clock and stops on cancel', async () => {
    const clock = manualClock()
    const slow = slowTool({ takes: '30s', clock, value: 7, timeout: '1m' })
    const { runtime, session } = await testRuntime({ tools: [slow], clock })
    const call = session.call(slow, {})
    let done = false
    void call.outcome.then(() => (done = true))
    await clock.advance(29_999)
    expect(done).toBe(false)
    await clock.advance(1)
    expect(await call.outcome).toMatchObject({ value: 7 })
    const stopped = session.call(slow, {})
    await clock.advance('1s')
    await stopped.cancel()
    expect(await stopped.outcome).toMatchObject({ status: 'cancelled' })
    expect(await stopped.outcome).not.toHaveProperty('cancellation.mayStillRun')
    expect(clock.pending).toBe(0)
    await runtime.close()
  })
})

describe('scriptedModel', () => {
  test('KIT-1: scriptedModel answers by script or function, calls tools, fails and counts', async () => {
    const weather = tool({
      name: 'weather',
      description: 'Weather',
      input: z.object({ city: z.string() }),
      execute: ({ city }) => (city === 'Oslo' ? 'snow' : 'sun'),
    })
    const model = scriptedModel([
      { when: 'snow', say: 'Take a coat', fails: { times: 1 } },
      { think: 'Where?', call: { name: 'weather', input: { city: 'Oslo' } } },
      ({ last }) => ({ say: `You said: ${last}` }),
    ])
    const { runtime, session, clock } = await testRuntime({ tools: [weather] })
    const first = session.turn({ model, message: 'What do I wear?' }).outcome
    await clock.advance('1m')
    expect(await first).toMatchObject({ status: 'success', value: { text: 'Take a coat', steps: 2 } })
    expect(await session.turn({ model, message: 'Thanks' }).outcome).toMatchObject({
      value: { text: 'You said: Thanks' },
    })
    expect(model.asked).toBe(4)
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['weather'])
    const end = await session.turn({ model, message: 'More' }).outcome
    expect(end).toMatchObject({
      status: 'failure',
      failure: { message: expect.stringContaining('the script has no line for') as string },
    })
    await runtime.close()
  })

  test.for<[unknown, string]>([
    [[{ calls: [] }], '`lines[0]` has no option `calls`; did you mean `call`?'],
    [['ok', { cal: { name: 'a' } }], '`lines[1]` has no option `cal`; did you mean `call`?'],
    [[{ text: 'hi' }], '`lines[0]` has no option `text`; its options are `when`, `say`'],
    [[{ call: { nam: 'a' } }], '`lines[0].call` has no option `nam`; did you mean `name`?'],
    [[{ call: [{ input: {} }] }], '`lines[0].call[0].name` is missing'],
    [[5], '`lines[0]` is 5; it must be a string, a function or an object.'],
    [5, '`lines` is 5; it must be an array.'],
  ])('KIT-1: scriptedModel(%j) is refused when it is made', ([lines, sentence]) => {
    expect(() => scriptedModel(lines as never)).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(sentence) }),
    )
  })

  test('KIT-1: a function of a script that returns a malformed answer fails the turn', async () => {
    const { runtime, session } = await testRuntime()
    const model = scriptedModel([() => ({ cal: { name: 'a' } }) as never])
    expect(await session.turn({ model, message: 'Hi' }).outcome).toMatchObject({
      status: 'failure',
      failure: { message: expect.stringContaining('did you mean `call`?') as string },
    })
    await runtime.close()
  })
})
