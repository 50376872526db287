// A call that ends after the model has read a placeholder for it: its result is a notice, and wakes the session.

import { type Runtime, tool } from 'pawl'
import { scriptedModel, type ScriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import { dieAfter, mortal } from '../../kit/stores/killable-store.ts'
import { stores, workersOn } from '../../kit/open-runtime.ts'
import { advanceUntil } from '../../kit/wait-until.ts'

describe.each(stores)('results behind placeholders on %s', (_kind, fresh) => {
  let refunds = 0
  const refund = tool({
    name: 'refund',
    description: 'Refunds',
    input: { type: 'object' },
    approval: 'always',
    execute: () => `refund ${++refunds}`,
  })
  const world = workersOn(fresh, { tools: [refund], wake: true })
  const script = (): ScriptedModel =>
    scriptedModel([{ call: { name: 'refund' } }, 'It waits', ({ last }) => `Heard ${/refund \d+/.exec(last)?.[0]}`], {
      name: 'm',
    })

  /** The user speaks while the refund waits for approval, and the turn ends with a placeholder. */
  const askAndSpeak = async (runtime: Runtime, clock: ManualClock, model: ScriptedModel): Promise<void> => {
    refunds = 0
    const session = runtime.session('s')
    const turn = session.turn({ model, message: 'Refund me' })
    await advanceUntil(clock, async () => (await runtime.inbox()).length === 1)
    await session.messages.send('Hello?')
    await advanceUntil(clock, () => model.asked === 2)
    await turn.outcome
    expect(await session.notices.list()).toEqual([])
  }
  const approve = async (runtime: Runtime): Promise<void> => {
    const [item] = await runtime.inbox()
    await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
  }
  const rest = async (clock: ManualClock): Promise<void> => {
    for (let n = 0; n < 40; n++) await clock.advance(5_000)
  }
  const lastText = async (runtime: Runtime): Promise<string> =>
    JSON.stringify((await runtime.session('s').messages.list()).at(-1)?.message)

  test('POL-7, TASK-9: the result of an approved call wakes the session once', async () => {
    const { clock, open } = world()
    const model = script()
    const runtime = await open({ models: [model] })
    await askAndSpeak(runtime, clock, model)
    await approve(runtime)
    await advanceUntil(clock, () => model.asked === 3)
    await rest(clock)
    expect(model.asked).toBe(3)
    expect(refunds).toBe(1)
    expect(await lastText(runtime)).toContain('Heard refund 1')
    expect(await runtime.session('s').notices.list()).toEqual([])
  })

  test('POL-7: without waking, the result is a notice until a turn or the host takes it', async () => {
    const { clock, open } = world()
    const model = script()
    const runtime = await open({ models: [model], wake: false })
    const session = runtime.session('s')
    await askAndSpeak(runtime, clock, model)
    await approve(runtime)
    await advanceUntil(clock, () => refunds === 1)
    await rest(clock)
    expect(model.asked).toBe(2)
    const [notice, ...others] = await session.notices.list()
    expect(others).toEqual([])
    expect(notice).toMatchObject({ about: 'result', task: null, text: expect.stringContaining('refund 1') })
    expect(notice?.text).toContain('this is not a message of the user')
    expect(await session.notices.acknowledge([notice?.id ?? ''])).toBe(1)
    expect(await session.notices.list()).toEqual([])
    const turn = session.turn({ model, message: 'And?' })
    await advanceUntil(clock, () => model.asked === 3)
    await turn.outcome
    // The host has taken the notice, so the model does not read it.
    expect(JSON.stringify(model.requests[2]?.messages)).not.toContain('refund 1')
  })

  test('POL-7, DUR-3: a worker that dies between the outcome and the wake loses neither', async () => {
    const { clock, store, open } = world()
    const model = script()
    const life = mortal(store)
    const settlesRefund = dieAfter(life, ({ updateCall }) => {
      const { state, outcome } = updateCall?.progress ?? {}
      return state === 'settled' && String(outcome).includes('refund 1')
    })
    const first = await open({ models: [model] }, settlesRefund)
    await askAndSpeak(first, clock, model)
    await approve(first)
    await advanceUntil(clock, () => refunds === 1)
    await clock.advance('31s')
    expect(model.asked).toBe(2)
    const second = await open({ models: [model] })
    await advanceUntil(clock, () => model.asked === 3)
    await rest(clock)
    expect(model.asked).toBe(3)
    expect(refunds).toBe(1)
    expect(await lastText(second)).toContain('Heard refund 1')
  })
})
