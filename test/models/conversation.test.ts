// Any recorded history is sent as a conversation that satisfies the providers' rules.

import { fc } from '../kit/seeded-fast-check.ts'
import { expect, test } from 'vitest'
import { problemsIn } from '../kit/models/conversation-rules.ts'
import { conversationOf } from './conversation-of.ts'
import type { AssistantPart, Message } from '../../src/models/message.ts'

const text = (said: string) => [{ type: 'text' as const, text: said }]
const call = (id: string): AssistantPart => ({ type: 'call', id, name: id === '3' ? 'odd name!' : 't', input: '{}' })

test('SESS-3: a call without a result gets one, and a result without a call is dropped', () => {
  const out = conversationOf([
    { role: 'user', parts: text('a') },
    { role: 'tool', results: [{ callId: 'x', name: 't', status: 'success', parts: [] }] },
    { role: 'assistant', parts: [call('1'), call('2')] },
    { role: 'tool', results: [{ callId: '2', name: 't', status: 'success', parts: text('two') }] },
    { role: 'user', parts: text('b') },
  ])
  expect(out).toMatchObject([
    { role: 'user' },
    { role: 'assistant' },
    {
      role: 'tool',
      results: [
        { callId: '1', status: 'interrupted' },
        { callId: '2', parts: [{ text: 'two' }] },
      ],
    },
    { role: 'user' },
  ])
})

test('SESS-3: a reused call id is renamed together with its result', () => {
  const results = [{ callId: 'c', name: 't', status: 'success' as const, parts: [] }]
  const out = conversationOf([
    { role: 'user', parts: text('a') },
    { role: 'assistant', parts: [call('c')] },
    { role: 'tool', results },
    { role: 'assistant', parts: [call('c'), call('c')] },
    { role: 'tool', results: [...results, ...results] },
  ])
  expect(JSON.stringify(out).match(/c(-\d)?"/g)).toEqual(['c"', 'c"', 'c-2"', 'c-3"', 'c-2"', 'c-3"'])
  expect(problemsIn(out)).toEqual([])
})

test('SESS-3 TOOL-3: a tool name like an Object.prototype property is renamed in call and result', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '..proto..']) {
    const out = conversationOf([
      { role: 'user', parts: text('a') },
      { role: 'assistant', parts: [{ type: 'call', id: 'c', name, input: '{}' }] },
      { role: 'tool', results: [{ callId: 'c', name, status: 'failure', parts: text('none') }] },
    ])
    const sent = `${name.replaceAll('.', '_')}_`
    expect(out).toMatchObject([
      {},
      { parts: [{ name: sent }] },
      { results: [{ name: sent, parts: [{ text: 'none' }] }] },
    ])
    expect(problemsIn(out)).toEqual([])
  }
})

test('SESS-3: any sequence of messages becomes a conversation that providers accept', () => {
  const said = fc.constantFrom('', ' ', 'a', 'b')
  const thought = fc.constantFrom<AssistantPart[]>(
    [],
    [{ type: 'reasoning', text: 'hm' }],
    [{ type: 'reasoning', text: '', meta: { a: { signed: 1 } } }],
  )
  const picture = { type: 'attachment' as const, attachment: { type: 'attachment' } as never }
  const ids = fc.array(fc.constantFrom('1', '2', '3'), { maxLength: 3 })
  const message: fc.Arbitrary<Message> = fc.oneof(
    said.map((one): Message => ({ role: 'user', parts: one === '' ? [] : text(one) })),
    said.map((one): Message => ({ role: 'notice', parts: one === '' ? [] : text(one) })),
    fc.tuple(thought, said, ids, thought).map(([before, one, calls, after]): Message => ({
      role: 'assistant',
      parts: [...before, { type: 'text', text: one }, ...calls.map(call), ...after],
    })),
    fc.constant<Message>({ role: 'notice', parts: [picture] }),
    ids.map((calls): Message => ({
      role: 'tool',
      results: calls.map((callId) => ({ callId, name: 't', status: 'success', parts: [] })),
    })),
    said.map((one): Message => ({ role: 'summary', text: one })),
  )
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), (rest) => {
      const out = conversationOf([
        { role: 'user', parts: text('first') },
        ...rest,
        { role: 'user', parts: text('last') },
      ])
      expect(problemsIn(out)).toEqual([])
    }),
    { numRuns: 2_000, seed: 7 },
  )
})
