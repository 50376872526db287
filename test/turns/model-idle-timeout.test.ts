// The idle timeout of a model while the wall clock is changed, and turns without any new message.

import { type Clock, createRuntime, type Model, ModelFailure } from 'pawl'
import { describe, expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'
import { closedAfterEach, opening } from '../kit/open-runtime.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import type { Store } from '../../src/store/store.ts'

const open = opening()
const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }
const runtimes = closedAfterEach()

describe('SESS-2 TIME-1: the idle timeout of a model ignores wall clock changes', () => {
  const hour = 3_600_000
  /** A turn under a wall clock that setClock shifts. */
  const startTurn = async (clock: ManualClock, store: Store, generate: Model['generate']) => {
    let shift = 0
    const moved: Clock = { ...clock, now: () => clock.now() + shift }
    const runtime = await createRuntime({ store, clock: moved, logger: quiet })
    runtimes.push(runtime)
    const turn = runtime.session('s').turn({ model: { name: 'm', idle: '20s', generate }, message: 'Hi' })
    return { turn, setClock: (by: number) => void (shift = by) }
  }

  test('a silent model times out although the clock was set back', async () => {
    const { clock, store } = freshMemory()
    let asked = 0
    const { turn, setClock } = await startTurn(clock, store, ({ signal }) =>
      ++asked > 1
        ? Promise.resolve({ parts: [{ type: 'text', text: 'At last' }], finish: 'stop', usage })
        : new Promise((_, reject) => signal.addEventListener('abort', () => reject(new ModelFailure('stopped')))),
    )
    await clock.advance('5s')
    expect(asked).toBe(1)
    setClock(-hour)
    await clock.advance('30s')
    expect(asked).toBe(2)
    await after(turn.outcome, clock)
  })

  test('a streaming model does not time out when the clock is set forward', async () => {
    const { clock, store } = freshMemory()
    let asked = 0
    const { turn, setClock } = await startTurn(clock, store, async ({ told }) => {
      asked++
      for (let n = 0; n < 5; n++) {
        await new Promise<void>((resolve) => void clock.timer(15_000, resolve))
        told({ type: 'text', delta: 'x' })
      }
      return { parts: [{ type: 'text', text: 'xxxxx' }], finish: 'stop', usage }
    })
    await clock.advance('17s')
    setClock(hour)
    for (let n = 0; n < 10; n++) await clock.advance('10s')
    await after(turn.outcome, clock)
    expect(asked).toBe(1)
  })
})

test('SESS-11: a turn without a new message fails without calling the model', async () => {
  let asked = 0
  const model: Model = {
    name: 'm',
    price: { input: 1, output: 1 },
    async generate() {
      asked++
      return { parts: [{ type: 'text', text: 'a'.repeat(3_000) }], finish: 'stop', usage }
    },
  }
  const { runtime, clock } = await open()
  const session = runtime.session('s')
  await after(session.turn({ model, message: 'Hi' }).outcome, clock)
  expect(await after(session.turn({ model, limits: { historyTokens: 100 } }).outcome, clock)).toMatchObject({
    value: { failure: { code: 'turn_empty' } },
  })
  expect(asked).toBe(1)
})
