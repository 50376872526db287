// A compaction function of the host that changes what it is given, or asks the model and then decides nothing.

import { type Compaction, type CompactionMessage, type ModelRequest } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { opening } from '../../kit/open-runtime.ts'
import { readOnlyTool } from '../../kit/simple-tools.ts'
import { after } from '../../kit/stores/fresh-store.ts'

const open = opening()
const look = readOnlyTool('look', () => 'y'.repeat(400))
const limits = { historyTokens: 100 }

async function twoTurns(
  compaction: Compaction,
  script: readonly unknown[] = [{ call: { name: 'look' } }, 'one', 'two', 'three', 'four'],
): Promise<{ outcome: unknown; requests: readonly ModelRequest[] }> {
  const model = scriptedModel(script as never, { name: 'm' })
  const { runtime, clock } = await open({ tools: [look], models: [model], compaction })
  const session = runtime.session('s')
  await after(session.turn({ model, message: 'x'.repeat(400) }).outcome, clock)
  const ended = await after(session.turn({ model, message: 'The question', limits }).outcome, clock)
  return { outcome: (ended as { value?: unknown }).value, requests: model.requests }
}

test('SESS-10: a function that reorders its list cannot hide the message to answer', async () => {
  const { outcome, requests } = await twoTurns((history) => {
    const list = history as CompactionMessage[]
    list.push(list.shift() as CompactionMessage)
    return { upTo: list.at(-2)?.number ?? 0, text: 'all of it' }
  })
  expect(outcome).toMatchObject({ status: 'failure', failure: { code: 'compaction_failed' } })
  for (const request of requests) expect(request.messages.some(({ role }) => role === 'user')).toBe(true)
})

test('SESS-10: a function that removes entries of its list cannot separate a call from its result', async () => {
  const { outcome } = await twoTurns((history) => {
    const list = history as CompactionMessage[]
    const calls = list.findIndex(({ message }) => JSON.stringify(message).includes('"type":"call"'))
    const { number } = list[calls] as CompactionMessage
    list.splice(calls + 1, 1)
    return { upTo: number, text: 'cut' }
  })
  expect(outcome).toMatchObject({ status: 'failure', failure: { code: 'compaction_failed' } })
})

test('SESS-10: a function that edits a message does not change what the model reads', async () => {
  const { requests } = await twoTurns((history) => {
    for (const { message } of history)
      if (message.role === 'user') for (const part of message.parts) (part as { text: string }).text = 'forged'
    return null
  })
  expect(JSON.stringify(requests.at(-1))).not.toContain('forged')
})

test('SESS-11: a model that the function asked before it returned null is paid by the turn', async () => {
  const asked = async (compaction: Compaction): Promise<number> => {
    const { outcome } = await twoTurns(compaction)
    const { value } = outcome as { value: { usage: { inputTokens: number } } }
    return value.usage.inputTokens
  }
  const none = await asked(() => null)
  const one = await asked(async (_, budget) => {
    await budget.complete({ instructions: 'Judge.', prompt: 'Is this worth a summary? '.repeat(50) })
    return null
  })
  expect(one).toBeGreaterThan(none)
})
