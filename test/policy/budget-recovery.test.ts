// POL-8: what a session has used is what is on record, whoever counted it and however often its worker died.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BudgetLimits, type CallOutcome, createRuntime, result, retry, type Runtime, type RuntimeOptions, type Tool, tool } from 'pawl'
import { type ManualClock, manualClock, slowTool } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Change, DocumentName, Store } from '../../src/store/store.ts'
import { mortal, type StoreKind, storeOf } from '../kit/stores/killable-store.ts'
import { failing, muted } from '../kit/stores/failing-writes.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const hang = (): Promise<never> => new Promise(() => {})
const told = (outcomes: readonly CallOutcome[]): string[] =>
  outcomes.map((outcome) => (outcome.status === 'failure' ? outcome.failure.code : outcome.status))

const hasMark = (key: string) => (change: Change) => change.steps?.some((step) => step.key === key) ?? false
const ofSession: DocumentName = { of: 'usage', tenant: 'default', session: 's', key: 'session' }

describe.each(['memory', 'sqlite'] as const)('budgets on %s', (kind: StoreKind) => {
  let dir: string
  let clock: ManualClock
  let store: Store
  let open: Runtime[]
  let asked: number

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'pawl-budget-'))
    clock = manualClock()
    store = storeOf(kind, join(dir, 'agent.db'), clock)
    ;[open, asked] = [[], 0]
  })
  afterEach(async () => {
    await Promise.all(open.map((runtime) => runtime.close({ grace: 0 })))
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  })

  const start = async (tools: readonly Tool[], budget: BudgetLimits, on: Store = store): Promise<Runtime> => {
    const runtime = await createRuntime({ store: on, tools, clock, logger, budgets: { session: budget } })
    if (on === store) open.push(runtime)
    return runtime
  }
  /** The same in a new life of the program. */
  const restart = async (runtime: Runtime, tools: readonly Tool[], budget: BudgetLimits): Promise<Runtime> => {
    await runtime.close({ grace: 0 })
    return start(tools, budget)
  }
  const look = (execute: (n: number) => unknown = () => 'seen', more: object = {}): Tool =>
    tool({ name: 'look', description: 'Looks', input: z.object({ n: z.number() }), execute: ({ n }) => execute(n), ...more })
  /** One message with one call. */
  const ask = (runtime: Runtime, input: unknown = { n: 1 }): Promise<CallOutcome[]> =>
    runtime.session('s').run([{ id: 'a', name: 'look', input }], { batch: `m${asked++}` })

  test('POL-8: calls are counted over a restart, per session', async () => {
    const budget = { calls: 3 }
    let runtime = await start([look()], budget)
    await ask(runtime)
    await ask(runtime)
    runtime = await restart(runtime, [look()], budget)
    const calls = Array.from({ length: 4 }, (_, n) => ({ id: `c${n}`, name: 'look', input: { n } }))
    // All at once, while the record is being read: the model's order still decides.
    expect(told(await runtime.session('s').run(calls, { batch: 'm' }))).toEqual(['success', 'over_budget', 'over_budget', 'over_budget'])
    expect(told(await runtime.session('other').run(calls, { batch: 'm' }))).toEqual(['success', 'success', 'success', 'over_budget'])
    // What was refused is no use of the budget: raised by one, one more runs.
    runtime = await restart(runtime, [look()], { calls: 4 })
    expect(told([...(await ask(runtime)), ...(await ask(runtime))])).toEqual(['success', 'over_budget'])
  })

  test('POL-8: a call that is recovered after a crash is the same call, in its session and for its budget', async () => {
    const budget = { calls: 2 }
    const first = mortal(store)
    const dying = await start([look(hang, { onCrash: 'rerun' })], budget, first.store)
    void ask(dying)
    await clock.advance(100)
    first.die()
    const runtime = await start([look(() => 'seen', { onCrash: 'rerun' })], budget)
    await clock.advance('31s')
    asked = 0
    expect(await ask(runtime)).toMatchObject([{ status: 'success', attempts: 2 }])
    expect(told([...(await ask(runtime)), ...(await ask(runtime))])).toEqual(['success', 'over_budget'])
  })

  test.for([
    ['before its start was written', 'stop', 'call.started'],
    ['in the middle of its body', 'rerun', 'step.done'],
  ] as const)('POL-8: a call that this worker takes up again itself, interrupted %s, is not counted twice', async ([, onCrash, at]) => {
    let fails = true
    const flickers = failing(store, (change) => {
      if (!fails || !change.events.some(({ type }) => type === at)) return undefined
      fails = false
      return new Error('the disk is away')
    })
    const steps = tool({
      name: 'look',
      description: 'Looks',
      input: z.object({ n: z.number() }),
      onCrash,
      execute: (_, ctx) => (onCrash === 'rerun' ? ctx.step('one', () => 1) : 1),
    })
    const runtime = await start([steps], { calls: 2 }, flickers)
    open.push(runtime)
    await expect(ask(runtime)).rejects.toMatchObject({ code: 'store_unavailable' })
    await clock.advance('31s')
    asked = 0
    expect(told(await ask(runtime))).toEqual(['success'])
    expect(told([...(await ask(runtime)), ...(await ask(runtime))])).toEqual(['success', 'over_budget'])
  })

  test('POL-8: the same call with the same answer is a loop over a restart; another answer is none', async () => {
    const budget = { repeats: 2 }
    let runtime = await start([look()], budget)
    await ask(runtime)
    runtime = await restart(runtime, [look()], budget)
    expect(told([...(await ask(runtime)), ...(await ask(runtime))])).toEqual(['success', 'over_budget'])
    runtime = await restart(runtime, [look()], budget)
    const both = [1, 2].map((n) => ({ id: `c${n}`, name: 'look', input: { n } }))
    expect(told(await runtime.session('s').run(both, { batch: `m${asked++}` }))).toEqual(['over_budget', 'success'])
    runtime = await restart(runtime, [look()], budget)
    expect(told(await ask(runtime))).toEqual(['over_budget']) // a loop does not begin anew because its last call was refused

    let page = 0
    for (let n = 0; n < 4; n++) {
      runtime = await restart(runtime, [look(() => `page ${page++}`)], budget)
      expect(told(await ask(runtime, { n: 3 }))).toEqual(['success'])
    }
  })

  test.for([
    ['that do not fit', { n: 'x' }],
    ['that cannot be read', '{"n": '],
  ] as const)('POL-8: arguments %s, again and again, are told to stop over a restart', async ([, bad]) => {
    const budget = { invalid: 2 }
    let runtime = await start([look()], budget)
    expect(told([...(await ask(runtime, bad)), ...(await ask(runtime, bad))])).toEqual(['invalid_arguments', 'invalid_arguments'])
    runtime = await restart(runtime, [look()], budget)
    expect(told(await ask(runtime, bad))).toEqual(['over_budget'])
    runtime = await restart(runtime, [look()], { invalid: 3 }) // that was the third
    expect(told(await ask(runtime, bad))).toEqual(['over_budget'])
    expect(told(await ask(runtime))).toEqual(['success'])
    runtime = await restart(runtime, [look()], budget)
    expect(told(await ask(runtime, bad))).toEqual(['invalid_arguments']) // one that was good begins anew
  })

  test('POL-8: what the outside answers is not what the model asked, whatever its code', async () => {
    const keys: string[] = []
    const parks = tool({
      name: 'look',
      description: 'Parks',
      input: z.object({ n: z.number() }),
      async execute(_, ctx) {
        const later = await ctx.later()
        keys.push(later.key)
        return later
      },
    })
    const runtime = await start([parks], { invalid: 1 })
    const run = ask(runtime)
    await clock.advance(100)
    await runtime.resolve(keys[0] as string, { failure: { code: 'invalid_arguments', message: 'no' } })
    expect(told(await run)).toEqual(['invalid_arguments'])
    expect(told(await ask(await restart(runtime, [parks], { invalid: 1 }), {}))).toEqual(['invalid_arguments'])
  })

  test('POL-8: time in tools is counted over a restart: of all attempts, and not while nobody was at work', async () => {
    const budget = { time: '60s' }
    const slow = slowTool({ name: 'look', takes: '20s', clock })
    const flaky = tool({
      name: 'flaky',
      description: 'Takes 15 s, twice',
      input: z.object({}),
      async execute(_, ctx) {
        await new Promise<void>((resolve) => void clock.timer(15_000, resolve))
        if (ctx.attempt < 2) throw retry({ after: '30s' })
      },
    })
    const parks = tool({ name: 'parks', description: 'Parks', input: z.object({}), execute: (_, ctx) => ctx.later({ deadline: '1h' }) })
    const tools = [slow, flaky, parks]
    let runtime = await start(tools, budget)
    const done = async (name: string, passes: string): Promise<string[]> => {
      const run = runtime.session('s').run([{ id: 'a', name }], { batch: `m${asked++}` })
      await clock.advance(passes)
      return told(await run)
    }
    expect(await done('look', '20s')).toEqual(['success'])
    expect(await done('flaky', '60s')).toEqual(['success'])
    expect(await done('parks', '1h')).toEqual(['wait_timeout'])
    runtime = await restart(runtime, tools, { time: '50s' })
    expect(await done('look', '20s')).toEqual(['over_budget']) // 20 + 15 + 15
    runtime = await restart(runtime, tools, budget)
    expect(await done('look', '20s')).toEqual(['success'])
    expect(await done('look', '20s')).toEqual(['over_budget'])
  })

  test('POL-8: a body whose worker died has no end on record, and costs no time', async () => {
    const first = mortal(store)
    const dying = await start([look(hang)], { time: '10s' }, first.store)
    void ask(dying)
    await clock.advance(100)
    first.die()
    let runtime = await start([look()], { time: '10s' })
    await clock.advance('31s')
    asked = 0
    expect(told(await ask(runtime))).toEqual(['unknown'])
    runtime = await restart(runtime, [look()], { time: '10s' })
    expect(told(await ask(runtime))).toEqual(['success'])
  })

  /** A worker that dies as soon as such a write is on record. */
  const diesAfter = (key: string): Store => {
    const first = mortal(store)
    return muted(first.store, (change) => {
      if (!hasMark(key)(change)) return true
      first.die()
      return false
    })
  }

  test.for(['stop', 'rerun'] as const)('POL-8: a crash between the count and the start counts once (onCrash: %s)', async (onCrash) => {
    let ran = 0
    const counts = look(() => ran++, { onCrash })
    const budget = { calls: 2 }
    void ask(await start([counts], budget, diesAfter('budget')))
    await clock.advance(100)
    expect(ran).toBe(0)
    const runtime = await start([counts], budget)
    await clock.advance('31s')
    asked = 0
    expect(await ask(runtime)).toMatchObject([{ status: 'success', attempts: 1 }])
    expect(told([...(await ask(runtime)), ...(await ask(runtime))])).toEqual(['success', 'over_budget'])
    expect(ran).toBe(2)
  })

  test('POL-8: a crash between the refusal and the outcome refuses once, with the same words', async () => {
    const budget = { calls: 1, repeats: 5 }
    await ask(await start([look()], budget))
    const before = await store.document(ofSession)
    void ask(await start([look()], budget, diesAfter('budget')))
    await clock.advance(100)
    const runtime = await start([look()], { calls: 100, repeats: 5 })
    await clock.advance('31s')
    asked = 1
    const [refused] = await ask(runtime)
    expect(refused).toMatchObject({ status: 'failure', failure: { code: 'over_budget', source: 'policy' }, attempts: 0 })
    expect((await store.document(ofSession))?.revision).toBe((before?.revision ?? 0) + 1)
  })

  test('POL-8: a crash between the charge and the outcome charges once', async () => {
    const paid = look(() => result('seen', { cost: 3 }), { onCrash: 'rerun' })
    const budget = { cost: 6 }
    void ask(await start([paid], budget, diesAfter('budget:settled')))
    await clock.advance(100)
    const runtime = await start([paid], budget)
    await clock.advance('31s')
    asked = 0
    expect(await ask(runtime)).toMatchObject([{ status: 'success', attempts: 2, cost: 3 }])
    expect(told([...(await ask(runtime)), ...(await ask(runtime))])).toEqual(['success', 'over_budget'])
  })

  test('POL-8: what reconcile finds costs what it says, whatever a hook makes of it', async () => {
    const first = mortal(store)
    void ask(await start([look(hang)], { cost: 5 }, first.store))
    await clock.advance(100)
    first.die()
    const found = look(() => 'seen', { reconcile: () => ({ value: result('found', { cost: 5 }) }) })
    const hooks = [{ name: 'mask', after: () => ({ replace: { status: 'success' as const, value: 'masked' } }) }]
    const runtime = await createRuntime({ store, tools: [found], clock, logger, hooks, budgets: { session: { cost: 5 } } })
    open.push(runtime)
    await clock.advance('31s')
    asked = 0
    expect(await ask(runtime)).toMatchObject([{ status: 'success', value: 'masked', cost: 5 }])
    expect(told(await ask(runtime))).toEqual(['over_budget'])
  })

  test('POL-8: a call that began before there was a budget is not said not to have run', async () => {
    const first = mortal(store)
    void ask(await createRuntime({ store: first.store, tools: [look(hang, { onCrash: 'rerun' })], clock, logger }))
    await clock.advance(100)
    first.die()
    const runtime = await start([look(() => 'seen', { onCrash: 'rerun' })], { calls: 1 })
    expect(told(await ask(runtime))).toEqual(['success'])
    await clock.advance('31s')
    asked = 0
    expect(await ask(runtime)).toMatchObject([{ status: 'success', attempts: 2 }])
  })

  test.for(['budget', 'budget:settled'])('POL-8: a store that is away at the mark %s allows nothing, and is asked again', async (mark) => {
    let ran = 0
    let away = true
    const flickers = failing(store, (change) => (away && hasMark(mark)(change) ? ((away = false), new Error('away')) : undefined))
    const runtime = await start([look(() => (ran++, result('seen', { cost: 3 })), { onCrash: 'rerun' })], { cost: 6, calls: 2 }, flickers)
    open.push(runtime)
    await expect(ask(runtime)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(ran).toBe(mark === 'budget' ? 0 : 1)
    await clock.advance('31s')
    asked = 0
    expect(told([...(await ask(runtime)), ...(await ask(runtime)), ...(await ask(runtime))])).toEqual(['success', 'success', 'over_budget'])
    expect(await store.document(ofSession)).toMatchObject({ value: JSON.stringify({ calls: 2, time: 0, cost: 6 }) })
  })

  test('POL-8: usage that cannot be read allows nothing', async () => {
    let ran = 0
    const blind: Store = { ...store, document: () => Promise.reject(new Error('away')) }
    const runtime = await start([look(() => ran++)], { calls: 2 }, blind)
    open.push(runtime)
    await expect(ask(runtime)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(ran).toBe(0)
  })

  /** Somebody else is first, so many times, with counts of its own. */
  const overtaken = (mark: string, times: number): Store => {
    const first = (change: Change): void => {
      if (!hasMark(mark)(change) || times-- <= 0) return
      for (const { kind: _, ...kept } of change.guards.filter((guard) => guard.kind === 'kept'))
        store.write({ guards: [], documents: [{ ...kept, value: JSON.stringify({ calls: 1, time: 0, cost: 0 }) }], events: [] }, () => {})
    }
    return { ...store, write: (change, heard, how) => (first(change), store.write(change, heard, how)) }
  }

  test('POL-8: what others count meanwhile is read again, and counts', async () => {
    const runtime = await start([look()], { calls: 2 }, overtaken('budget', 3))
    open.push(runtime)
    expect(told([...(await ask(runtime)), ...(await ask(runtime))])).toEqual(['success', 'over_budget'])
  })

  test('POL-8: who is never first gives up: nothing is allowed, and what has run keeps its outcome', async () => {
    let ran = 0
    const errors: string[] = []
    const noisy: RuntimeOptions['logger'] = { ...logger, error: (message) => void errors.push(message) }
    const counts = look(() => (ran++, result('seen', { cost: 1 })))
    const never = await start([counts], { calls: 2 }, overtaken('budget', 1_000))
    open.push(never)
    await expect(ask(never)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(ran).toBe(0)
    const others = overtaken('budget:settled', 1_000)
    const late = await createRuntime({ store: others, tools: [counts], clock, logger: noisy, budgets: { tenant: { cost: 5 } } })
    open.push(late)
    expect(await ask(late)).toMatchObject([{ status: 'success', cost: 1 }])
    expect(errors).toEqual(['What a call took was not charged to its budgets'])
  })

  test('POL-8: of calls that are counted together, one that is no longer ours is left out', async () => {
    let thieves = 0
    const stolen: Store = {
      ...store,
      // Another worker takes one of them while the count is on its way.
      write(change, heard, how) {
        if (hasMark('budget')(change) && change.guards.length > 2 && thieves++ === 0) {
          const [refused] = change.guards
          heard({ ok: false, refused: refused as Change['guards'][number] })
        } else store.write(change, heard, how)
      },
    }
    const runtime = await start([look(() => 'seen', { concurrency: 'parallel' })], { calls: 5 }, stolen)
    open.push(runtime)
    const calls = [1, 2, 3].map((n) => ({ id: `c${n}`, name: 'look', input: { n } }))
    const run = runtime.session('s').run(calls, { batch: 'm' })
    run.catch(() => {}) // how the first ended is told by whoever took it
    await clock.advance('31s')
    expect(JSON.parse((await store.document(ofSession))?.value ?? '{}')).toMatchObject({ calls: 2 })
    const ended = await runtime.session('s').calls.list({ status: 'success' })
    expect(ended.map(({ callId }) => callId)).toEqual(['c2', 'c3'])
  })

  test('POL-8: `budget` is no option', async () => {
    await expect(createRuntime({ store, budget: { calls: 1 } } as never)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/no option 'budget'; did you mean 'budgets'/),
    })
  })
})
