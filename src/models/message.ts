// WORDS of a conversation: what was said, by whom, in the order in which a model reads it. Every call of a model has exactly one result (SESS-3).

import type { ModelPart } from './model-parts.ts'
import type { OutcomeStatus } from '../core/outcome.ts'
import type { Json } from '../core/value.ts'

/** What a model said. `meta` is its provider's own (a signature, an id): it goes back to the provider as it came. */
export type AssistantPart =
  | { readonly type: 'text'; readonly text: string; readonly meta?: Json }
  | { readonly type: 'reasoning'; readonly text: string; readonly meta?: Json }
  | CallPart

/** A tool that a model asked for. `input` is its own text: JSON, or what it took for JSON. */
export interface CallPart {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  readonly input: string
  readonly meta?: Json
}

/** What a model reads of a call. `waiting` and `running`: what came of it is told later, in a notice. `interrupted`: nobody knows. */
export interface ResultPart {
  readonly callId: string
  readonly name: string
  readonly status: OutcomeStatus | 'waiting' | 'running' | 'interrupted'
  readonly parts: readonly ModelPart[]
}

export interface UserMessage {
  readonly role: 'user'
  readonly parts: readonly ModelPart[]
}

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly parts: readonly AssistantPart[]
}

/** The results of the calls of the message before it, one each, in their order. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly results: readonly ResultPart[]
}

/** Words of the runtime, marked so: nobody's, and never the user's (TASK-9). */
export interface NoticeMessage {
  readonly role: 'notice'
  readonly parts: readonly ModelPart[]
}

/** Stands for all that was said before it (SESS-10). */
export interface SummaryMessage {
  readonly role: 'summary'
  readonly text: string
}

/** From here on another frame works, which knows nothing of what was said before but what it was given (SESS-6). */
export interface FrameMessage {
  readonly role: 'frame'
  readonly frame: string
}

export type Message = UserMessage | AssistantMessage | ToolMessage | NoticeMessage | SummaryMessage | FrameMessage

/** What a model is given: notices and summaries are texts there. */
export type ModelMessage = UserMessage | AssistantMessage | ToolMessage

export const callsIn = ({ parts }: AssistantMessage): CallPart[] => parts.filter((part) => part.type === 'call')

export const textIn = (parts: readonly { readonly type: string; readonly text?: string }[]): string =>
  parts.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('')

/** The text of any message, for those who look something up in it. */
export function textOf(message: Message): string {
  switch (message.role) {
    case 'summary':
      return message.text
    case 'frame':
      return ''
    case 'tool':
      return message.results.map(({ parts }) => textIn(parts)).join('\n')
    default:
      return textIn(message.parts)
  }
}
