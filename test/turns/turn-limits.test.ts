// Context overflow, idle timeout and cost limits of a turn, and the events that observers receive.

import {
  agent,
  createRuntime,
  type Model,
  type ModelCall,
  ModelFailure,
  result,
  type Runtime,
  type RuntimeOptions,
  type Tool,
  tool,
} from 'pawl'
import { type Line, scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'
import { keepOpen, mortal } from '../kit/stores/killable-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { problemsIn } from '../kit/models/conversation-rules.ts'
import { closedAfterEach } from '../kit/open-runtime.ts'
import { ignoreOutcome } from '../kit/wait-until.ts'
import { watchDeltas } from './watch-deltas.ts'
import { readOnlyTool, rerunTool } from '../kit/simple-tools.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

async function open(
  options: Partial<RuntimeOptions> = {},
): Promise<{ runtime: Runtime; clock: ManualClock; store: Store }> {
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, logger: quiet, ...options })
  runtimes.push(runtime)
  return { runtime, clock, store }
}

/** A model that rejects requests above `most` characters and counts its summary requests. */
function narrow(
  most: number,
  lines: readonly Line[],
): { model: Model; given: ModelCall['request'][]; summaries: number; refused: number } {
  const script = scriptedModel([{ when: /^(User|Assistant|Result|What was said before)/, say: 'SUMMARY' }, ...lines], {
    name: 'narrow',
  })
  const seen = {
    given: [] as ModelCall['request'][],
    summaries: 0,
    refused: 0,
    model: {
      name: 'narrow',
      async generate(call: ModelCall) {
        if (JSON.stringify(call.request.messages).length > most) {
          seen.refused++
          throw new ModelFailure('the input is longer than its context window (HTTP 400)', { tooLong: true })
        }
        if (call.request.instructions?.startsWith('You sum up')) seen.summaries++
        else seen.given.push(call.request)
        return script.generate(call)
      },
    },
  }
  return seen
}

describe('SESS-10: a model that reports a context overflow', () => {
  const long = readOnlyTool('long', () => 'r'.repeat(900))
  const lines: Line[] = [...Array.from({ length: 8 }, (): Line => ({ call: { name: 'long' } })), 'Done.']

  test('the conversation is compacted and the model called again; calls keep their results', async () => {
    const seen = narrow(6_000, lines)
    const { runtime, clock } = await open({ tools: [long] })
    const turn = runtime.session('s').turn({ model: seen.model, message: 'Go' })
    expect(await after(turn.outcome, clock)).toMatchObject({
      value: { status: 'success', value: { text: 'Done.', steps: 9 } },
    })
    expect(seen.summaries).toBeGreaterThan(0)
    expect(seen.refused).toBe(seen.summaries)
    for (const { messages } of seen.given) expect(problemsIn(messages)).toEqual([])
    // Later turns continue from the summary.
    const next = scriptedModel(['Fine.'], { name: 'next' })
    expect(await after(runtime.session('s').turn({ model: next, message: 'And?' }).outcome, clock)).toMatchObject({
      value: { value: { text: 'Fine.' } },
    })
    expect(JSON.stringify(next.requests[0]?.messages[0])).toContain('SUMMARY')
  })

  test('a model with a much smaller context gets less in each summary request until it fits', async () => {
    const { runtime, clock } = await open({ tools: [long] })
    const session = runtime.session('s')
    const wide = scriptedModel(lines, { name: 'wide' })
    await after(session.turn({ model: wide, message: 'Go' }).outcome, clock)
    const seen = narrow(2_000, ['Short.'])
    expect(await after(session.turn({ model: seen.model, message: 'And?' }).outcome, clock)).toMatchObject({
      value: { status: 'success', value: { text: 'Short.' } },
    })
    expect(seen.summaries).toBe(2)
  })

  test('a message that never fits ends the turn after two attempts', async () => {
    const seen = narrow(500, ['Never.'])
    const { runtime, clock } = await open()
    const session = runtime.session('s')
    await after(session.turn({ model: scriptedModel(['Hello.']), message: 'Hi' }).outcome, clock)
    const outcome = await after(session.turn({ model: seen.model, message: 'x'.repeat(2_000) }).outcome, clock)
    expect(outcome).toMatchObject({
      value: {
        status: 'failure',
        failure: {
          class: 'external',
          code: 'model_failed',
          message: "The model 'narrow' could not answer: the input is longer than its context window (HTTP 400).",
          retry: { when: 'never' },
        },
      },
    })
    expect(seen.refused).toBe(2)
    // The long message is behind; the following one can be answered.
    expect(await after(session.turn({ model: seen.model, message: 'Short?' }).outcome, clock)).toMatchObject({
      value: { status: 'success', value: { text: 'Never.' } },
    })
  })
})

