// Builds the messages that are sent to a model from the recorded ones; turns/ calls it. Pure.
// Whatever is recorded, the result obeys the rules of the providers: every call has exactly one result, right after it
// and in call order; ids are unique; no message is empty; user and assistant messages alternate.

import { mergeParts, type ModelPart } from './outcome-to-model-parts.ts'
import { noticeHeader } from '../core/runtime-notice.ts'
import { toolNamePattern } from '../tools/tool.ts'
import {
  type AssistantMessage,
  type AssistantPart,
  type CallPart,
  callsIn,
  type Message,
  type ModelMessage,
  type ResultPart,
  type SummaryMessage,
} from './message.ts'

/** The result of a call for which no result is recorded. */
export const interruptedParts: readonly ModelPart[] = [
  {
    type: 'text',
    text: '[Tool call interrupted]\nIt was interrupted, and what became of it is not known. Look before you ask for it again.',
  },
]

/** A summary as the model reads it. */
export const summaryText = ({ text }: SummaryMessage): string =>
  `${noticeHeader('What follows is a summary of what was said before.')}\n${text}`

/** Built incrementally, so that a long conversation is not converted again for each answer. */
export class Conversation {
  readonly #messages: ModelMessage[] = []
  readonly #ids: Set<string>
  /** The calls of the last assistant message, with their ids in this conversation, until their results arrive. */
  #pendingCalls: readonly { readonly call: CallPart; readonly name: string }[] = []

  /** @param ids Call ids that are already in use, from messages before this conversation. */
  constructor(ids: readonly string[] = []) {
    this.#ids = new Set(ids)
  }

  get messages(): readonly ModelMessage[] {
    return this.#messages.slice()
  }

  /** All call ids in use, including those passed to the constructor. */
  get ids(): string[] {
    return [...this.#ids]
  }

  push(message: Message): void {
    // Results come right after their calls. Any other message means that results are missing: those calls stay
    // interrupted.
    const pendingCalls = this.#pendingCalls
    this.#pendingCalls = []
    switch (message.role) {
      case 'frame':
        break
      case 'summary':
        this.#pushUser([{ type: 'text', text: summaryText(message) }])
        break
      case 'user':
      case 'notice':
        this.#pushUser(message.parts)
        break
      case 'assistant':
        this.#pushAssistant(message)
        break
      case 'tool': // results without calls before them are dropped
        if (pendingCalls.length > 0)
          this.#messages[this.#messages.length - 1] = {
            role: 'tool',
            results: resultsFor(pendingCalls, message.results),
          }
        break
      default:
        throw new Error(`Unknown role: ${JSON.stringify(message satisfies never)}`)
    }
  }

  /** Merges consecutive user messages into one: providers require user and assistant messages to alternate. */
  #pushUser(parts: readonly ModelPart[]): void {
    const last = this.#messages.at(-1)
    const before: readonly ModelPart[] = last?.role === 'user' ? [...last.parts, { type: 'text', text: '\n\n' }] : []
    const merged = mergeParts([...before, ...parts]).filter((part) => part.type !== 'text' || part.text.trim() !== '')
    if (last?.role === 'user') this.#messages.pop()
    if (merged.length > 0) this.#messages.push({ role: 'user', parts: merged })
  }

  #pushAssistant(message: AssistantMessage): void {
    const parts = withoutEmptyParts(message.parts)
    if (parts.length === 0) return
    this.#pendingCalls = callsIn({ role: 'assistant', parts }).map((call) => ({ call, name: this.#uniqueId(call.id) }))
    const names = new Map<AssistantPart, string>(this.#pendingCalls.map(({ call, name }) => [call, name]))
    const named = parts.map((part) =>
      part.type === 'call' ? { ...part, id: names.get(part) as string, name: sendableName(part) } : part,
    )
    const last = this.#messages.at(-1)
    if (last?.role === 'assistant')
      this.#messages[this.#messages.length - 1] = { role: 'assistant', parts: [...last.parts, ...named] }
    else this.#messages.push({ role: 'assistant', parts: named })
    if (this.#pendingCalls.length > 0)
      this.#messages.push({ role: 'tool', results: resultsFor(this.#pendingCalls, []) })
  }

  /** Appends a counter to an id that an earlier call already uses. */
  #uniqueId(id: string): string {
    let name = id
    for (let count = 2; this.#ids.has(name); count++) name = `${id}-${count}`
    this.#ids.add(name)
    return name
  }
}

/**
 * Drops sources, which are for people, and blank texts and trailing reasoning, which providers reject. Empty reasoning with `meta` stays: the provider's
 * own content is in `meta`.
 */
function withoutEmptyParts(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const nonEmpty = parts.filter((part) => {
    if (part.type === 'text') return part.text.trim() !== ''
    if (part.type === 'reasoning') return part.text.trim() !== '' || part.meta !== undefined
    return part.type !== 'source'
  })
  return nonEmpty.slice(0, nonEmpty.findLastIndex(({ type }) => type !== 'reasoning') + 1)
}

/** A model may call a name that no tool can have; providers reject such a name in the history. */
function sendableName({ name }: CallPart): string {
  const valid = toolNamePattern.test(name) ? name : name.replaceAll(/[^\w-]/g, '_').slice(0, 64)
  // Provider packages look names up in plain objects: `constructor` would find the inherited property.
  return valid in Object.prototype ? `${valid}_` : valid
}

function resultsFor(calls: readonly { call: CallPart; name: string }[], results: readonly ResultPart[]): ResultPart[] {
  const unused = [...results]
  return calls.map(({ call, name }) => {
    const index = unused.findIndex(({ callId }) => callId === call.id)
    const [found] = index === -1 ? [] : unused.splice(index, 1)
    if (!found) return { callId: name, name: sendableName(call), status: 'interrupted', parts: interruptedParts }
    return { ...found, callId: name, name: sendableName(call) }
  })
}
