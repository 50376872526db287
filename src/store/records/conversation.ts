// Names and rows of the documents that hold a session's conversation: messages (never changed once written), the lock
// on appending, messages not yet delivered, agents, usage.

import { lengthPrefixed } from '../../core/ids.ts'
import type { CallOptions, CallPosition } from './call-record.ts'
import { stepBatchPrefix, turnBatch } from '../journal-keys.ts'

/** Recorded tool name of a turn: only workers that know the model claim it. */
export const turnTool = (model: string): string => `${turnBatch}:${model}`
/** Host batch names cannot start with `pawl:`, so this identifies turns. */
export const isTurn = ({ position }: { readonly position: { readonly batch: string } }): boolean =>
  position.batch === turnBatch
/**
 * Batch of the calls of one model answer; if they run sequentially, of the call at that index. The encoding is
 * collision-free for any id.
 */
export const stepBatch = (turn: string, step: number, ...order: number[]): string =>
  `${stepBatchPrefix}${lengthPrefixed(turn, step, ...order)}`
/**
 * Whether the batch holds calls a model requested in a turn. Unlike other internal batches, users may refer to them.
 */
export const isStepBatch = (batch: string): boolean => batch.startsWith(stepBatchPrefix)

const digits = 12
export const messageKey = (number: number): string => String(number).padStart(digits, '0')

export interface LastTurnRow {
  /** As recorded, without the message. */
  readonly asked: {
    readonly principal: string | null
    readonly tool: string
    readonly input: string
    readonly hash: string
    readonly options: CallOptions | null
    readonly sealed?: boolean
  }
  /** How many turns have started by themselves since. */
  readonly woken: number
}

/** Id prefix of turns that start by themselves; host ids cannot start with it. */
const wokenPrefix = 'woken_'
export const wokenId = (what: string): string => `${wokenPrefix}${what}`
export const isWoken = (turn: string): boolean => turn.startsWith(wokenPrefix)

export interface HeadRow {
  /** Identifies this conversation; changes when the session is erased and used again. */
  readonly born: string
  /** The uid of the open turn; null if no turn is open. */
  readonly turn: string | null
  /** Names of the capabilities enabled when the turn began; left out if there were none. */
  readonly on?: readonly string[]
}

/** A user message: a text, or a text with files. */
export type WordsRow =
  | string
  | {
      readonly text: string
      readonly files: readonly { readonly mediaType: string; readonly name?: string; readonly base64: string }[]
    }

export interface SentRow {
  readonly id: string
  readonly text: WordsRow
  readonly when: 'next' | 'after'
  readonly at: number
}

export const agentWorking = '1'
export const agentLeftWork = 'left'

export interface ParentRow {
  readonly session: string
  readonly call: string
  /** How many agents are above it. */
  readonly depth: number
}

export interface OwedRow {
  readonly batch: string
  readonly id: string
  readonly occurrence: number
  readonly name: string
  /** The call id as the model knows it, if it differs. */
  readonly shown?: string
}

/** Key of the row that records that the result of this call is owed. */
export const owedKey = ({ batch, id, occurrence }: CallPosition): string => lengthPrefixed(batch, id, occurrence)