describe('SESS-2: a silent model', () => {
  const silent = (most: number, more: Partial<Model> = {}): Model & { asked: number; aborted: number } => ({
    name: 'silent',
    asked: 0,
    aborted: 0,
    async generate({ signal, told }) {
      if (++this.asked > most) {
        const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }
        return { parts: [{ type: 'text', text: 'At last' }], finish: 'stop', usage }
      }
      told({ type: 'text', delta: 'Well' })
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          this.aborted++
          reject(new ModelFailure('it was stopped'))
        }),
      )
    },
    ...more,
  })

  test('is aborted after five minutes and called again', async () => {
    const model = silent(1)
    const { runtime, clock } = await open()
    const turn = runtime.session('s').turn({ model, message: 'Hi' })
    await clock.advance('299s')
    expect(model).toMatchObject({ asked: 1, aborted: 0 })
    await clock.advance('3s')
    expect(await after(turn.outcome, clock)).toMatchObject({ value: { status: 'success', value: { text: 'At last' } } })
    expect(model).toMatchObject({ asked: 2, aborted: 1 })
  })

  test('ends the turn if it stays silent, after its own idle timeout', async () => {
    const model = silent(9, { idle: '20s' })
    const { runtime, clock } = await open()
    const turn = runtime.session('s').turn({ model, message: 'Hi' })
    await clock.advance('88s') // four attempts, each followed by a backoff
    expect(await after(turn.outcome, clock)).toMatchObject({
      value: {
        status: 'failure',
        failure: {
          code: 'model_failed',
          message: expect.stringContaining('no activity for 20 s'),
          retry: { when: 'safe' },
        },
      },
    })
    expect(model).toMatchObject({ asked: 4, aborted: 4 })
  })

  test('is not idle while it reports deltas or alive(); idle: null disables the timeout', async () => {
    const { runtime, clock } = await open()
    const model: Model = {
      name: 'slow',
      idle: '20s',
      async generate({ alive, told }) {
        for (let n = 0; n < 6; n++) {
          await new Promise<void>((resolve) => void clock.timer(15_000, resolve))
          if (n % 2) alive?.()
          else told({ type: 'text', delta: 'x' })
        }
        return {
          parts: [{ type: 'text', text: 'Slowly' }],
          finish: 'stop',
          usage: { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 },
        }
      },
    }
    const turn = runtime.session('s').turn({ model, message: 'Hi' })
    for (let n = 0; n < 6; n++) await clock.advance('15s')
    expect(await after(turn.outcome, clock)).toMatchObject({ value: { value: { text: 'Slowly' } } })
    const patient = silent(1, { name: 'patient', idle: null })
    const waiting = runtime.session('s').turn({ model: patient, message: 'Hi' })
    await clock.advance('2d')
    expect(patient.asked).toBe(1)
    await waiting.cancel()
    await after(waiting.outcome, clock)
    for (const idle of [-1, 0, 'soon', Number.NaN])
      expect(() => runtime.session('s').turn({ model: silent(1, { idle: idle as never }), message: 'Hi' })).toThrow(
        expect.objectContaining({ code: 'model_invalid' }),
      )
  })
})

