// Budgets of turns, sessions and tenants for calls, time and cost; limits are exact under concurrency.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type CallOutcome,
  createRuntime,
  fail,
  result,
  retry,
  type RunOptions,
  type Runtime,
  type Tool,
  tool,
} from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Change, Store } from '../../src/store/store.ts'
import { fleetOn } from '../kit/worker-fleet.ts'
import { type StoreKind, storeOf } from '../kit/stores/killable-store.ts'
import { argumentTool, rerunTool } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const told = (outcomes: readonly CallOutcome[]): string[] =>
  outcomes.map((outcome) => (outcome.status === 'failure' ? outcome.failure.code : outcome.status))
const messageOf = (outcome: CallOutcome | undefined): string =>
  outcome?.status === 'failure' ? outcome.failure.message : ''
const look = argumentTool('look', z.object({ n: z.number() }), { hints: { readOnly: true } }, () => 'seen')
const calls = (count: number, name = 'look') =>
  Array.from({ length: count }, (_, n) => ({ id: `c${n}`, name, input: { n } }))
const ran = (outcomes: readonly CallOutcome[]): number => outcomes.filter(({ status }) => status === 'success').length

describe.each(['memory', 'sqlite'] as const)('budget scopes on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  let asked = 0
  const fleet = fleetOn(kind, (has) => {
    ;({ clock, store } = has)
    asked = 0
  })
  const ask = (
    runtime: Runtime,
    name = 'look',
    how: RunOptions = {},
    session = 's',
    tenant = 'acme',
  ): Promise<CallOutcome[]> =>
    runtime.session(session, { tenant }).run([{ id: 'a', name, input: { n: 1 } }], { batch: `m${asked++}`, ...how })
  const askAll = async (
    runtime: Runtime,
    times: number,
    ...how: [name?: string, how?: RunOptions, session?: string, tenant?: string]
  ) => {
    const outcomes: CallOutcome[] = []
    for (let n = 0; n < times; n++) outcomes.push(...(await ask(runtime, ...how)))
    return told(outcomes)
  }

  test('POL-8: a turn budget is per turn name and session, and does not limit calls without a turn', async () => {
    const runtime = await fleet.start([look], { budgets: { turn: { calls: 2 } } })
    expect(await askAll(runtime, 3, 'look', { turn: 'turn_1' })).toEqual(['success', 'success', 'over_budget'])
    expect(await askAll(runtime, 3)).toEqual(['success', 'success', 'success'])
    expect(await askAll(runtime, 1, 'look', { turn: 'turn_1' }, 'other')).toEqual(['success']) // another session
    const one = runtime.session('s', { tenant: 'acme' }).call(look, { n: 1 }, { turn: 'turn_2' })
    expect(await one.outcome).toMatchObject({ status: 'success' })
    expect(await askAll(runtime, 2, 'look', { turn: 'turn_2' })).toEqual(['success', 'over_budget'])
    const [last] = await ask(runtime, 'look', { turn: 'turn_2' })
    expect(messageOf(last)).toMatch(
      /^The budget of this turn is used up: 2 of 2 tool calls\. This call was not run\..* begins a new turn\.$/,
    )
    await expect(ask(runtime, 'look', { turn: '' })).rejects.toMatchObject({
      code: 'call_invalid',
      message: expect.stringMatching(/turn/),
    })
  })

  test('POL-8: nested calls count for the turn of their parent, even across a restart', async () => {
    const parent = rerunTool('parent', async (_, ctx) =>
      told([await ctx.call(look, { n: 1 }), await ctx.call(look, { n: 2 })] as unknown as CallOutcome[]),
    )
    const budgets = { turn: { calls: 4 } }
    const first = await fleet.start([look, parent], { budgets })
    expect(await ask(first, 'parent', { turn: 't' })).toMatchObject([{ value: ['success', 'success'] }])
    await first.close()
    const runtime = await fleet.start([look, parent], { budgets })
    expect(await ask(runtime, 'parent', { turn: 't' })).toMatchObject([{ value: ['over_budget', 'over_budget'] }])
    expect(await ask(runtime, 'parent', { turn: 'u' })).toMatchObject([{ value: ['success', 'success'] }])
    expect(await ask(runtime, 'parent')).toMatchObject([{ value: ['success', 'success'] }])
  })

  test('POL-8: a tenant budget is shared by all sessions of that tenant only', async () => {
    const runtime = await fleet.start([look], { budgets: { tenant: { calls: 3 }, session: { calls: 2 } } })
    expect(await askAll(runtime, 3, 'look', {}, 'one')).toEqual(['success', 'success', 'over_budget'])
    expect(await askAll(runtime, 2, 'look', {}, 'two')).toEqual(['success', 'over_budget'])
    expect(await askAll(runtime, 1, 'look', {}, 'one', 'globex')).toEqual(['success'])
    // The widest scope is reported, because a new session would not help.
    const [last] = await ask(runtime, 'look', {}, 'one')
    expect(messageOf(last)).toMatch(
      /^The budget of this tenant is used up: 3 of 3 tool calls\. This call was not run\..* must be raised to go on\.$/,
    )
  })

  test('POL-8: a tenant budget resets with its window, and the model sees when', async () => {
    const day = 86_400_000
    await clock.advance(day - (clock.now() % day) + 3_600_000) // an hour past midnight
    const budgets = { tenant: { calls: 2, per: '1d' } } as const
    const first = await fleet.start([look], { budgets })
    const other = await fleet.start([look], { budgets })
    expect(await askAll(first, 2)).toEqual(['success', 'success'])
    const [refused] = await ask(other, 'look', {}, 'other')
    const midnight = new Date(clock.now() - 3_600_000 + day).toISOString()
    expect(messageOf(refused)).toContain(
      `used up: 2 of 2 tool calls. This call was not run. No more tools can run until ${midnight}, when it begins anew`,
    )
    await clock.advance('22h')
    expect(await askAll(other, 1)).toEqual(['over_budget'])
    await clock.advance('1h')
    expect(await askAll(first, 2)).toEqual(['success', 'success'])
    expect(await askAll(other, 1)).toEqual(['over_budget'])
  })

  test('POL-8: two workers given 100 calls at once run exactly the limit', async () => {
    const runtimes = [
      await fleet.start([look], { budgets: { session: { calls: 10 } } }),
      await fleet.start([look], { budgets: { session: { calls: 10 } } }),
    ]
    const run = (at: number) => runtimes[at]?.session('s').run(calls(50), { batch: `m${at}` }) as Promise<CallOutcome[]>
    const outcomes = (await Promise.all([run(0), run(1)])).flat()
    expect(ran(outcomes)).toBe(10)
    expect(new Set(told(outcomes))).toEqual(new Set(['success', 'over_budget']))
    expect(
      JSON.parse((await store.document({ of: 'usage', tenant: 'default', session: 's', key: 'session' }))?.value ?? ''),
    ).toEqual({
      calls: 10,
      time: 0,
      cost: 0,
    })
  })

  test('POL-8: 100 concurrent sessions share their tenant’s budget exactly', async () => {
    const budgets = { tenant: { calls: 10 }, session: { calls: 1 }, turn: { calls: 1 } }
    const runtimes = [await fleet.start([look], { budgets }), await fleet.start([look], { budgets })]
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, n) => ask(runtimes[n % 2] as Runtime, 'look', { turn: 't' }, `s${n % 50}`)),
    )
    expect(ran(outcomes.flat())).toBe(10)
  })

  test('POL-8: a tool’s reported cost is on its outcome and charged to every scope', async () => {
    const paid = tool({
      name: 'look',
      description: 'Costs',
      input: z.object({}),
      execute: () => result('seen', { cost: 3 }),
    })
    const budgets = { turn: { cost: 6 }, session: { cost: 9 }, tenant: { cost: 12 } }
    const runtime = await fleet.start([paid], { budgets })
    expect(await ask(runtime, 'look', { turn: 'a' })).toMatchObject([
      { status: 'success', value: 'seen', cost: 3, parts: [{ text: 'seen' }] },
    ])
    expect(await askAll(runtime, 2, 'look', { turn: 'a' })).toEqual(['success', 'over_budget'])
    const [refused] = await ask(runtime, 'look', { turn: 'a' })
    expect(messageOf(refused)).toMatch(/this turn is used up: a cost of 6 of 6\./)
    expect(await askAll(runtime, 2, 'look', { turn: 'b' })).toEqual(['success', 'over_budget'])
    expect(messageOf((await ask(runtime, 'look', { turn: 'c' }))[0])).toMatch(
      /this session is used up: a cost of 9 of 9\./,
    )
    expect(await askAll(runtime, 2, 'look', { turn: 'a' }, 'other')).toEqual(['success', 'over_budget'])
    const again = await fleet.start([paid], { budgets })
    expect(messageOf((await ask(again, 'look', {}, 'third'))[0])).toMatch(
      /this tenant is used up: a cost of 12 of 12\./,
    )
    const [record] = await again.session('s', { tenant: 'acme' }).calls.list({ status: 'success' })
    expect(record).toMatchObject({ outcome: { status: 'success', cost: 3 } })
  })

  test('POL-8: the costs of failures, steps and attempts add up, and hooks cannot change them', async () => {
    let tries = 0
    const about = { description: 'Costs', input: z.object({}), onCrash: 'rerun' } as const
    const tools = [
      tool({ ...about, name: 'fails', execute: () => Promise.reject(fail('no', { cost: 2 })) }),
      tool({
        ...about,
        name: 'steps',
        execute: (_, ctx) => ctx.step('one', () => Promise.reject(fail('no', { cost: 4 }))),
      }),
      tool({
        ...about,
        name: 'flaky',
        execute: () => (++tries < 3 ? Promise.reject(retry({ after: 0, cost: 5 })) : result('done', { cost: 1 })),
      }),
      tool({
        ...about,
        name: 'strict',
        output: z.object({}),
        execute: () => result('no object', { cost: 8 }) as never,
      }),
      look,
    ]
    const hooks = [{ name: 'mask', after: () => ({ replace: { status: 'success' as const, value: 'masked' } }) }]
    const runtime = await fleet.start(tools, { budgets: { session: { cost: 29 } } })
    expect(await ask(runtime, 'fails')).toMatchObject([{ failure: { message: 'no' }, cost: 2 }])
    expect(await ask(runtime, 'steps')).toMatchObject([{ failure: { message: 'no' }, cost: 4 }])
    expect(await ask(runtime, 'strict')).toMatchObject([{ failure: { code: 'invalid_output' }, cost: 8 }])
    const run = ask(runtime, 'flaky')
    await fleet.settle()
    expect(await run).toMatchObject([{ value: 'done', cost: 11, attempts: 3 }]) // 25 by now
    tries = 0
    const hooked = await fleet.start(tools, { budgets: { session: { cost: 29 } }, hooks })
    expect(await ask(hooked, 'steps')).toMatchObject([{ value: 'masked', cost: 4 }])
    expect(messageOf((await ask(hooked))[0])).toMatch(/a cost of 29 of 29/)
  })

  test.for([[Number.NaN], [-1], [Number.POSITIVE_INFINITY], ['3']] as const)(
    'POL-8: a cost of %s is an internal failure of the tool',
    async ([cost]) => {
      const about = { description: 'Costs', input: z.object({}) }
      const runtime = await fleet.start([
        tool({ ...about, name: 'gives', execute: () => result('seen', { cost: cost as number }) }),
        tool({ ...about, name: 'fails', execute: () => Promise.reject(fail('no', { cost: cost as number })) }),
      ])
      for (const name of ['gives', 'fails'])
        expect(await ask(runtime, name)).toMatchObject([{ failure: { class: 'internal', code: 'value_invalid' } }])
    },
  )

  test('POL-8: tool time counts until the body parks, and not while it waits', async () => {
    const takes = (ms: number): Promise<void> => new Promise((resolve) => void clock.timer(ms, resolve))
    const about = { description: 'Takes', input: z.object({}), onCrash: 'rerun' } as const
    const tools = [
      tool({
        ...about,
        name: 'sleeps',
        execute: async (_, ctx) => (await takes(2_000), await ctx.sleep('1h'), await takes(3_000)),
      }),
      tool({ ...about, name: 'parks', execute: async (_, ctx) => (await takes(4_000), ctx.later({ deadline: '1h' })) }),
      look,
    ]
    const used = async (): Promise<number> =>
      (
        JSON.parse(
          (await store.document({ of: 'usage', tenant: 'acme', session: 's', key: 'session' }))?.value ?? '{}',
        ) as { time: number }
      ).time
    const runtime = await fleet.start(tools, { budgets: { session: { time: '11s' } } })
    const sleeps = ask(runtime, 'sleeps')
    await clock.advance('2h')
    expect(told(await sleeps)).toEqual(['success'])
    expect(await used()).toBe(5_000)
    const stop = new AbortController()
    const stopped = ask(runtime, 'sleeps', { signal: stop.signal })
    await clock.advance('30m')
    stop.abort()
    await clock.advance('1s')
    expect(told(await stopped)).toEqual(['cancelled'])
    expect(await used()).toBe(7_000)
    const parks = ask(runtime, 'parks')
    await clock.advance('4s')
    expect(await used()).toBe(11_000)
    expect(messageOf((await ask(runtime))[0])).toMatch(/11 of 11 seconds of tool time/)
    await clock.advance('1h')
    expect(told(await parks)).toEqual(['wait_timeout'])
    expect(await used()).toBe(11_000)
  })

  test('POL-8: policy denials are not counted; budget refusals still count as repeats', async () => {
    const denied = tool({ name: 'denied', description: 'No', input: z.object({}), execute: () => 1 })
    // oxlint-disable-next-line unicorn/no-thenable -- a word of the contract for rules
    const policy = { rules: [{ tool: 'denied', then: 'deny' as const }] }
    const runtime = await fleet.start([denied, look], { policy, budgets: { session: { calls: 3, repeats: 2 } } })
    expect(await askAll(runtime, 3, 'denied')).toEqual(['denied_by_policy', 'denied_by_policy', 'denied_by_policy'])
    expect(await askAll(runtime, 3)).toEqual(['success', 'success', 'over_budget'])
    const raised = await fleet.start([look], { budgets: { session: { calls: 30, repeats: 2 } } })
    expect(messageOf((await ask(raised))[0])).toMatch(/^You called 'look' with the same arguments 2 times in a row/)
    expect(told(await raised.session('s', { tenant: 'acme' }).run(calls(2), { batch: 'other' }))).toEqual([
      'success',
      'over_budget',
    ])
  })

  test('POL-8: the same result at another cost is a loop, even with idempotency keys', async () => {
    let price = 0
    const paid = argumentTool('look', z.object({ n: z.number() }), {}, () => result('seen', { cost: price++ }))
    const runtime = await fleet.start([paid], { budgets: { session: { repeats: 2 } } })
    expect(await askAll(runtime, 3)).toEqual(['success', 'success', 'over_budget'])
    const seen: CallOutcome[] = []
    for (let n = 0; n < 3; n++) {
      const call = { id: 'a', name: 'look', input: { n: 1 }, idempotencyKey: `k${n}` }
      seen.push(
        ...(await runtime
          .session('keys')
          .run([call, { ...call, id: 'b', idempotencyKey: `l${n}` }], { batch: `k${n}` })),
      )
    }
    expect(told(seen)).toEqual(['success', 'success', 'success', 'success', 'over_budget', 'over_budget'])
  })

  test('POL-8: sealed and plain calls in one batch are counted and recognized again', async () => {
    const about = { description: 'Looks', input: z.object({ n: z.number() }), execute: () => 'seen' }
    const secret = tool({ ...about, name: 'secret', sensitive: true })
    const plain = tool({ ...about, name: 'plain' })
    const keys = { secret: new Uint8Array(32).fill(7) }
    const budgets = { session: { calls: 4, repeats: 2 } }
    const mixed = ['plain', 'secret', 'secret', 'plain', 'secret'].map((name, n) => ({
      id: `c${n}`,
      name,
      input: { n },
    }))
    const runtime = await fleet.start([secret, plain], { keys, budgets })
    expect(ran(await runtime.session('s').run(mixed, { batch: 'm' }))).toBe(4)
    const again = await fleet.start([secret, plain], { keys, budgets })
    expect(told(await again.session('s').run(mixed.slice(0, 2), { batch: 'n' }))).toEqual([
      'over_budget',
      'over_budget',
    ])
    for (const { id } of mixed)
      expect(await again.session('s').calls.get(id, { batch: 'm' })).toMatchObject({ state: 'settled' })
  })

  test('POL-8: without an applicable budget no usage is read or written', async () => {
    let touched = 0
    const sees = (change: Change): void => void (touched += change.documents?.length ?? 0)
    const watched: Store = {
      ...store,
      document: (name) => (touched++, store.document(name)),
      commit: (change) => (sees(change), store.commit(change)),
      write: (change, heard, how) => (sees(change), store.write(change, heard, how)),
    }
    await ask(await fleet.start([look], { store: watched }))
    await ask(await fleet.start([look], { store: watched, budgets: {} }))
    await ask(await fleet.start([look], { store: watched, budgets: { session: {} } }))
    const runtime = await fleet.start([look], {
      store: watched,
      budgets: { turn: { calls: 1, time: '1s', repeats: 1, invalid: 1 } },
    })
    await ask(runtime)
    expect(told(await runtime.session('s').run([{ id: 'x', name: 'look', input: {} }]))).toEqual(['invalid_arguments'])
    expect(touched).toBe(0)
    await ask(runtime, 'look', { turn: 't' })
    expect(touched).toBe(4) // read and written, once for the count and once for the charge
  })

  test('POL-8: erase resets the session’s budget, and prune does not', async () => {
    const runtime = await fleet.start([look], { budgets: { session: { calls: 1 } } })
    expect(await askAll(runtime, 2)).toEqual(['success', 'over_budget'])
    await clock.advance('2d')
    await runtime.prune({ olderThan: '1d' })
    expect(await askAll(runtime, 1)).toEqual(['over_budget'])
    await runtime.erase({ tenant: 'acme', session: 's' })
    expect(await askAll(runtime, 1)).toEqual(['success'])
  })
})

describe('budgets of two processes', () => {
  let dir: string
  beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'pawl-budgets-'))))
  afterEach(() => rmSync(dir, { recursive: true, force: true }))

  test('POL-8: two handles on one SQLite file run exactly the limit', async () => {
    const clock = manualClock()
    const stores = [0, 1].map(() => storeOf('sqlite', join(dir, 'agent.db'), clock))
    const budgets = { session: { calls: 10 }, tenant: { calls: 10 } }
    const runtimes = await Promise.all(
      stores.map((store) => createRuntime({ store, tools: [look as Tool], clock, logger: quiet, budgets })),
    )
    const runs = runtimes.map((runtime, at) => runtime.session('s').run(calls(50), { batch: `m${at}` }))
    expect(ran((await Promise.all(runs)).flat())).toBe(10)
    await Promise.all(runtimes.map((runtime) => runtime.close({ grace: 0 })))
    await Promise.all(stores.map((store) => store.close()))
  })
})
