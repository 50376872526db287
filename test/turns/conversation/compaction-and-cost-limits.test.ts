// Compaction under context and cost limits: which requests reach the model.

import { type Model, type ModelCall, ModelFailure, result } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { problemsIn } from '../../kit/models/conversation-rules.ts'
import { after } from '../../kit/stores/fresh-store.ts'
import { opening } from '../../kit/open-runtime.ts'
import { readOnlyTool } from '../../kit/simple-tools.ts'

const open = opening()
const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, reasoningTokens: 0 }
const isSummary = ({ request }: ModelCall): boolean => request.instructions?.startsWith('You sum up') === true
const price = { input: 0, output: 1_000_000 }

describe('POL-8 SESS-11: limits.cost is checked before the model is called', () => {
  test.each([
    { cause: 'that used up the limit', context: Infinity, limits: { historyTokens: 500, cost: 10 }, requests: 1 },
    { cause: 'caused by a context overflow', context: 2_000, limits: { cost: 10 }, requests: 2 },
  ])('after a summary $cause', async ({ context, limits, requests }) => {
    let asked = 0
    const model: Model = {
      name: 'm',
      price,
      async generate(call) {
        if (isSummary(call))
          return { parts: [{ type: 'text', text: 'Short' }], finish: 'stop', usage: { ...usage, outputTokens: 50 } }
        asked++
        if (JSON.stringify(call.request.messages).length > context)
          throw new ModelFailure('too long', { tooLong: true })
        return {
          parts: [{ type: 'text', text: 'x'.repeat(4_000) }],
          finish: 'stop',
          usage: { ...usage, outputTokens: 1 },
        }
      },
    }
    const { runtime, clock } = await open()
    const session = runtime.session('s')
    await after(session.turn({ model, message: 'Hi' }).outcome, clock)
    expect(asked).toBe(1)
    const outcome = await after(session.turn({ model, message: 'And?', limits }).outcome, clock)
    expect((await session.usage()).total.cost).toBeGreaterThanOrEqual(51)
    expect(asked).toBe(requests)
    expect(outcome).toMatchObject({ value: { failure: { code: 'turn_limit' } } })
  })
})

test('POL-8 SESS-4: a message during a final answer over the cost limit does not fail the turn', async () => {
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
  // A final answer counts whatever it cost; the message is left for the next turn.
  expect(await after(session.turn({ model, message: 'Go', limits: { cost: 3 } }).outcome, clock)).toMatchObject({
    value: { status: 'success', value: { text: 'Dear' } },
  })
})

describe('SESS-10 SESS-6: a frame whose task is too long', () => {
  const hand = readOnlyTool('hand', () =>
    result('ok', { control: { switchFrame: { frame: 'f', task: 'Long '.repeat(500) } } }),
  )
  test.each(['overflow reported by the model', 'context size known in advance'])(
    'no summary of an empty conversation is requested: %s',
    async (how) => {
      const given: ModelCall['request'][] = []
      const model: Model = {
        name: 'f',
        ...(how === 'context size known in advance' ? { contextTokens: 300 } : {}),
        async generate(call) {
          given.push(call.request)
          if (!isSummary(call) && how !== 'context size known in advance')
            throw new ModelFailure('too long', { tooLong: true })
          return { parts: [{ type: 'text', text: 'Done' }], finish: 'stop', usage }
        },
      }
      const { runtime, clock } = await open({ tools: [hand], frames: [{ name: 'f', model }] })
      const first = scriptedModel([{ call: { name: 'hand' } }], { name: 'first' })
      await after(runtime.session('s').turn({ model: first, message: 'Go' }).outcome, clock)
      for (const { messages } of given) expect(problemsIn(messages)).toEqual([])
    },
  )
})

describe('SESS-10: summaries of summaries', () => {
  /** A model that reads at most `most` characters and answers summary requests with `summary`. */
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

  test('an earlier summary is included in the next summary request', async () => {
    const { runtime, clock } = await open()
    const session = runtime.session('s')
    await after(session.turn({ model: wide(), message: 'Hi' }).outcome, clock)
    await after(session.turn({ model: wide(), message: 'x', limits: { historyTokens: 300 } }).outcome, clock)
    const roles = (await session.messages.list()).map(({ message }) => message.role)
    expect(roles).toContain('summary')
    const { model, toSumUp } = reads(7_500, 'SUMMARY')
    const outcome = await after(session.turn({ model, message: 'Go on' }).outcome, clock)
    expect(outcome).toMatchObject({ value: { status: 'success' } })
    // The model can read most of the earlier summary.
    expect(toSumUp.join('').length).toBeGreaterThan(3_000)
  })
})

describe('SESS-10: the compacted part', () => {
  test('is the older half, and the rest of the conversation stays unchanged', async () => {
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
    for (let n = 0; n < 9; n++)
      await after(runtime.session('s').turn({ model, message: 'u'.repeat(300) }).outcome, clock)
    expect(refused).toBe(true)
    // 17 messages: about 8 stay, and one summary replaces the rest.
    expect(given.at(-1)).toBeGreaterThanOrEqual(8)
  })

  test('is passed completely to the summary request if the model can read it', async () => {
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
    for (let n = 1; n <= 9; n++)
      await after(session.turn({ model, message: `FACT-${n} ${'u'.repeat(300)}` }).outcome, clock)
    const given = await session.messages.list()
    const left = given.filter(({ message }) => message.role === 'user').length
    expect(left).toBe(9)
    const facts = Array.from({ length: 5 }, (_, n) => `FACT-${n + 1} `)
    expect(facts.filter((fact) => !toSumUp.join('').includes(fact))).toEqual([])
  })

  test('VAL-5: names the files that a user sent in the summary request', async () => {
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
      session.turn({
        model,
        message: { attachments: [{ data: 'a,b', mediaType: 'text/csv', name: 'orders-2026.csv' }] },
      }).outcome,
      clock,
    )
    await after(session.turn({ model, message: 'And?', limits: { historyTokens: 20 } }).outcome, clock)
    expect(given.join('')).toContain('orders-2026.csv')
  })
})
