// Host callbacks (hooks, policies, schemas, prepare, reconcile, loggers): none is awaited without a limit, and none can
// silently change the result of another.

import { fail, type Hook, type Logger, type Outcome, tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { containStrayErrors } from '../../src/calls/async-context.ts'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { hang } from '../kit/simple-tools.ts'

const empty = z.object({})

onEachStore('host callbacks', (bench) => {
  let clock: ManualClock
  let ran: number
  beforeEach(() => {
    clock = manualClock()
    ran = 0
  })
  const plain = (more: object = {}) =>
    tool({ name: 'plain', description: 'Plain', input: empty, execute: () => ++ran, ...more })
  /** Runs one call for two and a half minutes of manual time without a cancel. */
  const left = async (more: object, options: object = {}) => {
    const runtime = await bench.open([plain(more)], { clock, ...options })
    const run = runtime.session('s').run([{ id: 'the-call', name: 'plain' }])
    let over = false
    void run.then(() => (over = true))
    await clock.advance('29s')
    const early = over
    await clock.advance('2m')
    return { early, end: (await run)[0] }
  }
  const logged = () => bench.logged.filter(({ level }) => level === 'error')

  describe('callbacks that never return', () => {
    test('CALL-8 TIME-1: a hanging before hook denies the call after 30 s and is named in the log', async () => {
      const { early, end } = await left({}, { hooks: [{ name: 'slow', before: hang }] })
      expect([early, ran]).toEqual([false, 0])
      expect(end).toMatchObject({ failure: { code: 'denied_by_hook', source: 'hook' }, attempts: 0 })
      expect(logged()).toMatchObject([{ fields: { hook: 'slow', tool: 'plain', callId: 'the-call' } }])
    })

    test('CALL-8 TIME-1: a hanging after hook is skipped after 30 s', async () => {
      const { early, end } = await left({}, { hooks: [{ name: 'slow', after: hang }] })
      expect([early, end]).toMatchObject([false, { status: 'success', value: 1 }])
      expect(logged()).toMatchObject([{ fields: { hook: 'slow', callId: 'the-call' } }])
    })

    test('POL-1 TIME-1: a hanging policy function denies the call after 30 s', async () => {
      const { end } = await left({}, { policy: { decide: hang } })
      expect([end, ran]).toMatchObject([{ failure: { code: 'denied_by_policy' } }, 0])
      expect(logged()).toMatchObject([{ fields: { callId: 'the-call' } }])
    })

    test('TOOL-7 TIME-1: a hanging output schema fails the call after 30 s', async () => {
      const { end } = await left({ output: z.number().refine(hang) })
      expect([end, ran]).toMatchObject([{ failure: { class: 'internal', code: 'invalid_output' } }, 1])
    })

    test('CALL-4 TIME-1: a hanging input schema fails the call after 30 s or at its deadline', async () => {
      const { end } = await left({ input: empty.refine(hang) })
      expect([end, ran]).toMatchObject([{ failure: { class: 'internal', code: 'internal_error' } }, 0])
      expect(logged()).toMatchObject([{ fields: { tool: 'plain', callId: 'the-call' } }])
      const runtime = await bench.open([plain({ input: empty.refine(hang) })], { clock })
      const run = runtime.session('s').run([{ id: 'b', name: 'plain', timeout: { total: '1s' } }])
      await clock.advance('1s')
      expect(await run).toMatchObject([{ failure: { code: 'deadline_exceeded' } }])
    })

    test('CALL-7 TIME-1: prepare has the attempt timeout and gets an abort signal', async () => {
      const { end } = await left({ prepare: hang, timeout: '40s' })
      expect([end, ran]).toMatchObject([
        { failure: { class: 'timeout', code: 'attempt_timeout', mayStillRun: true }, attempts: 0 },
        0,
      ])
      const listens = (_: object, ctx: { signal: AbortSignal }) =>
        new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('stopped'))))
      const runtime = await bench.open([plain({ prepare: listens })], { clock })
      const call = runtime.session('s').call(plain(), {}, { id: 'b' })
      await clock.advance('1s')
      await call.cancel('No longer needed')
      const cancelled = await call.outcome
      expect(cancelled).toMatchObject({ status: 'cancelled', cancellation: { message: 'No longer needed' } })
      expect(JSON.stringify(cancelled)).not.toContain('mayStillRun')
    })

    test('TIME-1: callbacks that return leave no timer behind', async () => {
      const soon = <T>(value: T): Promise<T> => new Promise((resolve) => setImmediate(() => resolve(value)))
      const hooks: Hook[] = [{ name: 'h', before: () => soon(undefined), after: () => soon(undefined) }]
      const tools = [
        plain({
          input: empty.refine(() => soon(true)),
          output: z.number().refine(() => soon(true)),
          prepare: () => soon({}),
        }),
      ]
      const runtime = await bench.open(tools, { clock, hooks, policy: { decide: () => soon('allow' as const) } })
      const before = clock.pending
      expect(await runtime.session('s').run([{ id: 'a', name: 'plain', timeout: { total: '1h' } }])).toMatchObject([
        { value: 1 },
      ])
      expect(clock.pending).toBe(before)
    })
  })

  describe('several hooks', () => {
    const note = z.object({ text: z.string(), locale: z.string().optional() })
    const says = tool({ name: 'says', description: 'Says', input: note, execute: (input) => input })
    const sets = (name: string, more: object): Hook => ({
      name,
      before: ({ input }) => ({ replace: { ...(input as object), ...more } }),
    })
    const ask = async (hooks: readonly Hook[]) => {
      const runtime = await bench.open([says], { hooks })
      return (await runtime.session(`s${++ran}`).run([{ id: 'a', name: 'says', input: { text: 'secret' } }]))[0]
    }

    test('CALL-8: before hooks merge their replacements in any order of registration', async () => {
      const both = [sets('redact', { text: '***' }), sets('locale', { locale: 'de' })]
      expect(await ask(both)).toMatchObject({ value: { text: '***', locale: 'de' } })
      expect(await ask(both.toReversed())).toMatchObject({ value: { text: '***', locale: 'de' } })
    })

    test('CALL-8: conflicting replacements deny the call, and a hook may deny a merged input', async () => {
      expect(await ask([sets('a', { text: 'a' }), sets('b', { text: 'b' })])).toMatchObject({
        failure: { code: 'denied_by_hook', message: "Refused by 'a': it and 'b' want different arguments" },
      })
      const looks: Hook = {
        name: 'looks',
        before: ({ input }) => ('locale' in (input as object) ? { deny: 'no locales' } : undefined),
      }
      expect(await ask([sets('locale', { locale: 'de' }), looks])).toMatchObject({
        failure: { message: "Refused by 'looks': no locales" },
      })
    })

    test('CALL-8: after hooks run in name order, each on the outcome of the previous one', async () => {
      const adds = (name: string): Hook => ({
        name,
        after: (_, outcome) =>
          outcome.status === 'success' ? { replace: { ...outcome, value: [outcome.value, name].flat() } } : undefined,
      })
      const runtime = await bench.open([plain({ execute: () => [] })], { hooks: [adds('c'), adds('a'), adds('b')] })
      expect(await runtime.session('s').run([{ id: 'a', name: 'plain' }])).toMatchObject([{ value: ['a', 'b', 'c'] }])
    })

    test('CALL-8: mutating the outcome inside an after hook has no effect', async () => {
      const spoils: Hook = {
        name: 'spoils',
        after: (_, outcome) =>
          void (outcome.status === 'success' && ((outcome.value as { items: string[] }).items.length = 0)),
      }
      const runtime = await bench.open([plain({ execute: () => ({ items: ['a'] }) })], { hooks: [spoils] })
      expect(await runtime.session('s').run([{ id: 'a', name: 'plain' }])).toMatchObject([{ value: { items: ['a'] } }])
    })

    test.for([
      ['no status', { redacted: true }],
      ['another status', { status: 'done', value: 1 }],
      ['a failure without a class', { status: 'failure', failure: { code: 'x', message: 'y' } }],
      ['a cancellation without a message', { status: 'cancelled', cancellation: {} }],
      ['an unknown without a beginning', { status: 'unknown', unknown: { message: 'x' } }],
      ['a control that does not exist', { status: 'success', value: 1, control: { finnish: 1 } }],
      ['what has no recorded form', { status: 'success', value: Number.NaN }],
      ['nothing', undefined],
    ] as const)('CALL-2 CALL-8: an after hook that replaces the outcome with %s is ignored', async ([, replace]) => {
      const runtime = await bench.open([plain()], {
        hooks: [{ name: 'odd', after: () => ({ replace: replace as never }) }],
      })
      expect(await runtime.session('s').run([{ id: 'a', name: 'plain' }])).toMatchObject([
        { status: 'success', value: 1 },
      ])
      expect(logged()).toMatchObject([{ fields: { hook: 'odd', callId: 'a' } }])
    })

    test('CALL-8: an after hook may return any kind of outcome and omit optional failure fields', async () => {
      const given: unknown[] = [
        { status: 'failure', failure: { class: 'external', code: 'x', message: 'y' } },
        { status: 'cancelled', cancellation: { message: 'y' } },
        { status: 'unknown', unknown: { message: 'y', startedAt: 7 } },
        { status: 'success', control: { fail: { class: 'external', code: 'x', message: 'y' } } },
      ]
      const hook: Hook = { name: 'all', after: ({ callId }) => ({ replace: given[Number(callId)] as Outcome }) }
      const runtime = await bench.open([plain({ concurrency: 'parallel' })], { hooks: [hook] })
      expect(await runtime.session('s').run(given.map((_, id) => ({ id: `${id}`, name: 'plain' })))).toMatchObject([
        { failure: { class: 'external', code: 'x', message: 'y', source: 'hook', retry: { when: 'never' } } },
        { cancellation: { message: 'y', source: 'hook' } },
        { unknown: { message: 'y', startedAt: 7, evidence: null } },
        { value: null, control: { fail: { code: 'x' } } },
      ])
    })
  })

  test('CALL-2: a logger that rejects asynchronously does not fail the call', async () => {
    const broken = (): never => Promise.reject(new Error('disk full')) as never
    const logger: Logger = { debug: broken, info: broken, warn: broken, error: broken }
    const throws = plain({ execute: () => Promise.reject(new Error('x')) })
    const runtime = await bench.open([throws], { logger })
    expect(await runtime.session('s').run([{ id: 'a', name: 'plain' }])).toMatchObject([
      { failure: { class: 'internal' } },
    ])
    await new Promise((resolve) => setImmediate(resolve)) // an unhandled rejection would fail the test run
  })

  test('VAL-2: fail() makes a valid failure from a text with a lone surrogate', () => {
    const odd = fail('cut \ud83d')
    expect(odd.failure).toMatchObject({ class: 'execution', code: 'tool_error', message: 'cut \ufffd' })
    expect(fail('x', { class: 'external', code: 'down' }).failure).toMatchObject({ class: 'external', code: 'down' })
  })

  test('CALL-6: empty batch names and names with the reserved prefix are rejected', async () => {
    const runtime = await bench.open([plain()])
    const s = runtime.session('s')
    for (const batch of ['pawl:key', '']) {
      await expect(s.run([{ id: 'a', name: 'plain' }], { batch })).rejects.toMatchObject({ code: 'call_invalid' })
      expect(() => s.call(plain(), {}, { batch })).toThrow(expect.objectContaining({ code: 'call_invalid' }))
    }
    await expect(s.run({} as never)).rejects.toMatchObject({ code: 'call_invalid' })
  })

  test('CALL-2: a misspelt call field is rejected with a suggestion; provider fields are ignored', async () => {
    const runtime = await bench.open([plain()])
    const s = runtime.session('s')
    const ask = (more: object) => s.run([{ id: 'a', name: 'plain', ...more }])
    await expect(ask({ idempotencykey: 'x' })).rejects.toThrow(
      "unknown field 'idempotencykey'; did you mean 'idempotencyKey'",
    )
    await expect(ask({ timout: '1s' })).rejects.toThrow("did you mean 'timeout'")
    expect(await ask({ type: 'tool_use', cache_control: null, index: 0 })).toMatchObject([{ status: 'success' }])
  })

  test('CALL-6: arguments with another key order are the same call', async () => {
    const takes = plain({ input: z.object({ a: z.number(), b: z.object({ c: z.number(), d: z.number() }) }) })
    const runtime = await bench.open([takes])
    const ask = (input: unknown) => runtime.session('s').run([{ id: 'a', name: 'plain', input }])
    expect(await ask({ a: 1, b: { c: 2, d: 3 } })).toMatchObject([{ value: 1 }])
    expect(await ask('{"b": {"d": 3, "c": 2}, "a": 1}')).toMatchObject([{ value: 1 }])
    expect(await ask({ a: 1, b: { c: 3, d: 2 } })).toMatchObject([{ failure: { code: 'call_conflict' } }])
    expect(ran).toBe(1)
  })
})

test('CALL-11: containment is released with its last holder and leaves no listener', () => {
  const listeners = (): number =>
    process.listenerCount('uncaughtException') + process.listenerCount('unhandledRejection')
  const before = { emit: process.emit, listeners: listeners() }
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const [one, two] = [containStrayErrors(logger), containStrayErrors(logger)]
  expect([process.emit === before.emit, listeners()]).toEqual([false, before.listeners])
  one()
  one()
  expect(process.emit === before.emit).toBe(false)
  two()
  expect(process.emit === before.emit).toBe(true)
})
