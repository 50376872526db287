// POL-8: what a session has used is what is on record, whoever counted it and however often its worker died.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BudgetLimits, type CallOutcome, createRuntime, retry, type Runtime, type Tool, tool } from 'pawl'
import { type ManualClock, manualClock, slowTool } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Store } from '../../src/store/store.ts'
import { mortal, type StoreKind, storeOf } from '../mortal.ts'
import { failing } from '../writes.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const hang = (): Promise<never> => new Promise(() => {})
const told = (outcomes: readonly CallOutcome[]): string[] =>
  outcomes.map((outcome) => (outcome.status === 'failure' ? outcome.failure.code : outcome.status))

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
})
