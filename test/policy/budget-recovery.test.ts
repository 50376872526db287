// Budgets across crashes, restarts and several workers: usage is read from the record and counted exactly once.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type BudgetLimits,
  type CallOutcome,
  createRuntime,
  type Logger,
  result,
  retry,
  type Runtime,
  type Tool,
  tool,
  type Duration,
} from 'pawl'
import { type ManualClock, manualClock, slowTool } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Change, DocumentName, Store } from '../../src/store/store.ts'
import { mortal, type StoreKind, storeOf } from '../kit/stores/killable-store.ts'
import { failing, muted } from '../kit/stores/failing-writes.ts'
import { argumentTool, hang, simpleTool } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const told = (outcomes: readonly CallOutcome[]): string[] =>
  outcomes.map((outcome) => (outcome.status === 'failure' ? outcome.failure.code : outcome.status))

const hasMark = (key: string) => (change: Change) => change.steps?.some((step) => step.key === key) ?? false
const ofSession: DocumentName = { of: 'usage', tenant: 'default', session: 's', key: 'session' }

describe.each(['memory', 'sqlite'] as const)('budget recovery on %s', (kind: StoreKind) => {
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
    const runtime = await createRuntime({ store: on, tools, clock, logger: quiet, budgets: { session: budget } })
    if (on === store) open.push(runtime)
    return runtime
  }
  /** Restarts the runtime with new tools and budgets. */
  const restart = async (runtime: Runtime, tools: readonly Tool[], budget: BudgetLimits): Promise<Runtime> => {
    await runtime.close({ grace: 0 })
    return start(tools, budget)
  }
  const look = (execute: (n: number) => unknown = () => 'seen', more: object = {}): Tool =>
    tool({
      name: 'look',
      description: 'Looks',
      input: z.object({ n: z.number() }),
      execute: ({ n }) => execute(n),
      ...more,
    })
  /** Sends one message with one call. */
  const ask = (runtime: Runtime, input: unknown = { n: 1 }): Promise<CallOutcome[]> =>
    runtime.session('s').run([{ id: 'a', name: 'look', input }], { batch: `m${asked++}` })

  test('POL-8: calls are counted per session, even across a restart', async () => {
    const budget = { calls: 3 }
    let runtime = await start([look()], budget)
    await ask(runtime)
    await ask(runtime)
    runtime = await restart(runtime, [look()], budget)
    const calls = Array.from({ length: 4 }, (_, n) => ({ id: `c${n}`, name: 'look', input: { n } }))
    // The calls start while usage is still being read; the model's order decides.
    expect(told(await runtime.session('s').run(calls, { batch: 'm' }))).toEqual([
      'success',
      'over_budget',
      'over_budget',
      'over_budget',
    ])
    expect(told(await runtime.session('other').run(calls, { batch: 'm' }))).toEqual([
      'success',
      'success',
      'success',
      'over_budget',
    ])
    // Refused calls are not counted, so a limit raised by one admits one more call.
    runtime = await restart(runtime, [look()], { calls: 4 })
    expect(told([...(await ask(runtime)), ...(await ask(runtime))])).toEqual(['success', 'over_budget'])
  })

  test('POL-8: a call recovered after a crash is counted once', async () => {
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
  ] as const)(
    'POL-8: a call that the same worker resumes, interrupted %s, is counted once',
    async ([, onCrash, at]) => {
      let fails = true
      const flickers = failing(store, (change) => {
        if (!fails || !change.events.some(({ type }) => type === at)) return undefined
        fails = false
        return new Error('the disk is away')
      })
      const steps = argumentTool('look', z.object({ n: z.number() }), { onCrash }, (_, ctx) =>
        onCrash === 'rerun' ? ctx.step('one', () => 1) : 1,
      )
      const runtime = await start([steps], { calls: 2 }, flickers)
      open.push(runtime)
      await expect(ask(runtime)).rejects.toMatchObject({ code: 'store_unavailable' })
      await clock.advance('31s')
      asked = 0
      expect(told(await ask(runtime))).toEqual(['success'])
      expect(told([...(await ask(runtime)), ...(await ask(runtime))])).toEqual(['success', 'over_budget'])
    },
  )

  test('POL-8: repeats with the same result are a loop across a restart; other results are not', async () => {
    const budget = { repeats: 2 }
    let runtime = await start([look()], budget)
    await ask(runtime)
    runtime = await restart(runtime, [look()], budget)
    expect(told([...(await ask(runtime)), ...(await ask(runtime))])).toEqual(['success', 'over_budget'])
    runtime = await restart(runtime, [look()], budget)
    const both = [1, 2].map((n) => ({ id: `c${n}`, name: 'look', input: { n } }))
    expect(told(await runtime.session('s').run(both, { batch: `m${asked++}` }))).toEqual(['over_budget', 'success'])
    runtime = await restart(runtime, [look()], budget)
    expect(told(await ask(runtime))).toEqual(['over_budget']) // a refused call does not reset the loop

    let page = 0
    for (let n = 0; n < 4; n++) {
      runtime = await restart(runtime, [look(() => `page ${page++}`)], budget)
      expect(told(await ask(runtime, { n: 3 }))).toEqual(['success'])
    }
  })

  test.for([
    ['that do not fit', { n: 'x' }],
    ['that cannot be read', '{"n": '],
  ] as const)('POL-8: repeated arguments %s are refused across a restart', async ([, bad]) => {
    const budget = { invalid: 2 }
    let runtime = await start([look()], budget)
    expect(told([...(await ask(runtime, bad)), ...(await ask(runtime, bad))])).toEqual([
      'invalid_arguments',
      'invalid_arguments',
    ])
    runtime = await restart(runtime, [look()], budget)
    expect(told(await ask(runtime, bad))).toEqual(['over_budget'])
    runtime = await restart(runtime, [look()], { invalid: 3 }) // that was the third
    expect(told(await ask(runtime, bad))).toEqual(['over_budget'])
    expect(told(await ask(runtime))).toEqual(['success'])
    runtime = await restart(runtime, [look()], budget)
    expect(told(await ask(runtime, bad))).toEqual(['invalid_arguments']) // a valid call resets the count
  })

  test('POL-8: a failure code passed to resolve() does not count as invalid arguments', async () => {
    const keys: string[] = []
    const parks = argumentTool('look', z.object({ n: z.number() }), {}, async (_, ctx) => {
      const later = await ctx.later()
      keys.push(later.key)
      return later
    })
    const runtime = await start([parks], { invalid: 1 })
    const run = ask(runtime)
    await clock.advance(100)
    await runtime.resolve(keys[0] as string, { failure: { code: 'invalid_arguments', message: 'no' } })
    expect(told(await run)).toEqual(['invalid_arguments'])
    expect(told(await ask(await restart(runtime, [parks], { invalid: 1 }), {}))).toEqual(['invalid_arguments'])
  })

  test('POL-8: tool time is counted across a restart for all attempts, without waiting time', async () => {
    const budget = { time: '60s' } as const
    const slow = slowTool({ name: 'look', takes: '20s', clock })
    const flaky = simpleTool('flaky', { description: 'Takes 15 s, twice' }, async (_, ctx) => {
      await new Promise<void>((resolve) => void clock.timer(15_000, resolve))
      if (ctx.attempt < 2) throw retry({ after: '30s' })
    })
    const parks = tool({
      name: 'parks',
      description: 'Parks',
      input: z.object({}),
      execute: (_, ctx) => ctx.later({ deadline: '1h' }),
    })
    const tools = [slow, flaky, parks]
    let runtime = await start(tools, budget)
    const done = async (name: string, passes: Duration): Promise<string[]> => {
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

  test('POL-8: a body whose worker died has no recorded end, so its time is not counted', async () => {
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

  /** A store whose worker dies as soon as this step key is written. */
  const diesAfter = (key: string): Store => {
    const first = mortal(store)
    return muted(first.store, (change) => {
      if (!hasMark(key)(change)) return true
      first.die()
      return false
    })
  }

  test.for(['stop', 'rerun'] as const)(
    'POL-8: a crash between the count and the start counts once (onCrash: %s)',
    async (onCrash) => {
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
    },
  )

  test('POL-8: a crash between the refusal and the outcome refuses once', async () => {
    const budget = { calls: 1, repeats: 5 }
    await ask(await start([look()], budget))
    const before = await store.document(ofSession)
    void ask(await start([look()], budget, diesAfter('budget')))
    await clock.advance(100)
    const runtime = await start([look()], { calls: 100, repeats: 5 })
    await clock.advance('31s')
    asked = 1
    const [refused] = await ask(runtime)
    expect(refused).toMatchObject({
      status: 'failure',
      failure: { code: 'over_budget', source: 'policy' },
      attempts: 0,
    })
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

  test('POL-8: the cost of a reconciled outcome is charged even if a hook replaces it', async () => {
    const first = mortal(store)
    void ask(await start([look(hang)], { cost: 5 }, first.store))
    await clock.advance(100)
    first.die()
    const found = look(() => 'seen', { reconcile: () => ({ value: result('found', { cost: 5 }) }) })
    const hooks = [{ name: 'mask', after: () => ({ replace: { status: 'success' as const, value: 'masked' } }) }]
    const runtime = await createRuntime({
      store,
      tools: [found],
      clock,
      logger: quiet,
      hooks,
      budgets: { session: { cost: 5 } },
    })
    open.push(runtime)
    await clock.advance('31s')
    asked = 0
    expect(await ask(runtime)).toMatchObject([{ status: 'success', value: 'masked', cost: 5 }])
    expect(told(await ask(runtime))).toEqual(['over_budget'])
  })

  test('POL-8: a call started before the budget existed continues although the budget is used', async () => {
    const first = mortal(store)
    void ask(
      await createRuntime({ store: first.store, tools: [look(hang, { onCrash: 'rerun' })], clock, logger: quiet }),
    )
    await clock.advance(100)
    first.die()
    const runtime = await start([look(() => 'seen', { onCrash: 'rerun' })], { calls: 1 })
    expect(told(await ask(runtime))).toEqual(['success'])
    await clock.advance('31s')
    asked = 0
    expect(await ask(runtime)).toMatchObject([{ status: 'success', attempts: 2 }])
  })

  test.for(['budget', 'budget:settled'])(
    'POL-8: no call is admitted if the store fails at step key %s, and a repeat succeeds',
    async (mark) => {
      let ran = 0
      let away = true
      const flickers = failing(store, (change) =>
        away && hasMark(mark)(change) ? ((away = false), new Error('away')) : undefined,
      )
      const runtime = await start(
        [look(() => (ran++, result('seen', { cost: 3 })), { onCrash: 'rerun' })],
        { cost: 6, calls: 2 },
        flickers,
      )
      open.push(runtime)
      await expect(ask(runtime)).rejects.toMatchObject({ code: 'store_unavailable' })
      expect(ran).toBe(mark === 'budget' ? 0 : 1)
      await clock.advance('31s')
      asked = 0
      expect(told([...(await ask(runtime)), ...(await ask(runtime)), ...(await ask(runtime))])).toEqual([
        'success',
        'success',
        'over_budget',
      ])
      expect(await store.document(ofSession)).toMatchObject({ value: JSON.stringify({ calls: 2, time: 0, cost: 6 }) })
    },
  )

  test('POL-8: no call is admitted if the usage is unreadable', async () => {
    let ran = 0
    const blind: Store = { ...store, document: () => Promise.reject(new Error('away')) }
    const runtime = await start([look(() => ran++)], { calls: 2 }, blind)
    open.push(runtime)
    await expect(ask(runtime)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(ran).toBe(0)
  })

  /** Another worker writes its own counts first, this many times. */
  const overtaken = (mark: string, times: number): Store => {
    const first = (change: Change): void => {
      if (!hasMark(mark)(change) || times-- <= 0) return
      for (const { kind: _, ...kept } of change.guards.filter((guard) => guard.kind === 'kept'))
        store.write(
          { guards: [], documents: [{ ...kept, value: JSON.stringify({ calls: 1, time: 0, cost: 0 }) }], events: [] },
          () => {},
        )
    }
    return { ...store, write: (change, heard, how) => (first(change), store.write(change, heard, how)) }
  }

  test('POL-8: counts written concurrently by another worker are read again and included', async () => {
    const runtime = await start([look()], { calls: 2 }, overtaken('budget', 3))
    open.push(runtime)
    expect(told([...(await ask(runtime)), ...(await ask(runtime))])).toEqual(['success', 'over_budget'])
  })

  test('POL-8: after too many conflicts no call is admitted, and a finished call keeps its outcome', async () => {
    let ran = 0
    const errors: string[] = []
    const noisy: Logger = { ...quiet, error: (message) => void errors.push(message) }
    const counts = look(() => (ran++, result('seen', { cost: 1 })))
    const never = await start([counts], { calls: 2 }, overtaken('budget', 1_000))
    open.push(never)
    await expect(ask(never)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(ran).toBe(0)
    const others = overtaken('budget:settled', 1_000)
    const late = await createRuntime({
      store: others,
      tools: [counts],
      clock,
      logger: noisy,
      budgets: { tenant: { cost: 5 } },
    })
    open.push(late)
    expect(await ask(late)).toMatchObject([{ status: 'success', cost: 1 }])
    expect(errors).toEqual(['The usage of a call was not charged to its budgets'])
  })

  test('POL-8: a call lost to another worker is left out of the shared count', async () => {
    let thieves = 0
    const stolen: Store = {
      ...store,
      // Another worker takes one of the calls while the count is being written.
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
    run.catch(() => {}) // the worker that took the first call reports it
    await clock.advance('31s')
    expect(JSON.parse((await store.document(ofSession))?.value ?? '{}')).toMatchObject({ calls: 2 })
    const ended = await runtime.session('s').calls.list({ status: 'success' })
    expect(ended.map(({ callId }) => callId)).toEqual(['c2', 'c3'])
  })

  test('POL-8: createRuntime() rejects the misspelt option `budget`', async () => {
    await expect(createRuntime({ store, budget: { calls: 1 } } as never)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/no option `budget`; did you mean `budgets`/),
    })
  })
})
