// Tool definitions, listings and names, and the order of the stages of a call.

import { type Hook, PawlError, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { toolset } from '../../src/tools/toolset.ts'
import { argumentTool, simpleTool } from '../kit/simple-tools.ts'
import { onEachStore } from '../kit/stores/local-stores.ts'

const empty = z.object({})
const named = (name: string, more: object = {}) =>
  tool({ name, description: `The ${name}`, input: empty, execute: () => name, ...more })

describe('tool definitions', () => {
  test.for([
    [{ name: '' }, /name/],
    [{ name: 'has space' }, /name/],
    [{ name: 'x'.repeat(65) }, /name/],
    [{ description: ' ' }, /description/],
    [{ execute: 1 }, /`execute` is 1; it must be a function/],
    [{ prepare: 1 }, /`prepare` is 1/],
    [{ onCrash: 'maybe' }, /`onCrash` is 'maybe'/],
    [{ onCrash: 'rerun', reconcile: () => undefined }, /is never called/],
    [{ timeout: 'soon' }, /`timeout` is 'soon'; it must be a duration/],
    [{ timeout: 0 }, /zero/],
    [{ timeout: { forever: '1s' } }, /`timeout` has no option `forever`/],
    [{ retry: { attempts: 0 } }, /`retry.attempts` is 0/],
    [{ concurrency: 'sometimes' }, /`concurrency` is 'sometimes'/],
    [{ limits: { concurrent: -1 } }, /`limits.concurrent` is -1/],
    [{ input: 7 }, /input/],
  ] as [object, RegExp][])('TOOL-1 TOOL-6: %j is rejected when the tool is defined', ([wrong, says]) => {
    const define = (): unknown => named('fine', wrong)
    expect(define).toThrow(says)
    expect(define).toThrow(PawlError)
  })

  test('TOOL-4: toolset() rejects duplicates, lets upper layers shadow and sorts its listings', () => {
    expect(() => toolset([named('a'), named('a')])).toThrow(expect.objectContaining({ code: 'tool_duplicate' }))
    const upper = named('a', { description: 'Another a' })
    const set = toolset([named('b'), named('a')], [upper, named('c', { internal: true })])
    expect(set.get('a')).toBe(upper)
    expect(set.offered).toEqual(['a', 'b'])
    expect(set.entries.map(({ name }) => name)).toEqual(['a', 'b', 'c'])
    expect(set.get('__proto__')).toBeUndefined()
    expect(set.get('constructor')).toBeUndefined()
    expect(named('a').fingerprint).toBe(named('a').fingerprint)
    expect(upper.fingerprint).not.toBe(named('a').fingerprint)
    expect(named('a', { version: '2' }).fingerprint).not.toBe(named('a').fingerprint)
  })
})

onEachStore('tools', (bench) => {
  test('TOOL-3: internal tools and prototype names are unavailable to a model', async () => {
    const runtime = await bench.open([named('hidden', { internal: true }), named('shown')])
    const session = runtime.session('s')
    expect(session.tools.map(({ name }) => name)).toEqual(['shown'])
    const outcomes = await session.run(
      ['hidden', '__proto__', 'constructor', 'toString', 'Shown'].map((name, n) => ({ id: `c${n}`, name })),
    )
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ failure: { class: 'unavailable', code: 'tool_unavailable' } })
    expect(outcomes[4]).toMatchObject({ failure: { message: expect.stringContaining("'shown'") } })
  })

  test('CALL-1: the stages of a call run in the documented order', async () => {
    const order: string[] = []
    const traced = tool({
      name: 'traced',
      description: 'Tells its stages',
      input: z.object({ n: z.number() }).refine(() => order.push('validate')),
      output: z.number().refine(() => order.push('check output')),
      prepare: () => (order.push('prepare'), { input: { n: 2 } }),
      concurrency: { key: () => (order.push('queue'), 'k') },
      execute: ({ n }) => (order.push('attempt'), n),
    })
    const hook: Hook = {
      name: 'trace',
      before: () => void order.push('before'),
      after: () => void order.push('after'),
    }
    const policy = { decide: () => (order.push('policy'), undefined) }
    const runtime = await bench.open([traced], { hooks: [hook], policy })
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'traced', input: { n: 1 } }])
    expect(outcome).toMatchObject({ value: 2 })
    expect(order).toEqual([
      'before',
      'validate',
      'prepare',
      'validate',
      'policy',
      'queue',
      'attempt',
      'after',
      'check output',
    ])
  })

  test('CALL-1 POL-2: approval comes after policy and before the queue, and policy runs again', async () => {
    const order: string[] = []
    const traced = tool({
      name: 'traced',
      description: 'Tells its stages',
      input: empty,
      approval: () => (order.push('approval'), 'always'),
      concurrency: { key: () => (order.push('queue'), 'k') },
      execute: () => void order.push('attempt'),
    })
    const policy = { decide: () => (order.push('policy'), undefined) }
    const hook: Hook = { name: 'trace', before: () => void order.push('before'), after: () => void order.push('after') }
    const runtime = await bench.open([traced], { policy, hooks: [hook] })
    const session = runtime.session('s')
    await session.run([{ id: 'a', name: 'traced' }], { until: 'waiting' })
    expect(order).toEqual(['before', 'policy', 'approval'])
    const [item] = await runtime.inbox()
    await runtime.decide(item?.id ?? '', { approve: true, by: 'user:ada' })
    expect(await session.run([{ id: 'a', name: 'traced' }])).toMatchObject([{ status: 'success' }])
    expect(order.slice(3).join()).toMatch(/^(policy|approval|,)*,queue,attempt,after$/)
    expect(order.slice(3)).toContain('policy')
  })

  test('CALL-9: ctx identifies the call, its session and the attempt', async () => {
    let seen: Record<string, unknown> = {}
    const looks = tool({
      name: 'looks',
      description: 'Looks around',
      input: empty,
      retry: { attempts: 4 },
      execute(_, ctx) {
        const { tenant, session, principal, batch, callId, attempt, maxAttempts, prepared } = ctx
        seen = {
          tenant,
          session,
          principal,
          batch,
          callId,
          attempt,
          maxAttempts,
          prepared,
          aborted: ctx.signal.aborted,
        }
      },
    })
    const runtime = await bench.open([looks])
    await runtime.session('s', { tenant: 't', principal: 'user:ada' }).run([{ id: 'c', name: 'looks' }], { batch: 'b' })
    const expected = {
      tenant: 't',
      session: 's',
      principal: 'user:ada',
      batch: 'b',
      callId: 'c',
      attempt: 1,
      maxAttempts: 4,
      prepared: null,
      aborted: false,
    }
    expect(seen).toEqual(expected)
  })

  test('CALL-6: an idempotency key identifies a call in any batch; other content is a conflict', async () => {
    let runs = 0
    const pay = argumentTool(
      'pay',
      z.object({ cents: z.number() }),
      {},
      ({ cents }, ctx) => (runs++, `${ctx.callId} ${cents}`),
    )
    const runtime = await bench.open([pay])
    const session = runtime.session('s')
    const ask = (id: string, cents: number, batch: string) =>
      session.run([{ id, name: 'pay', input: { cents }, idempotencyKey: 'order-7' }], { batch })
    const [first] = await ask('a', 1, 'm1')
    const [again] = await ask('b', 1, 'm2')
    expect(first).toMatchObject({ value: 'a 1', callId: 'a' })
    expect(again).toMatchObject({ value: 'a 1', callId: 'b' })
    expect((await ask('c', 2, 'm3'))[0]).toMatchObject({ failure: { code: 'call_conflict' } })
    expect(runs).toBe(1)
  })

  test('VAL-8: names and arguments over their limits are rejected with typed errors', async () => {
    const runtime = await bench.open([named('shown')])
    const long = 'x'.repeat(513)
    await expect(runtime.session('s').run([{ id: long, name: 'shown' }])).rejects.toMatchObject({
      code: 'call_invalid',
    })
    expect(() => runtime.session(long)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    const [outcome] = await runtime
      .session('s')
      .run([{ id: 'a', name: 'shown', input: { big: 'x'.repeat(2_000_000) } }])
    expect(outcome).toMatchObject({ failure: { class: 'invalid_request', code: 'invalid_arguments' } })
  })

  test('POL-1 POL-8: policy and budgets are checked before the body runs', async () => {
    const ran: string[] = []
    const wipe = simpleTool('wipe', { hints: { destructive: true }, concurrency: 'parallel' }, () => ran.push('wipe'))
    const read = tool({
      name: 'read',
      description: 'Reads',
      input: empty,
      hints: { readOnly: true },
      execute: () => ran.push('read'),
    })
    const runtime = await bench.open([wipe, read], { budgets: { session: { calls: 2 } } })
    const [asked] = await runtime.session('s', { attended: false }).run([{ id: 'a', name: 'wipe' }])
    expect(asked).toMatchObject({
      failure: { class: 'permission_denied', code: 'approval_required', source: 'policy' },
      attempts: 0,
    })
    const more = await runtime.session('s').run([1, 2, 3].map((n) => ({ id: `r${n}`, name: 'read' })))
    expect(more.map((outcome) => (outcome.status === 'failure' ? outcome.failure.code : outcome.status))).toEqual([
      'success',
      'success',
      'over_budget',
    ])
    await runtime.close()
    const open = await bench.open([wipe, read], {
      policy: {
        rules: [
          { tool: 'wipe', then: 'allow' },
          { tool: 'read', then: 'deny', reason: 'Nothing may be read.' },
        ],
      },
    })
    const [wiped, denied] = await open.session('other').run([
      { id: 'w', name: 'wipe' },
      { id: 'd', name: 'read' },
    ])
    expect(wiped?.status).toBe('success')
    expect(denied).toMatchObject({
      failure: { code: 'denied_by_policy', message: expect.stringContaining('Nothing may be read.') },
    })
    expect(ran).toEqual(['read', 'read', 'wipe'])
  })
})
