// Stands for the servers of Anthropic and OpenAI, so that the examples run without keys and without a network. Imported
// for its effects: it starts a local server, sends every request there, and moves to a temporary folder. The model calls
// `refund` (or `steps`, if it has that tool) for each user message, then says what it read.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Block {
  readonly type: string
  readonly content?: string | readonly { readonly text: string }[]
  readonly text?: string
  readonly output?: string
}
interface Message {
  readonly role?: string
  readonly type?: string
  readonly content?: string | readonly Block[]
  readonly output?: string
}
interface Asked {
  readonly messages?: readonly Message[]
  readonly input?: string | readonly Message[]
  readonly tools?: readonly { readonly name: string }[]
}

let answers = 0

/** The result that the model was given last; undefined if it is to answer a user. */
function lastResult(messages: readonly Message[]): string | undefined {
  const last = messages.at(-1)
  if (last?.type === 'function_call_output') return last.output
  const block = typeof last?.content === 'string' ? undefined : last?.content?.at(-1)
  if (block?.type !== 'tool_result') return undefined
  return typeof block.content === 'string' ? block.content : (block.content?.[0]?.text ?? '')
}

function answerOf({
  messages,
  input,
  tools = [],
}: Asked): { text: string } | { id: string; name: string; input: object } {
  const conversation = messages ?? (typeof input === 'string' ? [] : (input ?? []))
  const result = lastResult(conversation)
  if (result !== undefined) return { text: `I read: ${result.split('\n')[0]}` }
  const said = JSON.stringify(conversation.at(-1) ?? input)
  if (said.includes('[Runtime notice')) return { text: 'Thank you, it is done.' }
  const name = tools.some((tool) => tool.name === 'steps') ? 'steps' : 'refund'
  return { id: `call_${++answers}`, name, input: name === 'steps' ? {} : { order: 'A1', cents: 500 } }
}

function reply(path: string, request: Asked): object {
  const answer = answerOf(request)
  const id = `answer_${answers}`
  if (path.endsWith('/responses')) {
    const item =
      'text' in answer
        ? { type: 'message', id: 'm', role: 'assistant', status: 'completed', content: [{ type: 'output_text', annotations: [], text: answer.text }] } // prettier-ignore
        : { type: 'function_call', id: 'fc', call_id: answer.id, name: answer.name, arguments: JSON.stringify(answer.input) } // prettier-ignore
    return { id, object: 'response', status: 'completed', model: 'm', output: [item] }
  }
  const content = ['text' in answer ? { type: 'text', text: answer.text } : { type: 'tool_use', ...answer }]
  const stop_reason = 'text' in answer ? 'end_turn' : 'tool_use'
  const usage = { input_tokens: 1, output_tokens: 1 }
  return { id, type: 'message', role: 'assistant', model: 'm', content, stop_reason, stop_sequence: null, usage }
}

const server = createServer((request, response) => {
  let body = ''
  request.on('data', (piece: Buffer) => (body += piece.toString()))
  request.on('end', () => {
    response.setHeader('content-type', 'application/json')
    response.setHeader('connection', 'close') // an idle connection would keep the process alive
    response.end(JSON.stringify(reply(request.url ?? '', JSON.parse(body) as Asked)))
  })
})
server.unref()
const listening = new Promise<number>((resolve) => {
  server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
})
const realFetch = globalThis.fetch
globalThis.fetch = async (url, init) => {
  const { pathname } = new URL(url instanceof Request ? url.url : url)
  return realFetch(`http://127.0.0.1:${await listening}${pathname}`, init)
}
process.env.ANTHROPIC_API_KEY = 'not-a-key'
process.env.OPENAI_API_KEY = 'not-a-key'
const folder = mkdtempSync(join(tmpdir(), 'pawl-guide-'))
process.chdir(folder)
process.on('exit', () => {
  process.chdir(tmpdir())
  rmSync(folder, { recursive: true, force: true })
})