describe('POL-8: cost limits', () => {
  const t = tool({ name: 't', description: 'd', input, hints: { readOnly: true }, execute: () => 'ok' })
  const price = { input: 0, output: 1_000_000 }
  const costs = (outputTokens: number): Line => ({ call: { name: 't' }, usage: { outputTokens } })

  test('a turn that exceeds its cost limit does not call the model again', async () => {
    const model = scriptedModel([costs(2), costs(2), costs(2), 'Never'], { price })
    const { runtime, clock } = await open({ tools: [t] })
    const outcome = await after(runtime.session('s').turn({ model, message: 'Go', limits: { cost: 3 } }).outcome, clock)
    expect(outcome).toMatchObject({
      value: {
        status: 'failure',
        failure: {
          class: 'resource_limit',
          code: 'turn_limit',
          message: 'The models of the turn have cost 4; the limit is 3.',
        },
      },
    })
    expect(model.asked).toBe(2)
    expect((await runtime.session('s').usage()).total.cost).toBe(4)
  })

  test('a final answer is returned although it exceeds the cost limit', async () => {
    const model = scriptedModel([{ say: 'Dear', usage: { outputTokens: 9 } }], { price })
    const { runtime, clock } = await open()
    expect(
      await after(runtime.session('s').turn({ model, message: 'Go', limits: { cost: 3 } }).outcome, clock),
    ).toMatchObject({
      value: { status: 'success', value: { text: 'Dear', usage: { cost: 9 } } },
    })
  })

  test('the strictest limit of the turn and its capabilities applies', async () => {
    const model = scriptedModel([costs(2), costs(2), 'Never'], { price })
    const { runtime, clock } = await open({ tools: [t], capabilities: [{ name: 'cheap', limits: { cost: 1.5 } }] })
    const session = runtime.session('s', { capabilities: ['cheap'] })
    expect(await after(session.turn({ model, message: 'Go', limits: { cost: 3 } }).outcome, clock)).toMatchObject({
      value: { failure: { code: 'turn_limit', message: expect.stringContaining('the limit is 1.5') } },
    })
    expect(model.asked).toBe(1)
  })

  test('a model without a price is not called under a cost limit', async () => {
    const model = scriptedModel(['Free?'])
    const { runtime, clock } = await open({ capabilities: [{ name: 'cheap', limits: { cost: 1 } }] })
    expect(() => runtime.session('s').turn({ model, message: 'Go', limits: { cost: 1 } })).toThrow(
      expect.objectContaining({ code: 'turn_invalid', message: expect.stringContaining('has no price') }),
    )
    expect(
      await after(runtime.session('s', { capabilities: ['cheap'] }).turn({ model, message: 'Go' }).outcome, clock),
    ).toMatchObject({
      value: {
        failure: {
          code: 'turn_limit',
          message: expect.stringContaining("the cost of its models is unknown; 'scripted' was not called"),
        },
      },
    })
    expect(model.asked).toBe(0)
    for (const cost of [0, -1, Number.NaN, '1'])
      expect(() => runtime.session('s').turn({ model, message: 'Go', limits: { cost: cost as number } })).toThrow(
        expect.objectContaining({ code: 'turn_invalid' }),
      )
  })

  test('an agent whose model has no price is rejected under a cost limit', async () => {
    const model = scriptedModel(['Free?'], { name: 'free' })
    const made = (of: string | typeof model): Tool =>
      agent({ name: 'clerk', description: 'd', model: of, limits: { cost: 1 } })
    expect(() => made(model)).toThrow(
      expect.objectContaining({ code: 'tool_invalid', message: expect.stringContaining('has no price') }),
    )
    const logged: string[] = []
    const error = (message: string, fields?: unknown): void => void logged.push(message, JSON.stringify(fields))
    const logger = { ...quiet, error }
    const { runtime, clock } = await open({ tools: [made('free')], models: [model], logger })
    const ran = runtime.session('s').run([{ id: 'a', name: 'clerk', input: { task: 'Go' } }])
    expect(await after(ran, clock)).toMatchObject({
      value: [
        { failure: { class: 'unavailable', code: 'turn_invalid', message: expect.stringContaining('cannot run') } },
      ],
    })
    expect(logged.join()).toContain('has no price')
    expect(model.asked).toBe(0)
  })
})

