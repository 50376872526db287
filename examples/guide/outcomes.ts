// The code of docs/guide/outcomes.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { setTimeout as passes } from 'node:timers/promises'
import { type CallOutcome, createRuntime, fail, type Hook, readOutputTool, tool } from 'pawl'
import { z } from 'zod'

// #region fail
const order = tool({
  name: 'order',
  description: 'Look up an order',
  input: z.object({ id: z.string() }),
  hints: { readOnly: true },
  execute({ id }) {
    if (id === 'A1') return { id, cents: 4200 }
    if (id === 'A2') throw fail(`There is no order ${id}`, { code: 'not_found' })
    throw new Error('connect ECONNREFUSED db.internal:5432')
  },
})
// #endregion

const pay = tool({
  name: 'pay',
  description: 'Pay',
  input: z.object({}),
  execute(): never {
    throw fail('The card was refused', { code: 'card_refused' })
  },
})

const watch = tool({
  name: 'watch',
  description: 'Watch for a while',
  input: z.object({}),
  hints: { readOnly: true },
  execute: (_, ctx) => passes(100, 'all quiet', { signal: ctx.signal }),
})

const log = tool({
  name: 'log',
  description: 'Read the log',
  input: z.object({}),
  hints: { readOnly: true },
  execute: () => Array.from({ length: 5000 }, (_, n) => `line ${n}\n`).join(''),
})

const logged: string[] = []
const note = (message: string): void => void logged.push(message)
const logger = { debug: note, info: note, warn: note, error: note }

// #region batch
const runtime = await createRuntime({ store: 'memory:', tools: [order, pay, watch, log, readOutputTool()], logger })
const outcomes = await runtime.session('chat-42').run([
  { id: 'a', name: 'order', input: { id: 'A1' } },
  { id: 'b', name: 'order', input: { id: 'A2' } },
  { id: 'c', name: 'order', input: { id: 'A3' } },
  { id: 'd', name: 'ordr', input: { id: 'A1' } },
])
const read = outcomes.map(({ parts: [part] }) => (part?.type === 'text' ? part.text : ''))
assert.deepEqual(read, [
  '{"id":"A1","cents":4200}',
  '[Tool execution failed]\nThere is no order A2',
  '[Tool execution failed]\nAn internal error occurred while executing the tool',
  "[Tool execution failed]\nThere is no tool named 'ordr'. Did you mean 'order'?",
])
// #endregion
assert.deepEqual(logged, ['A tool threw'])

// #region switch
function tell(outcome: CallOutcome): string {
  switch (outcome.status) {
    case 'success':
      return `it gave ${JSON.stringify(outcome.value)}`
    case 'failure':
      return `${outcome.failure.class}: ${outcome.failure.code}`
    case 'cancelled':
      return `stopped: ${outcome.cancellation.message}`
    case 'unknown':
      return `it began at ${outcome.unknown.startedAt}, and nobody saw the end`
  }
}
// #endregion
assert.deepEqual(outcomes.map(tell), [
  'it gave {"id":"A1","cents":4200}',
  'execution: not_found',
  'internal: internal_error',
  'unavailable: tool_unavailable',
])

// #region stop
const calls = [
  { id: 'x', name: 'pay' },
  { id: 'y', name: 'watch' },
]
const goesOn = await runtime.session('chat-42').run(calls, { batch: 'msg_8' })
assert.deepEqual(goesOn.map(tell), ['execution: card_refused', 'it gave "all quiet"'])
const stops = await runtime.session('chat-42').run(calls, { batch: 'msg_9', onFailure: 'stop' })
assert.deepEqual(stops.map(tell), ['execution: card_refused', "stopped: Stopped because 'x' failed"])
// #endregion

// #region again
const again = await runtime.session('chat-42').run(calls, { batch: 'msg_8' })
assert.deepEqual(again, goesOn) // the recorded outcomes; nothing ran
const [conflict] = await runtime
  .session('chat-42')
  .run([{ id: 'x', name: 'order', input: { id: 'A1' } }], { batch: 'msg_8' })
assert.equal(conflict?.status === 'failure' && conflict.failure.code, 'call_conflict')
// #endregion

// #region long
const session = runtime.session('chat-43')
const [long] = await session.run([{ id: 'l', name: 'log' }])
const view = long?.parts[0]?.type === 'text' ? long.parts[0].text : ''
const [, notice] = /read_output (\{.*\})\]$/.exec(view) ?? []
const { handle, offset } = JSON.parse(notice as string) as { handle: string; offset: number }
const page = await session.outputs.read(handle, { offset, limit: 20 })
assert.equal(page.totalBytes, 48_890)
const [next] = await session.run([{ id: 'm', name: 'read_output', input: { handle, offset } }]) // as the model would
assert.equal(next?.status === 'success' && (next.value as string).startsWith(page.text), true)
// #endregion

// #region record
const failed = await session.calls.list({ status: 'failure' })
assert.deepEqual(failed, [])
const call = await session.calls.get('l')
assert.deepEqual([call?.state, call?.attempts, call?.steps], ['settled', 1, []])
// #endregion
await runtime.close()

// #region project
const masks: Hook = {
  name: 'masks',
  project: (_, __, parts) =>
    parts.map((part) =>
      part.type === 'text' ? { ...part, text: part.text.replaceAll(/\b\d{16}\b/g, '[card]') } : part,
    ),
}
// #endregion
const card = tool({
  name: 'card',
  description: 'The card on file',
  input: z.object({}),
  execute: () => '4111111111111111',
})
const masked = await createRuntime({ store: 'memory:', tools: [card], hooks: [masks] })
const [onFile] = await masked.session('chat-43').run([{ id: 'a', name: 'card' }])
assert.partialDeepStrictEqual(onFile, { value: '4111111111111111', parts: [{ type: 'text', text: '[card]' }] })
await masked.close()
