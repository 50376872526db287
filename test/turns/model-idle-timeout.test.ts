// How long a model may be silent, where the wall clock is set meanwhile; and models that are asked though nobody said anything.

import { type Clock, createRuntime, type Model, ModelFailure, type Runtime } from 'pawl'
import { afterEach, describe, expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'
import { opening } from '../kit/open-runtime.ts'

const open = opening()
const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

describe('SESS-2 TIME-1: how long a model says nothing is no matter of the wall clock', () => {
  const hour = 3_600_000
  test('one that is silent is let go in time, though the clock was set back', async () => {
    const { clock, store } = freshMemory()
    let shift = 0
    const moved: Clock = { ...clock, now: () => clock.now() + shift }
    let asked = 0
    const model: Model = {
      name: 'm',
      idle: '20s',
      generate: ({ signal }) =>
        ++asked > 1
          ? Promise.resolve({ parts: [{ type: 'text', text: 'At last' }], finish: 'stop', usage })
          : new Promise((_, reject) => signal.addEventListener('abort', () => reject(new ModelFailure('stopped')))),
    }
    const runtime = await createRuntime({ store, clock: moved, logger: quiet })
    runtimes.push(runtime)
    const turn = runtime.session('s').turn({ model, message: 'Hi' })
    await clock.advance('5s')
    expect(asked).toBe(1)
    shift = -hour
    await clock.advance('30s')
    expect(asked).toBe(2)
    await after(turn.outcome, clock)
  })

  test('one that speaks is not let go because the clock was set on', async () => {
    const { clock, store } = freshMemory()
    let shift = 0
    const moved: Clock = { ...clock, now: () => clock.now() + shift }
    let asked = 0
    const model: Model = {
      name: 'm',
      idle: '20s',
      async generate({ told }) {
        asked++
        for (let n = 0; n < 5; n++) {
          await new Promise<void>((resolve) => void clock.timer(15_000, resolve))
          told({ type: 'text', delta: 'x' })
        }
        return { parts: [{ type: 'text', text: 'xxxxx' }], finish: 'stop', usage }
      },
    }
    const runtime = await createRuntime({ store, clock: moved, logger: quiet })
    runtimes.push(runtime)
    const turn = runtime.session('s').turn({ model, message: 'Hi' })
    await clock.advance('17s')
    shift = hour
    for (let n = 0; n < 10; n++) await clock.advance('10s')
    await after(turn.outcome, clock)
    expect(asked).toBe(1)
  })
})

test('SESS-11: a turn in which nobody has said anything costs nothing', async () => {
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
