// The parts of a turn as its streams deliver them: a typed sequence that text-stream.ts and ui-message-stream.ts
// translate. A reader that joins late gets the same parts, from the record.

import type { Outcome } from '../../core/outcome.ts'
import type { Json } from '../../core/tool-value.ts'
import type { SourcePart } from '../../models/message.ts'
import type { TurnValue } from '../../models/turn-interface.ts'
import type { WaitingFor } from '../../sessions/read-call-records.ts'
import type { Progress } from '../../tools/context/tool-context.ts'

/** A call of an answer. */
export interface CallView {
  readonly step: number
  /** The model's id; if an earlier call of the turn has the same one, with the step and index appended. */
  readonly id: string
  readonly name: string
  /** The arguments, parsed if they are valid JSON. */
  readonly input: Json
}

/** `waiting`: for a person (`approval`, `question`, …) or for an external result (`completion`). */
export type CallState =
  | { readonly is: 'running' }
  | { readonly is: 'waiting'; readonly for: WaitingFor; readonly waitId: string }
  | { readonly is: 'settled'; readonly outcome: Outcome | null }

export type TurnPart =
  /** An answer begins. */
  | { readonly type: 'step'; readonly step: number }
  /** A piece of text; pieces with the same index belong together. */
  | { readonly type: 'text' | 'reasoning'; readonly step: number; readonly index: number; readonly delta: string }
  /** The model begins to write a call. */
  | {
      readonly type: 'call'
      readonly step: number
      readonly id: string
      readonly name: string
      /** The provider runs it. */
      readonly isProviders: boolean
    }
  /** A piece of its arguments. */
  | { readonly type: 'input'; readonly step: number; readonly id: string; readonly delta: string }
  /** The parts of this answer so far are void: it was cut off and begins again. */
  | { readonly type: 'reset'; readonly step: number }
  /** The answer is recorded and all its parts are delivered. */
  | {
      readonly type: 'answered'
      readonly step: number
      readonly calls: readonly CallView[]
      /** Tools that the provider ran: a result may belong to a call of an earlier answer. */
      readonly provider: {
        readonly calls: readonly CallView[]
        readonly results: readonly { readonly id: string; readonly output: Json; readonly failed: boolean }[]
        readonly sources: readonly SourcePart[]
      }
    }
  | { readonly type: 'state'; readonly call: CallView; readonly state: CallState }
  | { readonly type: 'progress'; readonly call: CallView; readonly progress: Progress }
  /** A person has decided about the call. */
  | {
      readonly type: 'decided'
      readonly call: CallView
      readonly waitId: string
      readonly approved: boolean
      readonly reason?: string
    }
  /** Every open call waits for people or external systems. */
  | { readonly type: 'waiting' }
  | { readonly type: 'ended'; readonly outcome: Outcome<TurnValue> }
