// A hostile model that sends a hundred calls at once, and answers without a matching request. Complements
// all-scripts.ts.

import { beforeEach, describe, expect, test, vi } from 'vitest'
import { PawlError, type Runtime } from 'pawl'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { makeWorld, policy, type World } from './target-runtime.ts'

const hundred = Array.from({ length: 100 }, (_, order) => order)
const bea = { by: 'user:bea' }
const codes = (ends: readonly { status: string; failure?: { code: string } }[]): string[] =>
  ends.map((end) => end.failure?.code ?? end.status)
const count = (list: readonly string[], what: string): number => list.filter((each) => each === what).length

onEachStore('call floods', (bench) => {
  const clock = manualClock()
  let world: World
  beforeEach(() => {
    world = makeWorld()
  })
  const opened = async (options: object = {}): Promise<Runtime> => {
    const runtime = await bench.open(world.tools, { policy, clock, ...options })
    world.runtime = runtime
    return runtime
  }
  const refund = (order: number, id = `c${order}`) => ({
    id,
    name: 'refund',
    input: { order: `A${order}`, cents: order },
  })

  test('POL-4: a hundred calls that need approval wait, and only the approved one runs', async () => {
    const runtime = await opened()
    const session = runtime.session('s')
    const ends = await session.run(hundred.map((order) => refund(order)), { batch: 'm', until: 'waiting' }) // prettier-ignore
    expect(count(codes(ends), 'waiting')).toBe(100)
    const items = await runtime.inbox({ limit: 1_000 })
    expect(new Set(items.map(({ fingerprint }) => fingerprint)).size).toBe(100)
    expect(world.effects.of('s')).toEqual([])
    const chosen = items[57]
    await runtime.decide(chosen?.id as string, { approve: true, ...bea })
    await vi.waitUntil(() => world.effects.count === 1, { interval: 1 })
    expect(world.effects.of('s')).toEqual([{ tool: 'refund', input: chosen?.args }])
    expect(await session.calls.list({ limit: 1_000 })).toHaveLength(100)
  })

  test('POL-4: a hundred calls with one id are separate calls with separate approvals', async () => {
    const runtime = await opened()
    const ends = await runtime.session('s').run(hundred.map(() => refund(1, 'same')), { batch: 'm', until: 'waiting' }) // prettier-ignore
    expect(count(codes(ends), 'waiting')).toBe(100)
    const [one] = await runtime.inbox()
    await runtime.decide(one?.id as string, { approve: true, ...bea })
    await vi.waitUntil(() => world.effects.count === 1, { interval: 1 })
    expect(await runtime.inbox({ limit: 1_000 })).toHaveLength(99)
  })

  test('POL-8: of a hundred calls only as many run as the budget allows', async () => {
    const runtime = await opened({ budgets: { session: { calls: 10 } } })
    const ends = await runtime.session('s').run(hundred.map((order) => ({ id: `c${order}`, name: 'pay', input: { cents: 1 + order } })), { batch: 'm' }) // prettier-ignore
    expect(count(codes(ends), 'success')).toBe(10)
    expect(count(codes(ends), 'over_budget')).toBe(90)
    expect(world.effects.count).toBe(10)
    // The session budget also covers another batch and nested calls.
    const more = await runtime.session('s').run([{ id: 'x', name: 'pay', input: { cents: 1 } }, { id: 'y', name: 'clerk', input: { run: [{ id: 'z', name: 'pay', input: { cents: 1 } }] } }], { batch: 'm2' }) // prettier-ignore
    expect(codes(more)).toEqual(['over_budget', 'over_budget'])
    expect(world.effects.count).toBe(10)
  })

  test('POL-8, POL-2: a hundred approved calls are still limited by the budget', async () => {
    const runtime = await opened({ budgets: { session: { calls: 10 } } })
    const run = runtime.session('s').run(hundred.map((order) => refund(order)), { batch: 'm' }) // prettier-ignore
    const items = await vi.waitUntil(async () => {
      const all = await runtime.inbox({ limit: 1_000 })
      return all.length === 100 && all
    }, { interval: 1 }) // prettier-ignore
    await Promise.all(items.map(({ id }) => runtime.decide(id, { approve: true, ...bea })))
    const ends = codes(await run)
    expect([count(ends, 'success'), count(ends, 'over_budget')]).toEqual([10, 90])
    expect(world.effects.count).toBe(10)
  })

  test('POL-8: a hundred bodies with ten nested calls each stay within the turn budget', async () => {
    const runtime = await opened({ budgets: { turn: { calls: 150 } } })
    const inner = Array.from({ length: 10 }, (_, order) => ({ id: `i${order}`, name: 'pay', input: { cents: 1 } }))
    await runtime.session('s').run(hundred.map((order) => ({ id: `c${order}`, name: 'clerk', input: { run: inner } })), { batch: 'm', turn: 't' }) // prettier-ignore
    // The outer calls count toward the budget too.
    expect(world.effects.count).toBeLessThanOrEqual(150)
  })

  test('POL-1: denied, unknown, hidden and malformed calls each have their own recorded failure', async () => {
    const runtime = await opened()
    const kinds = [['wipe', {}], ['bash', {}], ['vault', {}], ['pay', '{"cents":'], ['pay', { cents: '1' }]] as const // prettier-ignore
    const asked = hundred.map((order) => {
      const [name, input] = kinds[order % kinds.length] as (typeof kinds)[number]
      return { id: `c${order}`, name, input }
    })
    const session = runtime.session('s')
    const ends = codes(await session.run(asked, { batch: 'm' }))
    for (const code of ['denied_by_policy', 'tool_unavailable', 'invalid_arguments'])
      expect(count(ends, code)).toBeGreaterThan(0)
    expect(count(ends, 'success')).toBe(0)
    const rows = await session.calls.list({ status: 'failure', limit: 1_000 })
    expect(rows.map(({ callId }) => callId).toSorted()).toEqual(asked.map(({ id }) => id).toSorted())
    expect(world.effects.count).toBe(0)
  })

  test('VAL-8: a batch over the limit is rejected as a whole and nothing starts', async () => {
    const runtime = await opened({ sizes: { batch: 1_000 } })
    const asked = Array.from({ length: 1_001 }, (_, order) => ({ id: `c${order}`, name: 'pay', input: { cents: 1 } }))
    const refused = await runtime.session('s').run(asked).catch((error: unknown) => error) // prettier-ignore
    expect(refused).toBeInstanceOf(PawlError)
    expect(refused).toMatchObject({ code: 'batch_too_long' })
    expect(world.effects.count).toBe(0)
  })

  describe('answers without a matching request', () => {
    const value = { decision: 'approve', at: 1, votes: [{ by: 'user:bea', door: 'library', at: 1 }] }

    test('SESS-7: a client answer for a call that the client does not have is rejected', async () => {
      const runtime = await opened()
      const session = runtime.session('s')
      const asked = [refund(1, 'ask'), { id: 'later', name: 'sign' }, { id: 'done', name: 'pay', input: { cents: 1 } }, { id: 'bad', name: 'pick', input: '{' }, { id: 'pick', name: 'pick' }] // prettier-ignore
      const ends = await session.run(asked, { batch: 'm', until: 'waiting' })
      expect(codes(ends)).toEqual(['waiting', 'waiting', 'success', 'invalid_arguments', 'waiting'])
      for (const id of ['ask', 'later', 'done', 'bad', 'nobody', '', '__proto__']) expect(await session.answer(id, { value }), id).toEqual({ answer: 'unknown_or_revoked' }) // prettier-ignore
      expect(await session.answer('pick', { value }, { batch: 'other' })).toEqual({ answer: 'unknown_or_revoked' })
      for (const other of [runtime.session('t'), runtime.session('s', { tenant: 'rival' })])
        expect(await other.answer('pick', { value })).toEqual({ answer: 'unknown_or_revoked' })
      expect(await session.answer('pick', { value })).toEqual({ answer: 'accepted' })
      expect(await session.answer('pick', { value })).toEqual({ answer: 'unknown_or_revoked' })
      // A value that looks like a decision is only the result of its own call.
      expect((await session.run([{ id: 'pick', name: 'pick' }], { batch: 'm' }))[0]).toMatchObject({
        status: 'success',
        value,
      })
      expect(await runtime.inbox()).toMatchObject([{ callId: 'ask' }])
      expect(world.effects.of('s')).toEqual([{ tool: 'pay', input: { cents: 1 } }])
    })

    test('WAIT-3: ids, names and fingerprints known to the model do not resolve a wait', async () => {
      const runtime = await opened()
      const session = runtime.session('s')
      const ends = await session.run([refund(1, 'ask'), { id: 'later', name: 'sign' }, { id: 'pick', name: 'pick' }], { batch: 'm', until: 'waiting' }) // prettier-ignore
      const [item] = await runtime.inbox()
      const rows = await session.calls.list()
      const known = [
        ...ends.flatMap((end) => (end.status === 'waiting' ? [end.waitId, end.callId] : [])),
        ...rows.flatMap(({ uid, batch }) => [uid, batch]),
        ...[item?.id, item?.fingerprint, item?.call].map(String),
        'pawl:approval:1',
        'pawl:client',
        'later',
      ]
      for (const [order, key] of known.entries()) {
        const [end] = await session.run([{ id: `g${order}`, name: 'complete', input: { key } }])
        expect(end, key).toMatchObject({ status: 'success', value: 'unknown_or_revoked' })
      }
      expect(codes(await session.run([refund(1, 'ask'), { id: 'later', name: 'sign' }], { batch: 'm', until: 'waiting' }))).toEqual(['waiting', 'waiting']) // prettier-ignore
      expect(world.effects.count).toBe(0)
    })
  })
})
