// createRuntime({ compaction }): a function of the host that shortens conversations.

import { type Compaction, type CompactionMessage, createRuntime, type ModelRequest, type TurnOutcome } from 'pawl'
import { type ScriptedModel, scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { problemsIn } from '../../kit/models/conversation-rules.ts'
import { opening, stores } from '../../kit/open-runtime.ts'
import { readOnlyTool } from '../../kit/simple-tools.ts'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { dieAfter, keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { ignoreOutcome } from '../../kit/wait-until.ts'

const open = opening()
const look = readOnlyTool('look', () => 'y'.repeat(400))
const script = (): ScriptedModel =>
  scriptedModel([{ call: { name: 'look' } }, 'one', { call: { name: 'look' } }, 'two'], { name: 'm' })
const limits = { historyTokens: 100 }

/** Runs two turns with a call each; the second does not fit and is compacted. */
async function twoTurns(
  compaction: Compaction,
  { fresh = freshMemory, secrets = [] as string[] } = {},
): Promise<{ outcome: TurnOutcome | undefined; requests: readonly ModelRequest[]; messages: CompactionMessage[] }> {
  const model = script()
  const { runtime, clock } = await open({ tools: [look], models: [model], compaction, secrets }, fresh)
  const session = runtime.session('s')
  await after(session.turn({ model, message: 'x'.repeat(400) }).outcome, clock)
  const ended = await after(session.turn({ model, message: 'And?', limits }).outcome, clock)
  const listed = (await session.messages.list()).map((each) => ({ ...each, tokens: 0 }))
  return { outcome: (ended as { value?: TurnOutcome }).value, requests: model.requests, messages: listed }
}

/** Everything but the last message, cut after a complete pair. */
const dropOlder: Compaction = (history) => {
  const cut = history.slice(0, -1).findLast(({ message }) => message.role !== 'assistant' || !hasCalls(message))
  return cut ? { upTo: cut.number, text: `dropped ${cut.number}` } : null
}
const hasCalls = (message: CompactionMessage['message']): boolean => JSON.stringify(message).includes('"type":"call"')

describe.each(stores)('a compaction function of the host on %s', (_, fresh) => {
  test('SESS-10: the returned text replaces the messages, and a call keeps its result', async () => {
    const seen: { numbers: number[]; used: number; keep: number }[] = []
    const { outcome, requests, messages } = await twoTurns(
      (history, budget) => {
        seen.push({
          numbers: history.map(({ number }) => number),
          used: budget.usedTokens,
          keep: budget.keepTokens,
        })
        return dropOlder(history, budget)
      },
      { fresh },
    )
    expect(outcome).toMatchObject({ status: 'success' })
    expect(seen[0]).toEqual({ numbers: [1, 2, 3, 4, 5], used: expect.any(Number), keep: 50 })
    expect(seen[0]?.used).toBeGreaterThan(100)
    expect(JSON.stringify(requests.at(-2))).toContain('dropped 4')
    for (const request of requests) expect(problemsIn(request.messages)).toEqual([])
    expect(messages.filter(({ message }) => message.role === 'summary').length).toBeGreaterThan(0)
  })
})

test('SESS-10: a cut between a call and its result fails the turn and records nothing', async () => {
  const { outcome, messages } = await twoTurns(() => ({ upTo: 2, text: 'x' }))
  expect(outcome).toMatchObject({ status: 'failure', failure: { code: 'compaction_failed', class: 'internal' } })
  expect(JSON.stringify(outcome)).toContain('upTo is 2, which would separate its calls from their results in 3')
  expect(messages.some(({ message }) => message.role === 'summary')).toBe(false)
})

test.each<[string, Compaction, string]>([
  ['cuts off the message to answer', () => ({ upTo: 5, text: 'x' }), 'other than the last one'],
  ['names a message that does not exist', () => ({ upTo: 77, text: 'x' }), 'upTo is 77'],
  ['returns no plan', () => 'all' as never, 'neither null nor'],
  ['returns a text that is no string', () => ({ upTo: 1, text: async () => 5 as never }), 'not a string'],
  [
    'throws',
    () => {
      throw new Error('internal detail')
    },
    'it threw an error',
  ],
  ['rejects', () => Promise.reject(new Error('internal detail')), 'it threw an error'],
  ['rejects in its text', () => ({ upTo: 1, text: () => Promise.reject(new Error('internal detail')) }), 'it threw'],
])('SESS-10: a function that %s fails the turn with compaction_failed', async (_, compaction, message) => {
  const { outcome, messages } = await twoTurns(compaction)
  expect(outcome).toMatchObject({ status: 'failure', failure: { code: 'compaction_failed' } })
  expect(messages.some(({ message: { role } }) => role === 'summary')).toBe(false)
  expect(JSON.stringify(outcome)).toContain(message)
  expect(JSON.stringify(outcome)).not.toContain('internal detail')
})

test.each(['cancelled', 'too late'])('SESS-10: a function that never ends does not hold the turn: %s', async (how) => {
  let signal: AbortSignal | undefined
  const model = script()
  const compaction: Compaction = (_, budget) => {
    ;({ signal } = budget)
    return new Promise(() => {})
  }
  const { runtime, clock } = await open({ tools: [look], models: [model], compaction })
  const session = runtime.session('s')
  await after(session.turn({ model, message: 'x'.repeat(400) }).outcome, clock)
  const turn = session.turn({ model, message: 'And?', limits })
  while (!signal) await clock.advance(1)
  if (how === 'cancelled') await turn.cancel('Enough')
  else await clock.advance('5m')
  const failed = { status: 'failure', failure: { code: 'compaction_failed' } }
  expect(await after(turn.outcome, clock)).toMatchObject({
    value: how === 'cancelled' ? { status: 'cancelled' } : failed,
  })
  expect(signal.aborted).toBe(true)
})

test('SESS-10: a function that returns null leaves the conversation as it is', async () => {
  const { outcome, messages } = await twoTurns(() => null)
  expect(outcome).toMatchObject({ status: 'success' })
  expect(messages.some(({ message }) => message.role === 'summary')).toBe(false)
})

test('SESS-10, SESS-11: model requests of the function are charged to the turn', async () => {
  const usage = { inputTokens: 7, outputTokens: 3 }
  const model = scriptedModel(
    [{ when: 'In short?', say: 'brief', usage }, { call: { name: 'look' } }, 'one', { call: { name: 'look' } }, 'two'],
    { name: 'm' },
  )
  const compaction: Compaction = (_, { complete }) => ({
    upTo: 1,
    text: () => complete({ instructions: 'Sum up', prompt: 'In short?' }),
  })
  const { runtime, clock } = await open({ tools: [look], models: [model], compaction })
  const session = runtime.session('s')
  await after(session.turn({ model, message: 'x'.repeat(400) }).outcome, clock)
  await after(session.turn({ model, message: 'And?', limits: { historyTokens: 150 } }).outcome, clock)
  const summary = (await session.messages.list()).find(({ message }) => message.role === 'summary')
  expect(summary).toMatchObject({ message: { text: 'brief' }, model: 'm', usage })
})

test('SESS-10: secrets in the text are redacted before it is recorded', async () => {
  const { requests, messages } = await twoTurns(() => ({ upTo: 1, text: 'key swordfish-4711' }), {
    secrets: ['swordfish-4711'],
  })
  expect(JSON.stringify([requests, messages])).not.toContain('swordfish-4711')
})

test('SESS-10: after a crash the recorded text is used and the function is not called again', async () => {
  const { clock, store } = freshMemory()
  const shared = keepOpen(store)
  const dying = mortal(shared)
  let calls = 0
  const compaction: Compaction = (history, budget) => {
    calls++
    return dropOlder(history, budget)
  }
  const model = script()
  const options = { clock, logger: quiet, tools: [look], models: [model], compaction }
  const first = await createRuntime({
    ...options,
    store: dieAfter(dying, ({ steps = [] }) => steps.some(({ key }) => key.startsWith('summary:'))),
  })
  await after(first.session('s').turn({ model, message: 'x'.repeat(400) }).outcome, clock)
  const again = { model, message: 'And?', id: 't', limits: { historyTokens: 200 } }
  ignoreOutcome(first.session('s').turn(again))
  await clock.advance('40s')
  expect(calls).toBe(1)
  const second = await createRuntime({ ...options, store: shared })
  const turn = second.session('s').turn(again)
  expect(await after(turn.outcome, clock)).toMatchObject({ value: { status: 'success' } })
  const listed = await second.session('s').messages.list()
  expect(listed.filter(({ message }) => message.role === 'summary' && message.text === 'dropped 4')).toHaveLength(1)
  await second.close({ grace: 0 })
})
