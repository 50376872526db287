// What a model is given of a conversation (SESS-3). Pure. Whatever stands on record, what goes out keeps to what providers ask for: every call has
// exactly one result, right after it and in its order; no id is used twice; nothing is empty; users and models take turns.

import { merged, type ModelPart } from './model-parts.ts'
import { noticeMark } from '../core/notice-text.ts'
import { nameShape } from '../tools/tool.ts'
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

/** What is told of a call of which nobody knows anything. */
export const interrupted: readonly ModelPart[] = [
  {
    type: 'text',
    text: '[Tool call interrupted]\nIt was interrupted, and what became of it is not known. Look before you ask for it again.',
  },
]

/** What a model reads of a summary. */
export const summaryText = ({ text }: SummaryMessage): string =>
  `${noticeMark('What follows is a summary of what was said before.')}\n${text}`

/** Grows message by message: a long conversation is not gone through again for each answer. */
export class Conversation {
  readonly #out: ModelMessage[] = []
  readonly #ids: Set<string>
  /** The calls of the last message of the model, as they are named here; until their results are there. */
  #open: readonly { readonly call: CallPart; readonly name: string }[] = []

  /** `ids`: those of calls before it. */
  constructor(ids: readonly string[] = []) {
    this.#ids = new Set(ids)
  }

  get messages(): readonly ModelMessage[] {
    return this.#out.slice()
  }

  /** Of all its calls, and those before it, as they are named here. */
  get ids(): string[] {
    return [...this.#ids]
  }

  push(message: Message): void {
    // What is not the results themselves ends the waiting for them: those that are missing stay interrupted.
    const open = this.#open
    this.#open = []
    switch (message.role) {
      case 'frame':
        break
      case 'summary':
        this.#users([{ type: 'text', text: summaryText(message) }])
        break
      case 'user':
      case 'notice':
        this.#users(message.parts)
        break
      case 'assistant':
        this.#says(message)
        break
      case 'tool': // one without calls is nobody's
        if (open.length > 0)
          this.#out[this.#out.length - 1] = { role: 'tool', results: resultsOf(open, message.results) }
        break
      default:
        throw new Error(`Unknown role: ${JSON.stringify(message satisfies never)}`)
    }
  }

  /** Neighbours become one message: providers want users and models to take turns. */
  #users(parts: readonly ModelPart[]): void {
    const last = this.#out.at(-1)
    const before: readonly ModelPart[] = last?.role === 'user' ? [...last.parts, { type: 'text', text: '\n\n' }] : []
    const said = merged([...before, ...parts]).filter((part) => part.type !== 'text' || part.text.trim() !== '')
    if (last?.role === 'user') this.#out.pop()
    if (said.length > 0) this.#out.push({ role: 'user', parts: said })
  }

  #says(message: AssistantMessage): void {
    const parts = readable(message.parts)
    if (parts.length === 0) return
    this.#open = callsIn({ role: 'assistant', parts }).map((call) => ({ call, name: this.#fresh(call.id) }))
    const names = new Map<AssistantPart, string>(this.#open.map(({ call, name }) => [call, name]))
    const named = parts.map((part) =>
      part.type === 'call' ? { ...part, id: names.get(part) as string, name: nameOf(part) } : part,
    )
    const last = this.#out.at(-1)
    if (last?.role === 'assistant')
      this.#out[this.#out.length - 1] = { role: 'assistant', parts: [...last.parts, ...named] }
    else this.#out.push({ role: 'assistant', parts: named })
    if (this.#open.length > 0) this.#out.push({ role: 'tool', results: resultsOf(this.#open, []) })
  }

  /** An id that no call before it has. */
  #fresh(id: string): string {
    let name = id
    for (let count = 2; this.#ids.has(name); count++) name = `${id}-${count}`
    this.#ids.add(name)
    return name
  }
}

/** Thoughts that led to nothing, and texts without a word, are no part of what was said. Thoughts may be empty: their provider's own stands for them. */
function readable(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const said = parts.filter(
    (part) => part.type === 'call' || part.text.trim() !== '' || (part.type === 'reasoning' && part.meta !== undefined),
  )
  return said.slice(0, said.findLastIndex(({ type }) => type !== 'reasoning') + 1)
}

/** A model may ask for a name that no tool can have, and no provider takes it back. */
function nameOf({ name }: CallPart): string {
  const taken = nameShape.test(name) ? name : name.replaceAll(/[^\w-]/g, '_').slice(0, 64)
  // Provider packages look names up in plain objects, and send what every object has there (`constructor`) instead of the name.
  return taken in Object.prototype ? `${taken}_` : taken
}

function resultsOf(calls: readonly { call: CallPart; name: string }[], given: readonly ResultPart[]): ResultPart[] {
  const left = [...given]
  return calls.map(({ call, name }) => {
    const at = left.findIndex(({ callId }) => callId === call.id)
    const [found] = at === -1 ? [] : left.splice(at, 1)
    if (!found) return { callId: name, name: nameOf(call), status: 'interrupted', parts: interrupted }
    // A result that is empty is a result.
    return { ...found, callId: name, name: nameOf(call) }
  })
}

export function conversationOf(said: readonly Message[]): readonly ModelMessage[] {
  const conversation = new Conversation()
  for (const message of said) conversation.push(message)
  return conversation.messages
}
