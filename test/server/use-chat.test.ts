// The chat core of @ai-sdk/react against the chat endpoint of a Pawl server, without any adapter of its own.

import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, type UIMessage } from 'ai'
import { createRuntime, type Runtime, tool } from 'pawl'
import { type RunningServer, startServer } from 'pawl/server'
import { scriptedModel } from 'pawl/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../kit/stores/all-stores.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const tokens = {
  decider: 'a-token-of-a-person-who-decides',
  caller: 'a-token-that-may-only-call-tools',
}
let ran = 0
const refund = tool({
  name: 'refund',
  description: 'Refunds',
  input: { type: 'object' },
  hints: { destructive: true },
  execute: () => `refund ${++ran}`,
})

let runtime: Runtime
let server: RunningServer
beforeEach(async () => {
  ran = 0
  const model = scriptedModel([{ say: 'One moment.', call: { name: 'refund' } }, 'You get 42 €.'], { name: 'm' })
  runtime = await createRuntime({ store: 'memory:', logger: quiet, tools: [refund], models: [model] })
  server = await startServer({
    runtime,
    port: 0,
    grace: 0,
    turn: { model: 'm' },
    tokens: [
      { token: tokens.decider, roles: ['caller', 'approver'], principal: 'user:bea' },
      { token: tokens.caller, roles: ['caller'], principal: 'user:ada' },
    ],
  })
})
afterEach(() => server.close())

function openChat(token: string, messages: UIMessage[] = []): Chat<UIMessage> {
  const headers = { authorization: `Bearer ${token}` }
  const api = `${server.url}/v1/sessions/support/chat`
  return new Chat({
    id: 'support',
    messages,
    transport: new DefaultChatTransport({ api, headers }),
    sendAutomaticallyWhen: ({ messages }) =>
      messages.some(({ parts }) => parts.some((part) => 'state' in part && part.state === 'approval-responded')),
  })
}

const textOf = ({ parts }: UIMessage): string => parts.map((part) => (part.type === 'text' ? part.text : '')).join('|')
const approvalIn = (chat: Chat<UIMessage>): string => {
  for (const part of chat.messages.flatMap(({ parts }) => parts))
    if ('approval' in part && part.state === 'approval-requested') return part.approval.id
  return ''
}

test('DOOR-1 SESS-12: useChat points at a server: text, an approval in the page, and a reload', async () => {
  const chat = openChat(tokens.decider)
  await chat.sendMessage({ text: 'Refund A1' })
  expect([chat.status, ran]).toEqual(['ready', 0])
  const reply = await fetch(`${server.url}/v1/sessions/support/chat`, {
    headers: { authorization: `Bearer ${tokens.decider}` },
  })
  const reloaded = openChat(tokens.decider, (await reply.json()) as UIMessage[])
  await reloaded.resumeStream()
  await reloaded.addToolApprovalResponse({ id: approvalIn(reloaded), approved: true })
  await until(() => textOf(reloaded.messages.at(-1) as UIMessage).includes('42'))
  expect(ran).toBe(1)
  expect(reloaded.messages.map(textOf)).toEqual(['Refund A1', '|One moment.|||You get 42 €.'])
})

test('DOOR-1 POL-2: a token without the right to decide cannot approve in a chat', async () => {
  const chat = openChat(tokens.caller)
  await chat.sendMessage({ text: 'Refund A1' })
  const decided = chat.addToolApprovalResponse({ id: approvalIn(chat), approved: true })
  await until(() => chat.status === 'ready')
  await decided
  const [item] = await runtime.inbox()
  expect(item).toMatchObject({ tool: 'refund', approvals: [] })
  expect(ran).toBe(0)
})
