// The results of prepare and the before hooks are recorded, and recovery after a crash does not run them again.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createRuntime,
  type Hook,
  retry,
  type Runtime,
  type RuntimeOptions,
  type Tool,
  tool,
  type ToolContext,
} from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Change, Store } from '../../../src/store/store.ts'
import { mortal, type StoreKind, storeOf } from '../../kit/stores/killable-store.ts'
import { muted } from '../../kit/stores/failing-writes.ts'
import { hang } from '../../kit/simple-tools.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

const writes =
  (key: string) =>
  (change: Change): boolean =>
    change.steps?.some((step) => step.key === key) ?? false

describe.each(['memory', 'sqlite', 'sqlite, opened anew'] as const)('prepare on %s', (where) => {
  const kind: StoreKind = where === 'memory' ? 'memory' : 'sqlite'
  let dir: string
  let clock: ManualClock
  let opened: Store[]
  let open: Runtime[]
  /** The store of the worker that will die. */
  let first: { store: Store; die(): void }
  let call: { id: string; name: string; input: { cents: number } }

  const openStore = (): Store => {
    const store = storeOf(kind, join(dir, 'agent.db'), clock)
    opened.push(store)
    return store
  }
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'pawl-prepare-'))
    clock = manualClock()
    ;[opened, open] = [[], []]
    first = mortal(openStore())
    call = { id: 'a', name: 'pay', input: { cents: 1 } }
  })
  afterEach(async () => {
    await Promise.all(open.map((runtime) => runtime.close({ grace: 0 })))
    await Promise.all(opened.map((store) => store.close()))
    rmSync(dir, { recursive: true, force: true })
  })

  type Body = (input: { cents: number }, ctx: ToolContext) => unknown
  const pay = (execute: Body, more: object = {}): Tool =>
    tool({
      name: 'pay',
      description: 'Pays',
      input: z.object({ cents: z.number() }),
      onCrash: 'rerun',
      execute,
      ...more,
    })
  const shows: Body = (input, ctx) => ({ input, prepared: ctx.prepared, attempt: ctx.attempt })

  /** Runs the call until its worker dies: in a hanging body, or right after the write that matches `at`. */
  const crash = async (
    tools: readonly Tool[],
    options: Partial<RuntimeOptions> = {},
    at?: (change: Change) => boolean,
  ): Promise<void> => {
    const { store, die } = first
    const hears = (change: Change): boolean => {
      const last = at?.(change) ?? false
      if (last) die()
      return !last
    }
    const dying = await createRuntime({ store: muted(store, hears), tools, clock, logger: quiet, ...options })
    void dying.session('s').run([call])
    await clock.advance(100)
    die()
  }
  const recover = async (tools: readonly Tool[], options: Partial<RuntimeOptions> = {}) => {
    const store = where === 'sqlite, opened anew' ? openStore() : (opened.at(-1) as Store)
    const runtime = await createRuntime({ store, tools, clock, logger: quiet, ...options })
    open.push(runtime)
    await clock.advance('31s')
    return (await runtime.session('s').run([call]))[0]
  }

  /** Returns another value each time, so that the body shows which result it got. */
  const quotes = () => {
    let asked = 0
    return {
      get asked() {
        return asked
      },
      prepare: ({ cents }: { cents: number }) => ({ input: { cents: cents + ++asked }, payload: { quote: asked } }),
    }
  }

  test('CALL-7: recovery before the body began uses the recorded result of prepare', async () => {
    const quote = quotes()
    let bodies = 0
    await crash([pay(() => ++bodies, { prepare: quote.prepare })], {}, writes('prepare'))
    expect([quote.asked, bodies]).toEqual([1, 0])
    const outcome = await recover([pay(shows, { prepare: quote.prepare })])
    expect(outcome).toMatchObject({ value: { input: { cents: 2 }, prepared: { quote: 1 }, attempt: 1 } })
    expect(quote.asked).toBe(1)
  })

  test('CALL-7: recovery after the body began uses the recorded result of prepare', async () => {
    const quote = quotes()
    await crash([pay(hang, { prepare: quote.prepare })])
    const outcome = await recover([pay(shows, { prepare: quote.prepare })])
    expect(outcome).toMatchObject({ value: { input: { cents: 2 }, prepared: { quote: 1 }, attempt: 2 } })
    expect(quote.asked).toBe(1)
  })

  test('CALL-7: a recorded answer from prepare is the outcome after a crash, and no body runs', async () => {
    let asked = 0
    const prepare = (): object => ({ answer: ++asked })
    await crash([pay(shows, { prepare })], {}, writes('prepare'))
    expect(await recover([pay(shows, { prepare })])).toMatchObject({ status: 'success', value: 1, attempts: 0 })
    expect(asked).toBe(1)
  })

  test('CALL-7: an interrupted prepare runs again, because it recorded nothing', async () => {
    const quote = quotes()
    await crash([pay(shows, { prepare: hang })])
    expect(await recover([pay(shows, { prepare: quote.prepare })])).toMatchObject({
      value: { prepared: { quote: 1 }, attempt: 1 },
    })
  })

  test('CALL-7: recovery uses the prepare of the first attempt although the tool changed', async () => {
    const quote = quotes()
    await crash([pay(hang, { prepare: quote.prepare })])
    expect(await recover([pay(shows)])).toMatchObject({ value: { input: { cents: 2 }, prepared: { quote: 1 } } })
    first = mortal(openStore())
    call = { ...call, id: 'b' }
    await crash([pay(hang)])
    expect(await recover([pay(shows, { prepare: quote.prepare })])).toMatchObject({
      value: { input: { cents: 1 }, prepared: null },
    })
    expect(quote.asked).toBe(1)
  })

  test('CALL-7: prepared arguments still apply if the tool lost its prepare before the body began', async () => {
    const quote = quotes()
    await crash([pay(shows, { prepare: quote.prepare })], {}, writes('prepare'))
    expect(await recover([pay(shows)])).toMatchObject({ value: { input: { cents: 2 }, prepared: { quote: 1 } } })
  })

  test('CALL-7: a changed version upgrades the recorded arguments and keeps the recorded payload', async () => {
    const quote = quotes()
    const upgrade = ({ args }: { args: { cents: number } }): object => ({ cents: args.cents + 100 })
    await crash([pay(hang, { prepare: quote.prepare, version: '1' })])
    const outcome = await recover([pay(shows, { prepare: quote.prepare, version: '2', upgrade })])
    expect(outcome).toMatchObject({ value: { input: { cents: 102 }, prepared: { quote: 1 } } })
    expect(quote.asked).toBe(1)
  })

  test('CALL-7 DUR-1: mutated arguments and payload are reset in the next attempt', async () => {
    const seen: unknown[] = []
    const afterwards: unknown[] = []
    const spoils: Body = (input, ctx) => {
      seen.push(structuredClone([input, ctx.prepared]))
      input.cents = 999
      ;(ctx.prepared as { quote: number }).quote = 999
      if (ctx.attempt < 2) throw retry({ after: 10 })
      return 'done'
    }
    const after: Hook = { name: 'after', after: (facts) => void afterwards.push(facts.input) }
    for (const more of [{}, { version: '2', upgrade: ({ args }: { args: unknown }) => args }]) {
      const runtime = await createRuntime({
        store: opened[0] as Store,
        tools: [pay(spoils, { prepare: () => ({ payload: { quote: 1 } }), ...more })],
        clock,
        logger: quiet,
        hooks: [after],
      })
      open.push(runtime)
      const run = runtime.session('s').run([{ ...call, id: `c${open.length}` }])
      await clock.advance('1s')
      expect(await run).toMatchObject([{ value: 'done', attempts: 2 }])
    }
    expect(seen).toEqual(Array.from({ length: 4 }, () => [{ cents: 1 }, { quote: 1 }]))
    expect(afterwards).toEqual([{ cents: 1 }, { cents: 1 }])
  })

  describe('before hooks', () => {
    let asked: number
    const adds = (cents: number): Hook => ({
      name: 'adds',
      before: ({ input }) => (asked++, (input as { cents: number }).cents === 1 ? { replace: { cents } } : undefined),
    })
    const denies: Hook = { name: 'denies', before: () => (asked++, { deny: 'no' }) }
    beforeEach(() => {
      asked = 0
    })

    test.for([
      ['recorded and the body not begun', writes('hooks:before')],
      ['the body begun', undefined],
    ] as const)('CALL-8: their decision holds after a crash, %s, and they do not run again', async ([, at]) => {
      await crash([pay(at ? shows : hang)], { hooks: [adds(5)] }, at)
      expect(asked).toBe(2) // once, and once more on the replaced input
      const outcome = await recover([pay(shows)], { hooks: [adds(7), denies] })
      expect(outcome).toMatchObject({ value: { input: { cents: 5 } } })
      expect(asked).toBe(2)
    })

    test('CALL-8: a recorded denial holds, whichever hooks are registered then', async () => {
      for (const hooks of [[], [adds(7)]]) {
        call = { ...call, id: `d${hooks.length}` }
        first = mortal(openStore())
        await crash([pay(shows)], { hooks: [denies] }, writes('hooks:before'))
        expect(await recover([pay(shows)], { hooks })).toMatchObject({ failure: { code: 'denied_by_hook' } })
      }
      expect(asked).toBe(2)
    })

    test('CALL-8: only a verdict changes the arguments, not a mutation inside a hook', async () => {
      const spoils: Hook = { name: 'spoils', before: ({ input }) => void ((input as { cents: number }).cents = 999) }
      const seen: unknown[] = []
      const looks: Hook = { name: 'looks', before: ({ input }) => void seen.push(input) }
      const runtime = await createRuntime({
        store: opened[0] as Store,
        tools: [pay(shows)],
        clock,
        logger: quiet,
        hooks: [spoils, looks],
      })
      open.push(runtime)
      expect(await runtime.session('s').run([call])).toMatchObject([{ value: { input: { cents: 1 } } }])
      expect(seen).toEqual([{ cents: 1 }])
    })
  })
})
