// Live events: deltas of a model's answer, progress and output. They are sent to readers and not recorded.

import type { Scope } from '../core/scope.ts'
import type { ModelDelta } from '../models/model.ts'
import type { Progress } from '../tools/context/tool-context.ts'

/** The answer of a model that a delta belongs to: the turn, and the number of the request in it. */
export interface AnswerOf {
  readonly turn: string
  readonly step: number
}

export interface LiveBodies {
  'call.progress': Progress
  'call.output': { readonly stream: string; readonly text: string }
  /**
   * A piece of an answer. `offset` is its place in the answer: characters of text, reasoning and arguments (`input`),
   * and one for each call. Arguments of sensitive tools and of tools with hidden fields are not streamed. A reader that joins in mid-answer first gets the answer so far, from offset 0.
   */
  'turn.delta': AnswerOf & ModelDelta & { readonly offset: number }
  /** The answer was cut off and is requested again: discard its deltas. */
  'turn.retracted': AnswerOf
}

export type LiveType = keyof LiveBodies

/** The call or turn that a live event is about. */
export interface LiveSubject extends Scope {
  /** Uid of the call or turn. */
  readonly call: string
  /** The model's id of the call, or the id of the turn. */
  readonly callId: string
}

/** Sent to readers that are connected at that moment. It is not stored and has no cursor. */
export type LiveEvent = {
  [T in LiveType]: LiveSubject & {
    /** Distinguishes it from recorded events. */
    readonly live: true
    /** Progress or output of a call, or a part of a model's answer (`turn.retracted` withdraws the parts so far). */
    readonly type: T
    /** When it happened, in milliseconds since 1970. */
    readonly at: number
    /** The progress, the output or the delta. */
    readonly body: LiveBodies[T]
  }
}[LiveType]

/** The number of offsets that a delta takes. */
const sizeOf = (delta: ModelDelta): number => (delta.type === 'call' ? 1 : delta.delta.length)

/** Whether two deltas with text belong to the same part of the answer. */
const continues = (last: ModelDelta, delta: ModelDelta): boolean =>
  last.type === delta.type && (last.type !== 'input' || (delta.type === 'input' && last.id === delta.id))

/** An answer under way: its deltas so far, with neighbouring pieces of the same kind merged. */
export class PartialAnswer {
  readonly of: AnswerOf
  /** Increases when the answer is requested again, also on another worker. */
  readonly round: number
  readonly #parts: ModelDelta[] = []
  size = 0

  constructor(of: AnswerOf, round: number) {
    this.of = of
    this.round = round
  }

  add(delta: ModelDelta): void {
    const last = this.#parts.at(-1)
    this.size += sizeOf(delta)
    if (last && last.type !== 'call' && delta.type !== 'call' && continues(last, delta))
      this.#parts[this.#parts.length - 1] = { ...last, delta: last.delta + delta.delta }
    else this.#parts.push(delta)
  }

  /** The deltas from this offset on. */
  from(offset: number): LiveBodies['turn.delta'][] {
    const found: LiveBodies['turn.delta'][] = []
    let at = 0
    for (const part of this.#parts) {
      const skip = Math.max(0, offset - at)
      if (part.type === 'call') {
        if (skip === 0) found.push({ ...this.of, ...part, offset: at })
      } else if (skip < part.delta.length)
        found.push({ ...this.of, ...part, delta: part.delta.slice(skip), offset: at + skip })
      at += sizeOf(part)
    }
    return found
  }

  get parts(): readonly ModelDelta[] {
    return this.#parts
  }
}
