// A fake provider on loopback: streams the given replies in order as server-sent events and rejects invalid requests
// like the real one.
/* oxlint-disable typescript/no-explicit-any -- request bodies as received */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Reply {
  /** The status of an error reply; otherwise the events are streamed. */
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
  readonly events?: readonly (object | string)[]
  /** The connection after the events: 'break' closes it abruptly, 'hang' leaves it open. */
  readonly then?: 'break' | 'hang'
}

export interface ProviderServer {
  readonly url: string
  /** The request bodies received. */
  readonly asked: any[]
  /** The rule violations found in the requests. */
  readonly problems: string[]
  /** Number of connections that the client closed before the reply was complete. */
  readonly dropped: number
  close(): Promise<void>
}

export async function providerServer(
  rules: (body: any) => string[],
  replies: readonly (Reply | ((body: any) => Reply))[],
): Promise<ProviderServer> {
  const asked: any[] = []
  const problems: string[] = []
  let dropped = 0
  const server = createServer((request, response) => void answer(request, response))
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = ''
    for await (const piece of request) text += String(piece)
    const body = JSON.parse(text)
    const next = replies[asked.push(body) - 1]
    problems.push(...rules(body).map((each) => `request ${asked.length}: ${each}`))
    response.on('close', () => void (response.writableFinished || dropped++))
    const reply =
      typeof next === 'function'
        ? next(body)
        : (next ?? { status: 400, body: { error: { message: 'nothing more to say' } } })
    if (reply.status !== undefined) {
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers })
      return void response.end(
        JSON.stringify(reply.body ?? { error: { message: 'SECRET of the provider', type: 'server_error' } }),
      )
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of reply.events ?? []) {
      const name = typeof event === 'object' && 'type' in event ? `event: ${String(event.type)}\n` : ''
      response.write(`${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (reply.then === 'break') return void response.socket?.destroy()
    if (reply.then !== 'hang') response.end()
  }
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    problems,
    get dropped() {
      return dropped
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => void server.close(resolve))
    },
  }
}

const chunk = (delta: object, more: object = {}): object => ({
  id: 'chat-1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
})

export interface Said {
  readonly think?: string
  readonly say?: string
  readonly calls?: readonly { id?: string; name: string; args?: string; signature?: string }[]
  readonly finish?: string
}

const pieces = (text: string): string[] => text.match(/[^]{1,5}/g) ?? []

/** A reply of the chat completions protocol, in chunks. */
export function chat({
  think = '',
  say = '',
  calls = [],
  finish = calls.length > 0 ? 'tool_calls' : 'stop',
}: Said): Reply {
  const events: (object | string)[] = [chunk({ role: 'assistant', content: '' })]
  for (const piece of pieces(think)) events.push(chunk({ reasoning_content: piece }))
  for (const piece of pieces(say)) events.push(chunk({ content: piece }))
  for (const [index, { id, name, args = '{}', signature }] of calls.entries()) {
    const extra = signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }
    events.push(chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' }, ...extra }] }))
    for (const piece of pieces(args)) events.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }))
  }
  events.push(chunk({}, { finish_reason: finish }))
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    prompt_tokens_details: { cached_tokens: 40 },
    completion_tokens_details: { reasoning_tokens: 5 },
  }
  events.push({ ...chunk({}), choices: [], usage }, '[DONE]')
  return { events }
}

/** The first events of a reply, followed by a broken or hanging connection. */
export const upTo = (reply: Reply, count: number, then: 'break' | 'hang'): Reply => ({
  events: reply.events?.slice(0, count) ?? [],
  then,
})

/** A reply of the messages protocol. */
export function message({
  think,
  say,
  calls = [],
  finish = calls.length > 0 ? 'tool_use' : 'end_turn',
  redacted,
}: Said & { redacted?: string }): Reply {
  const events: object[] = [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 1 },
      },
    },
  ]
  let index = 0
  const block = (content_block: object, ...deltas: object[]): void => {
    events.push({ type: 'content_block_start', index, content_block })
    for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta })
    events.push({ type: 'content_block_stop', index: index++ })
  }
  if (think !== undefined)
    block(
      { type: 'thinking', thinking: '', signature: '' },
      ...pieces(think).map((thinking) => ({ type: 'thinking_delta', thinking })),
      {
        type: 'signature_delta',
        signature: `signed(${think})`,
      },
    )
  if (redacted !== undefined) block({ type: 'redacted_thinking', data: redacted })
  if (say !== undefined) block({ type: 'text', text: '' }, ...pieces(say).map((text) => ({ type: 'text_delta', text })))
  for (const { id = 'toolu_x', name, args = '{}' } of calls)
    block(
      { type: 'tool_use', id, name, input: {} },
      ...pieces(args).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    )
  events.push(
    { type: 'message_delta', delta: { stop_reason: finish, stop_sequence: null }, usage: { output_tokens: 20 } },
    { type: 'message_stop' },
  )
  return { events }
}
