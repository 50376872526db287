// The UI message stream protocol of the AI SDK, as far as it is used: what `useChat` reads. test/types checks these
// types against the installed version of `ai`.

import type { Json } from '../core/tool-value.ts'

/** A chunk of a UI message stream. */
export type UiChunk =
  | { readonly type: 'start'; readonly messageId: string }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | {
      readonly type: 'tool-input-start'
      readonly toolCallId: string
      readonly toolName: string
      readonly providerExecuted?: boolean
    }
  | { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
  | {
      readonly type: 'tool-input-available'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: unknown
      readonly providerExecuted?: boolean
    }
  | { readonly type: 'tool-approval-request'; readonly approvalId: string; readonly toolCallId: string }
  | {
      readonly type: 'tool-approval-response'
      readonly approvalId: string
      readonly approved: boolean
      readonly reason?: string
    }
  | {
      readonly type: 'tool-output-available'
      readonly toolCallId: string
      readonly output: unknown
      readonly preliminary?: boolean
      readonly providerExecuted?: boolean
    }
  | {
      readonly type: 'tool-output-error'
      readonly toolCallId: string
      readonly errorText: string
      readonly providerExecuted?: boolean
    }
  | { readonly type: 'source-url'; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
      readonly type: 'source-document'
      readonly sourceId: string
      readonly mediaType: string
      readonly title: string
    }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | { readonly type: `data-${string}`; readonly id?: string; readonly data: unknown; readonly transient?: boolean }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort'; readonly reason?: string }
  | { readonly type: 'finish'; readonly finishReason?: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'other' }

/** A call as a UI message shows it. */
export type UiToolPart = {
  /** `tool-` and the name of the tool. */
  readonly type: `tool-${string}`
  /** Id of the call. */
  readonly toolCallId: string
  /** The arguments. */
  readonly input: Json
  /** True if the provider of the model ran the tool. */
  readonly providerExecuted?: boolean
} & (
  | { readonly state: 'input-available' }
  | { readonly state: 'approval-requested'; readonly approval: { readonly id: string } }
  | { readonly state: 'approval-responded'; readonly approval: UiDecision }
  | { readonly state: 'output-available'; readonly output: Json; readonly approval?: UiDecision & { approved: true } }
  | {
      readonly state: 'output-error'
      readonly errorText: string
      readonly approval?: UiDecision & { approved: true }
    }
  | { readonly state: 'output-denied'; readonly approval: UiDecision & { approved: false } }
)

/** A decision about the approval of a call. */
export interface UiDecision {
  /** Id of the approval. */
  readonly id: string
  /** Whether the call may run. */
  readonly approved: boolean
  /** Why, if the person said so. */
  readonly reason?: string
}

/** A part of a UI message. */
export type UiPart =
  | { readonly type: 'step-start' }
  | { readonly type: 'text' | 'reasoning'; text: string; state: 'streaming' | 'done' }
  | { readonly type: 'source-url'; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
      readonly type: 'source-document'
      readonly sourceId: string
      readonly mediaType: string
      readonly title: string
    }
  | { readonly type: 'file'; readonly mediaType: string; readonly url: string; readonly filename?: string }
  | UiToolPart

/** A message as `useChat` shows it: one of the user, or everything that one turn has answered. */
export interface UiMessage {
  /** The id of the turn; of an answer, `answer_` and the id of the turn. */
  readonly id: string
  /** Who wrote it. */
  readonly role: 'user' | 'assistant'
  /** Text, reasoning, files and calls in order. */
  readonly parts: UiPart[]
}

/** Id of the message with which a turn answers. */
export const answerIdOf = (turn: string): string => `${answerPrefix}${turn}`
const answerPrefix = 'answer_'

/** The turn of an answer with this id; null if it is not the id of an answer. */
export const turnOfAnswer = (id: string): string | null =>
  id.startsWith(answerPrefix) && id.length > answerPrefix.length ? id.slice(answerPrefix.length) : null
