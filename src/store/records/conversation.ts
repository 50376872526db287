// JOURNAL: the conversation of a session, as it is kept: one row a message, never changed; who may add to it; and what waits to be said.

import { frame } from '../../core/ids.ts'
import type { CallOptions } from './call-record.ts'

interface Scope {
  readonly tenant: string
  readonly session: string
}

/** Where turns stand: each is a call of this batch. */
export const turnBatch = 'pawl:turn'
/** What records call a turn: claimed where the model is known. */
export const turnTool = (model: string): string => `${turnBatch}:${model}`
/** No batch of a host begins so. */
export const isTurn = ({ position }: { readonly position: { readonly batch: string } }): boolean =>
  position.batch === turnBatch
/** The batch of the calls of one answer; where they run one after the other, of the one that stands there. No choice of ids makes it another's. */
export const stepBatch = (turn: string, step: number, ...order: number[]): string =>
  `${ofStep}${frame(turn, step, ...order)}`
const ofStep = 'pawl:step:'
/** What a model asked for in a turn: of the batches that only we name, these are of calls that others may mean. */
export const isStepBatch = (batch: string): boolean => batch.startsWith(ofStep)

const digits = 12
export const messageKey = (number: number): string => String(number).padStart(digits, '0')
export const messageName = ({ tenant, session }: Scope, number: number) => ({
  of: 'message',
  tenant,
  session,
  key: messageKey(number),
})

/** Which turn may add messages: one at a time, on whatever worker (SESS-4). */
export const headName = ({ tenant, session }: Scope) => ({ of: 'conversation', tenant, session, key: '' })

/** The last turn that somebody asked for here: one that begins by itself is like it. */
export const lastTurnName = ({ tenant, session }: Scope) => ({ of: 'turn-last', tenant, session, key: '' })

export interface LastTurnRow {
  /** As it was put on record, without what was said. */
  readonly asked: {
    readonly principal: string | null
    readonly tool: string
    readonly input: string
    readonly hash: string
    readonly options: CallOptions | null
    readonly sealed?: boolean
  }
  /** How many have begun by themselves since. */
  readonly woken: number
}

/** No id of a host begins so. */
const woken = 'woken_'
export const wokenId = (what: string): string => `${woken}${what}`
export const isWoken = (turn: string): boolean => turn.startsWith(woken)

export interface HeadRow {
  /** Of this conversation: another after the session was erased. */
  readonly born: string
  /** The uid of the turn that is open; null if none is. */
  readonly turn: string | null
  /** Capabilities that were on when it began, by name; left out if none were. */
  readonly on?: readonly string[]
}

/** What was sent and not read yet, in the order in which it came. */
export const sentName = ({ tenant, session }: Scope, key: string) => ({ of: 'message-sent', tenant, session, key })
/** By the sender's id: a message that was sent before is not sent again. */
export const sentOnceName = ({ tenant, session }: Scope, id: string) => ({ of: 'message-id', tenant, session, key: id })

/** What a user said: a text, or a text with files. */
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

/** What models have cost: a row for each turn, and for each time that a body asked. */
export const usageName = ({ tenant, session }: Scope, key: string) => ({ of: 'model-usage', tenant, session, key })

/** Of a session in which an agent works: who let it. */
export const parentName = ({ tenant, session }: Scope) => ({ of: 'session-parent', tenant, session, key: '' })
/** Those of them that are at work, or that have answered and left something behind: what people are asked there is found from above. */
export const workingName = ({ tenant, session }: Scope, agent: string) => ({
  of: 'session-working',
  tenant,
  session,
  key: agent,
})
export const atWork = '1'
export const leftBehind = 'left'
/** The sessions of agents that something in this one let work. */
export const agentName = ({ tenant, session }: Scope, agent: string) => ({
  of: 'session-agent',
  tenant,
  session,
  key: agent,
})

export interface ParentRow {
  readonly session: string
  readonly call: string
  /** How many agents are above it. */
  readonly depth: number
}

/** A tool, by its id, whose schema the models of the session are shown from now on (SESS-8). */
export const revealedName = ({ tenant, session }: Scope, tool: string) => ({
  of: 'tool-revealed',
  tenant,
  session,
  key: tool,
})

/** A call for which a placeholder stands in the conversation: what comes of it is told later (POL-7). */
export const owedName = ({ tenant, session }: Scope, key: string) => ({ of: 'result-owed', tenant, session, key })

export interface OwedRow {
  readonly batch: string
  readonly id: string
  readonly occurrence: number
  readonly name: string
  /** Its id as the model knows it, where that is another. */
  readonly shown?: string
}