describe('SESS-2: retraction of partial answers', () => {
  test('a worker that claims a turn not yet started retracts nothing', async () => {
    const { clock, store } = freshMemory()
    const shared = keepOpen(store)
    const model = scriptedModel([{ say: 'I look. ', call: { name: 't' } }, 'Done'], { name: 'm' })
    const t = tool({ name: 't', description: 'd', input, hints: { readOnly: true }, execute: () => 'ok' })
    const door = await createRuntime({ store: shared, clock, logger: quiet, models: [model], worker: false })
    const asked = door.session('s').turn({ model: 'm', message: 'Hi' })
    await clock.advance(100)
    const worker = await createRuntime({ store: shared, clock, logger: quiet, tools: [t], models: [model] })
    runtimes.push(door, worker)
    const { told, stop } = watchDeltas(worker)
    expect(await after(asked.outcome, clock)).toMatchObject({ value: { status: 'success' } })
    await clock.advance(100)
    await stop()
    expect(told.join('')).toBe('I look. Done')
  })

  test('a worker that takes over a turn waiting for approval retracts nothing', async () => {
    const { clock, store } = freshMemory()
    const shared = keepOpen(store)
    const t = rerunTool('t', { hints: { destructive: true } }, () => 'ok')
    const model = scriptedModel([{ say: 'May I? ', call: { name: 't' } }, 'Done'], { name: 'm' })
    const first = await createRuntime({ store: shared, clock, logger: quiet, tools: [t], models: [model] })
    const asked = first.session('s').turn({ model: 'm', message: 'Hi', id: 'x' })
    asked.outcome.catch(() => {})
    await clock.advance(1_000)
    expect(model.asked).toBe(1)
    const closing = first.close({ grace: 0 })
    await clock.advance(1_000)
    await closing
    const worker = await createRuntime({ store: shared, clock, logger: quiet, tools: [t], models: [model] })
    runtimes.push(worker)
    const { told, stop } = watchDeltas(worker)
    await clock.advance('10s')
    for (const { id } of await worker.inbox()) await worker.decide(id, { approve: true, by: 'user:bea' })
    const again = worker.session('s').turn({ model: 'm', message: 'Hi', id: 'x' })
    expect(await after(again.outcome, clock)).toMatchObject({ value: { status: 'success', value: { text: 'Done' } } })
    await clock.advance(100)
    await stop()
    expect(told).toEqual(['Done'])
  })

  test('a worker that takes over during an answer retracts that answer only', async () => {
    const { clock, store } = freshMemory()
    const shared = keepOpen(store)
    const t = tool({ name: 't', description: 'd', input, hints: { readOnly: true }, execute: () => 'ok' })
    let hangs = true
    const model = scriptedModel([{ say: 'One', call: { name: 't' } }, { say: 'Two', call: { name: 't' } }, 'Three'], {
      name: 'm',
      wait: ({ answers }) => (answers === 1 && hangs ? new Promise(() => {}) : Promise.resolve()),
    })
    const dying = mortal(shared)
    const first = await createRuntime({ store: dying.store, clock, logger: quiet, tools: [t], models: [model] })
    ignoreOutcome(first.session('s').turn({ model: 'm', message: 'Hi', id: 'x' }))
    await clock.advance(1_000)
    expect(model.asked).toBe(2)
    dying.die()
    hangs = false
    const worker = await createRuntime({ store: shared, clock, logger: quiet, tools: [t], models: [model] })
    runtimes.push(worker)
    const { told, stop } = watchDeltas(worker)
    await clock.advance('60s')
    expect(await after(worker.session('s').turn({ model: 'm', message: 'Hi', id: 'x' }).outcome, clock)).toMatchObject({
      value: { status: 'success', value: { text: 'Three' } },
    })
    await clock.advance(100)
    await stop()
    expect(told).toEqual(['retracted 2', 'Two', 'Three'])
  })
})

test('VAL-6: the first tool that ends the turn wins, and `unheard` lists the others', async () => {
  const ends = (name: string) =>
    tool({
      name,
      description: 'd',
      input,
      hints: { readOnly: true },
      execute: () => result('ok', { control: { finish: name } }),
    })
  const model = scriptedModel([{ call: ['a', 'b', 'plain', 'c'].map((name) => ({ name, id: `call_${name}` })) }])
  const plain = tool({ name: 'plain', description: 'd', input, hints: { readOnly: true }, execute: () => 'ok' })
  const { runtime, clock } = await open({ tools: [ends('a'), ends('b'), plain, ends('c')] })
  const session = runtime.session('s')
  expect(await after(session.turn({ model, message: 'Go' }).outcome, clock)).toMatchObject({
    value: { value: { value: 'a' } },
  })
  const messages = await session.messages.list()
  expect(messages.at(-1)).toMatchObject({ message: { role: 'tool' }, unheard: ['call_b', 'call_c'] })
  expect(messages.filter((message) => 'unheard' in message)).toHaveLength(1)
  const told: unknown[] = []
  const stop = new AbortController()
  const reading = (async () => {
    for await (const { type, body } of session.events({ signal: stop.signal }))
      if (type === 'message.added') told.push(body)
  })().catch(() => {})
  await clock.advance(100)
  stop.abort()
  await reading
  expect(told).toMatchObject([{ role: 'user' }, { role: 'tool', unheard: ['call_b', 'call_c'] }])
})
