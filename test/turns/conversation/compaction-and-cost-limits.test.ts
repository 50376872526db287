// Turns whose model cannot read it all, and what they may cost: what is asked of a model then.

import { type Model, type ModelCall, ModelFailure, result, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { problemsIn } from '../../kit/models/conversation-rules.ts'
import { after } from '../../kit/stores/fresh-store.ts'
import { opening } from '../../kit/open-runtime.ts'

const open = opening()
const input = { type: 'object' } as const
const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, reasoningTokens: 0 }
const isSummary = ({ request }: ModelCall): boolean => request.instructions?.startsWith('You sum up') === true
const price = { input: 0, output: 1_000_000 }

describe('POL-8 SESS-11: limits.cost is looked at before the model is asked', () => {
  test('after a summary that has cost it all', async () => {
    let asked = 0
    const model: Model = {
      name: 'm',
      price,
      async generate(call) {
        if (isSummary(call)) return { parts: [{ type: 'text', text: 'Short' }], finish: 'stop', usage: { ...usage, outputTokens: 50 } }
        asked++
        return { parts: [{ type: 'text', text: 'x'.repeat(4_000) }], finish: 'stop', usage: { ...usage, outputTokens: 1 } }
      },
    }
    const { runtime, clock } = await open()
    const session = runtime.session('s')
    await after(session.turn({ model, message: 'Hi' }).outcome, clock)
    expect(asked).toBe(1)
    const outcome = await after(session.turn({ model, message: 'And?', limits: { historyTokens: 500, cost: 10 } }).outcome, clock)
    expect((await session.usage()).total.cost).toBeGreaterThanOrEqual(51)
    expect(asked).toBe(1)
    expect(outcome).toMatchObject({ value: { failure: { code: 'turn_limit' } } })
  })

  test('after a summary that the model made necessary', async () => {
    let asked = 0
    const model: Model = {
      name: 'm',
      price,
      async generate(call) {
        if (isSummary(call)) return { parts: [{ type: 'text', text: 'Short' }], finish: 'stop', usage: { ...usage, outputTokens: 50 } }
        asked++
        if (JSON.stringify(call.request.messages).length > 2_000) throw new ModelFailure('too long', { tooLong: true })
        return { parts: [{ type: 'text', text: 'x'.repeat(4_000) }], finish: 'stop', usage: { ...usage, outputTokens: 1 } }
      },
    }
    const { runtime, clock } = await open()
    const session = runtime.session('s')
    await after(session.turn({ model, message: 'Hi' }).outcome, clock)
    const outcome = await after(session.turn({ model, message: 'And?', limits: { cost: 10 } }).outcome, clock)
    expect((await session.usage()).total.cost).toBeGreaterThanOrEqual(51)
    expect(asked).toBe(2)
    expect(outcome).toMatchObject({ value: { failure: { code: 'turn_limit' } } })
  })
})

test('POL-8 SESS-4: a turn that has its answer does not fail for its cost because a user said something meanwhile', async () => {
  let say = async (): Promise<void> => {}
  const model: Model = {
    name: 'm',
    price,
    async generate() {
      await say()
      return { parts: [{ type: 'text', text: 'Dear' }], finish: 'stop', usage: { ...usage, outputTokens: 9 } }
    },
  }
  const { runtime, clock } = await open()
  const session = runtime.session('s')
  say = () => session.messages.send('One more thing', { id: 'once' })
  // A final answer is an answer, whatever it cost: what was said with it is for the next turn.
  expect(await after(session.turn({ model, message: 'Go', limits: { cost: 3 } }).outcome, clock)).toMatchObject({
    value: { status: 'success', value: { text: 'Dear' } },
  })
})

describe('SESS-10 SESS-6: a frame whose task is too long', () => {
  const hand = tool({
    name: 'hand',
    description: 'd',
    input,
    hints: { readOnly: true },
    execute: () => result('ok', { control: { switchFrame: { frame: 'f', task: 'Long '.repeat(500) } } }),
  })
  test.each(['said by the model', 'known before'])('nobody is asked, and paid, to sum up nothing: %s', async (how) => {
    const given: ModelCall['request'][] = []
    const model: Model = {
      name: 'f',
      ...(how === 'known before' ? { contextTokens: 300 } : {}),
      async generate(call) {
        given.push(call.request)
        if (!isSummary(call) && how !== 'known before') throw new ModelFailure('too long', { tooLong: true })
        return { parts: [{ type: 'text', text: 'Done' }], finish: 'stop', usage }
      },
    }
    const { runtime, clock } = await open({ tools: [hand], frames: [{ name: 'f', model }] })
    const first = scriptedModel([{ call: { name: 'hand' } }], { name: 'first' })
    await after(runtime.session('s').turn({ model: first, message: 'Go' }).outcome, clock)
    for (const { messages } of given) expect(problemsIn(messages)).toEqual([])
  })
})

