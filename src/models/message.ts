// The messages of a conversation, as they are stored and in the order in which a model reads them.

import type { ModelPart } from './outcome-to-model-parts.ts'
import type { OutcomeStatus } from '../core/outcome.ts'
import type { Json } from '../core/tool-value.ts'

/**
 * A part of a model's answer. `meta` is provider data (a signature, an id) and is sent back to the provider unchanged.
 */
export type AssistantPart =
  | { readonly type: 'text'; readonly text: string; readonly meta?: Json }
  | { readonly type: 'reasoning'; readonly text: string; readonly meta?: Json }
  | CallPart
  | ProviderCallPart
  | ProviderResultPart
  | SourcePart

/** A tool call of a model. `input` is the model's raw text, which may be invalid JSON. */
export interface CallPart {
  /** Always 'call'. */
  readonly type: 'call'
  /** The model's id of the call. */
  readonly id: string
  /** Name of the tool. */
  readonly name: string
  /** The arguments as JSON text. */
  readonly input: string
  /** Data of the provider that must be sent back. */
  readonly meta?: Json
}

/**
 * A call of a tool that the provider runs itself, such as its web search. It is recorded and sent back to that provider;
 * Pawl does not run it.
 */
export interface ProviderCallPart {
  /** Always 'provider_call'. */
  readonly type: 'provider_call'
  /** The provider's id of the call. */
  readonly id: string
  /** Name of the tool. */
  readonly name: string
  /** The arguments as JSON text. */
  readonly input: string
  /** The provider that ran it, such as 'anthropic'. Other providers do not get the call and its result. */
  readonly provider: string
  /** Data of the provider that must be sent back. */
  readonly meta?: Json
}

/** The result of a tool that the provider ran. It may come in a later answer than its call. */
export interface ProviderResultPart {
  /** Always 'provider_result'. */
  readonly type: 'provider_result'
  /** The provider's id of the call. */
  readonly callId: string
  /** Name of the tool. */
  readonly name: string
  /** The result as the provider gave it. */
  readonly output: Json
  /** Set if the tool failed. */
  readonly failed?: true
  /** The provider that ran it. */
  readonly provider: string
  /** Data of the provider that must be sent back. */
  readonly meta?: Json
}

/** A source that the model used: a web page or a document. Recorded for people, not sent back. */
export interface SourcePart {
  /** Always 'source'. */
  readonly type: 'source'
  /** The provider's id of the source. */
  readonly id: string
  /** Address of a web page. Absent for a document. */
  readonly url?: string
  /** Title, if there is one. */
  readonly title?: string
  /** Media type of a document. */
  readonly mediaType?: string
  /** Data of the provider. */
  readonly meta?: Json
}

/**
 * The result of a call as the model reads it. `waiting` and `running`: the outcome follows later in a notice.
 * `interrupted`: no outcome is known.
 */
export interface ResultPart {
  /** The model's id of the call. */
  readonly callId: string
  /** Name of the tool. */
  readonly name: string
  /** How the call ended, or that it has not. */
  readonly status: OutcomeStatus | 'waiting' | 'running' | 'interrupted'
  /** The result as the model reads it. */
  readonly parts: readonly ModelPart[]
}

/** A message of the user. */
export interface UserMessage {
  /** Always 'user'. */
  readonly role: 'user'
  /** Text and files. */
  readonly parts: readonly ModelPart[]
}

/** An answer of a model. */
export interface AssistantMessage {
  /** Always 'assistant'. */
  readonly role: 'assistant'
  /** Texts, reasoning and calls in order. */
  readonly parts: readonly AssistantPart[]
}

/** The results for the calls of the assistant message before it: one per call, in call order. */
export interface ToolMessage {
  /** Always 'tool'. */
  readonly role: 'tool'
  /** The results of the calls of the answer before, in order. */
  readonly results: readonly ResultPart[]
}

/** A message from the runtime. It is marked as such, so the model does not take it for a user message. */
export interface NoticeMessage {
  /** Always 'notice'. */
  readonly role: 'notice'
  /** What the model reads. */
  readonly parts: readonly ModelPart[]
}

/** Replaces all messages before it. */
export interface SummaryMessage {
  /** Always 'summary'. */
  readonly role: 'summary'
  /** The text that replaces older messages. */
  readonly text: string
}

/** The turn continues in another frame, which sees only the messages after this one. */
export interface FrameMessage {
  /** Always 'frame'. */
  readonly role: 'frame'
  /** Name of the frame that continues. */
  readonly frame: string
}

/** A message of a conversation. */
export type Message = UserMessage | AssistantMessage | ToolMessage | NoticeMessage | SummaryMessage | FrameMessage

/** A message as it is sent to a model: notices and summaries have become user texts. */
export type ModelMessage = UserMessage | AssistantMessage | ToolMessage

export const callsIn = ({ parts }: AssistantMessage): CallPart[] => parts.filter((part) => part.type === 'call')

export const textIn = (parts: readonly { readonly type: string; readonly text?: string }[]): string =>
  parts.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('')

/** The text of any message, for searching. */
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
