// A message history as a host stores it, in the formats of two providers, with a checker of their API rules: every call
// has exactly one result, right after the message that contains it.

import type { CallAsk, CallOutcome, ModelPart, OpenCall } from 'pawl'
import { anthropicResults, callsFromAnthropic } from 'pawl/anthropic'
import { callsFromOpenAI, openaiResults } from 'pawl/openai'

export interface Conversation {
  /** Adds a user message or a runtime notice. */
  says(text: string | readonly ModelPart[]): void
  /** Adds an assistant message with tool calls; returns the calls as the adapter reads them. */
  asks(...calls: [id: string, name: string, input: unknown][]): CallAsk[]
  /** Adds the results of the calls, or their placeholders. */
  results(of: readonly (CallOutcome | OpenCall)[]): Promise<void>
  answers(text: string): void
  /** The API's objections to this history; [] if it is valid. */
  problems(): string[]
  /** The results that the model reads: [id, text, error flag where the API has one]. */
  read(): [string, string, boolean | undefined][]
  /** All text that is not a tool result. */
  words(): string[]
}

const textOf = (text: string | readonly ModelPart[]): string =>
  typeof text === 'string' ? text : text.map((part) => (part.type === 'text' ? part.text : '[file]')).join('')

/** Compares the ids of the calls with the ids of the results that follow them. */
function unmatched(where: string, asked: readonly string[], answered: readonly string[]): string[] {
  const count = (list: readonly string[], id: string): number => list.filter((each) => each === id).length
  return [...new Set([...asked, ...answered])].flatMap((id) =>
    count(asked, id) === count(answered, id)
      ? []
      : [`${where}: ${id} was asked ${count(asked, id)} and answered ${count(answered, id)} times`],
  )
}

interface Chat {
  role: 'user' | 'assistant' | 'tool'
  content: string | null
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[]
  tool_call_id?: string
}

export function openaiChat(): Conversation {
  const messages: Chat[] = []
  return {
    says: (text) => void messages.push({ role: 'user', content: textOf(text) }),
    asks(...calls) {
      const tool_calls = calls.map(([id, name, input]) => ({
        id,
        type: 'function' as const,
        function: { name, arguments: JSON.stringify(input) },
      }))
      const message: Chat = { role: 'assistant', content: null, tool_calls }
      messages.push(message)
      return callsFromOpenAI(message)
    },
    results: async (of) => void messages.push(...(await openaiResults(of, { api: 'chat' }))),
    answers: (text) => void messages.push({ role: 'assistant', content: text }),
    problems() {
      return messages.flatMap((message, index) => {
        if (message.role === 'tool' && !['assistant', 'tool'].includes(messages[index - 1]?.role ?? ''))
          return [`${index}: a result out of place`]
        if (!message.tool_calls) return []
        const next = messages.findIndex((each, at) => at > index && each.role !== 'tool')
        const given = messages
          .slice(index + 1, next === -1 ? undefined : next)
          .map(({ tool_call_id = '' }) => tool_call_id)
        return unmatched(String(index), message.tool_calls.map(({ id }) => id), given) // prettier-ignore
      })
    },
    read: () => messages.flatMap(({ role, tool_call_id, content }) => (role === 'tool' ? [[tool_call_id ?? '', content ?? '', undefined] as [string, string, undefined]] : [])), // prettier-ignore
    words: () => messages.flatMap(({ role, content }) => (role === 'tool' || content === null ? [] : [content])),
  }
}

type Item = { role: 'user' | 'assistant'; content: string } | { type: 'function_call'; call_id: string; name: string; arguments: string } | { type: 'function_call_output'; call_id: string; output: unknown } // prettier-ignore

export function openaiResponses(): Conversation {
  const items: Item[] = []
  const ids = (type: string): string[] =>
    items.flatMap((item) => ('type' in item && item.type === type ? [item.call_id] : []))
  return {
    says: (text) => void items.push({ role: 'user', content: textOf(text) }),
    asks(...calls) {
      const asked = calls.map(([call_id, name, input]) => ({
        type: 'function_call' as const,
        call_id,
        name,
        arguments: JSON.stringify(input),
      }))
      items.push(...asked)
      return callsFromOpenAI(asked)
    },
    results: async (of) => void items.push(...(await openaiResults(of, { api: 'responses' }))),
    answers: (text) => void items.push({ role: 'assistant', content: text }),
    // "No tool output found for function call": OpenAI accepts the output anywhere after the call.
    problems: () => unmatched('items', ids('function_call'), ids('function_call_output')),
    read: () => items.flatMap((item) => ('output' in item ? [[item.call_id, item.output as string, undefined] as [string, string, undefined]] : [])), // prettier-ignore
    words: () => items.flatMap((item) => ('role' in item ? [item.content] : [])),
  }
}

interface Block {
  readonly type: string
  readonly id?: string
  readonly tool_use_id?: string
  readonly text?: string
  readonly is_error?: boolean
  readonly content?: readonly Block[]
}

export function anthropicMessages(): Conversation {
  const messages: { role: 'user' | 'assistant'; content: Block[] }[] = []
  const add = (role: 'user' | 'assistant', ...content: Block[]): void => {
    const last = messages.at(-1)
    // Roles alternate: user text after results goes into the message that holds the results.
    if (last?.role === role) last.content.push(...content)
    else messages.push({ role, content })
  }
  const plain = (content: readonly Block[] = []): string => content.map(({ text = '' }) => text).join('')
  return {
    says: (text) => add('user', { type: 'text', text: textOf(text) }),
    asks(...calls) {
      const content = calls.map(([id, name, input]) => ({ type: 'tool_use', id, name, input }))
      add('assistant', ...content)
      return callsFromAnthropic({ content })
    },
    results: async (of) => add('user', ...(await anthropicResults(of))),
    answers: (text) => add('assistant', { type: 'text', text }),
    problems() {
      return messages.flatMap(({ role, content }, index) => {
        if (role === 'user') {
          const first = content.findIndex(({ type }) => type !== 'tool_result')
          const late = first !== -1 && content.slice(first).some(({ type }) => type === 'tool_result')
          return late ? [`${index}: results must come first`] : []
        }
        const asked = content.flatMap(({ type, id = '' }) => (type === 'tool_use' ? [id] : []))
        const given = (messages[index + 1]?.content ?? []).flatMap(({ type, tool_use_id = '' }) =>
          type === 'tool_result' ? [tool_use_id] : [],
        )
        return unmatched(String(index), asked, given)
      })
    },
    read: () =>
      messages.flatMap(({ content }) =>
        content.flatMap((block) =>
          block.type === 'tool_result'
            ? [[block.tool_use_id ?? '', plain(block.content), block.is_error ?? false] as [string, string, boolean]]
            : [],
        ),
      ),
    words: () =>
      messages.flatMap(({ content }) => content.flatMap(({ type, text = '' }) => (type === 'text' ? [text] : []))),
  }
}