describe('SESS-10: summaries of summaries', () => {
  /** Reads so many characters; sums up in so many. */
  const reads = (most: number, summary: string): { model: Model; toSumUp: string[] } => {
    const seen = { toSumUp: [] as string[] }
    return {
      ...seen,
      model: {
        name: 'narrow',
        async generate(call) {
          const all = JSON.stringify(call.request.messages)
          if (all.length > most) throw new ModelFailure('too long', { tooLong: true })
          if (isSummary(call)) seen.toSumUp.push(all)
          return { parts: [{ type: 'text', text: isSummary(call) ? summary : 'Fine' }], finish: 'stop', usage }
        },
      },
    }
  }
  const wide = (): Model => ({
    name: 'wide',
    async generate(call) {
      const text = isSummary(call)
        ? `${'The customer wants a kettle. '.repeat(100)}The order is ORDER-4711. ${'It is blue. '.repeat(250)}`
        : 'y'.repeat(2_000)
      return { parts: [{ type: 'text', text }], finish: 'stop', usage }
    },
  })

  test('what was summed up before is not thrown away because little was said since', async () => {
    const { runtime, clock } = await open()
    const session = runtime.session('s')
    await after(session.turn({ model: wide(), message: 'Hi' }).outcome, clock)
    await after(session.turn({ model: wide(), message: 'x', limits: { historyTokens: 300 } }).outcome, clock)
    const roles = (await session.messages.list()).map(({ message }) => message.role)
    expect(roles).toContain('summary')
    const { model, toSumUp } = reads(7_500, 'SUMMARY')
    const outcome = await after(session.turn({ model, message: 'Go on' }).outcome, clock)
    expect(outcome).toMatchObject({ value: { status: 'success' } })
    // It could have read most of what there was.
    expect(toSumUp.join('').length).toBeGreaterThan(3_000)
  })
})

describe('SESS-10: what is summed up', () => {
  test('the older half, as the guide says: about half of the conversation stays as it was said', async () => {
    let refused = false
    const given: number[] = []
    const model: Model = {
      name: 'm',
      async generate(call) {
        if (isSummary(call)) return { parts: [{ type: 'text', text: 'S' }], finish: 'stop', usage }
        if (call.request.messages.length > 15 && !refused) {
          refused = true
          throw new ModelFailure('too long', { tooLong: true })
        }
        given.push(call.request.messages.length)
        return { parts: [{ type: 'text', text: 'a'.repeat(300) }], finish: 'stop', usage }
      },
    }
    const { runtime, clock } = await open()
    for (let n = 0; n < 9; n++) await after(runtime.session('s').turn({ model, message: 'u'.repeat(300) }).outcome, clock)
    expect(refused).toBe(true)
    // 17 messages: about 8 stay, one stands for the rest.
    expect(given.at(-1)).toBeGreaterThanOrEqual(8)
  })

  test('what is older is given whole to who sums it up, where they can read it', async () => {
    let refused = false
    const toSumUp: string[] = []
    const model: Model = {
      name: 'm',
      async generate(call) {
        if (isSummary(call)) {
          toSumUp.push(JSON.stringify(call.request.messages))
          return { parts: [{ type: 'text', text: 'S' }], finish: 'stop', usage }
        }
        if (call.request.messages.length > 15 && !refused) {
          refused = true
          throw new ModelFailure('too long', { tooLong: true })
        }
        return { parts: [{ type: 'text', text: 'a'.repeat(300) }], finish: 'stop', usage }
      },
    }
    const { runtime, clock } = await open()
    const session = runtime.session('s')
    for (let n = 1; n <= 9; n++) await after(session.turn({ model, message: `FACT-${n} ${'u'.repeat(300)}` }).outcome, clock)
    const given = await session.messages.list()
    const left = given.filter(({ message }) => message.role === 'user').length
    expect(left).toBe(9)
    const facts = Array.from({ length: 5 }, (_, n) => `FACT-${n + 1} `)
    expect(facts.filter((fact) => !toSumUp.join('').includes(fact))).toEqual([])
  })

  test('VAL-5: who sums up is told of files that a user sent', async () => {
    const given: string[] = []
    const model: Model = {
      name: 'm',
      async generate(call) {
        if (isSummary(call)) given.push(JSON.stringify(call.request.messages))
        return { parts: [{ type: 'text', text: isSummary(call) ? 'S' : 'I see' }], finish: 'stop', usage }
      },
    }
    const { runtime, clock } = await open()
    const session = runtime.session('s')
    await after(
      session.turn({ model, message: { attachments: [{ data: 'a,b', mediaType: 'text/csv', name: 'orders-2026.csv' }] } }).outcome,
      clock,
    )
    await after(session.turn({ model, message: 'And?', limits: { historyTokens: 20 } }).outcome, clock)
    expect(given.join('')).toContain('orders-2026.csv')
  })
})
