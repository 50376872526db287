// One answer of a model as a stream delivers it: pieces while the model writes, and what is missing once the answer is
// recorded.

import type { AssistantPart } from '../../models/message.ts'
import type { ModelDelta } from '../../models/model.ts'
import type { TurnPart } from './turn-parts.ts'

/** Delivered so far: texts with neighbours of the same kind merged, and calls with their arguments. */
type Piece =
  | { readonly type: 'text' | 'reasoning'; text: string }
  | (CallPiece & { readonly type: 'call'; input: string; readonly uniqueId: string })

interface CallPiece {
  readonly id: string
  readonly name: string
  /** The provider runs it. */
  readonly isProviders: boolean
}

export class AnswerParts {
  readonly step: number
  readonly #earlierIds: ReadonlySet<string>
  #pieces: Piece[] = []
  /** Place in the answer, as in the deltas. */
  #offset = 0

  /** `earlierIds`: of calls of earlier answers. A model may use an id twice, and the second call gets another one. */
  constructor(step: number, earlierIds: ReadonlySet<string>) {
    this.step = step
    this.#earlierIds = earlierIds
  }

  /** The calls in order, with their unique ids. */
  get calls(): readonly (CallPiece & { readonly uniqueId: string })[] {
    return this.#pieces.filter((piece) => piece.type === 'call')
  }

  /** Void: the answer begins again. */
  *reset(): Generator<TurnPart> {
    if (this.#pieces.length > 0) yield { type: 'reset', step: this.step }
    this.#pieces = []
    this.#offset = 0
  }

  /** A delta that repeats delivered text is ignored; after a gap the rest comes with the record. */
  *push(delta: ModelDelta & { readonly offset: number }): Generator<TurnPart> {
    // The answer was requested again, and this reader missed that it was retracted.
    if (delta.offset === 0 && this.#offset > 0) yield* this.reset()
    if (delta.offset !== this.#offset) return
    this.#offset += delta.type === 'call' ? 1 : delta.delta.length
    if (delta.type === 'call')
      yield* this.#openCall({ id: delta.id, name: delta.name, isProviders: delta.provider === true })
    if (delta.type === 'input') {
      const at = this.#pieces.findLastIndex((piece) => piece.type === 'call' && piece.id === delta.id)
      yield* this.#addInput(at, delta.delta)
    }
    if (delta.type === 'text' || delta.type === 'reasoning') yield* this.#addText(delta.type, delta.delta)
  }

  /** What the recorded answer has more than was delivered. If it differs, everything again. */
  *complete(parts: readonly AssistantPart[]): Generator<TurnPart> {
    const recorded = piecesOf(parts)
    if (!extendsPieces(recorded, this.#pieces)) yield* this.reset()
    const delivered = this.#pieces.length
    for (const [index, piece] of recorded.entries()) {
      const old = index < delivered ? (this.#pieces[index] as Piece) : null
      if (piece.type === 'call') {
        if (!old) yield* this.#openCall(piece)
        const input = piece.input.slice(old?.type === 'call' ? old.input.length : 0)
        if (input !== '') yield* this.#addInput(index, input)
      } else {
        const text = piece.text.slice(old && old.type !== 'call' ? old.text.length : 0)
        if (text !== '') yield* this.#addText(piece.type, text)
      }
    }
  }

  *#openCall({ id, name, isProviders }: CallPiece): Generator<TurnPart> {
    const calls = this.#pieces.filter((piece) => piece.type === 'call')
    const isRepeated = this.#earlierIds.has(id) || calls.some((call) => call.id === id)
    const uniqueId = isRepeated ? `${id}.${this.step}.${calls.length}` : id
    this.#pieces.push({ type: 'call', id, name, isProviders, input: '', uniqueId })
    yield { type: 'call', step: this.step, id: uniqueId, name, isProviders }
  }

  *#addInput(at: number, delta: string): Generator<TurnPart> {
    const piece = this.#pieces[at]
    if (piece?.type !== 'call') return
    piece.input += delta
    yield { type: 'input', step: this.step, id: piece.uniqueId, delta }
  }

  *#addText(type: 'text' | 'reasoning', delta: string): Generator<TurnPart> {
    const last = this.#pieces.at(-1)
    if (last?.type === type) last.text += delta
    else this.#pieces.push({ type, text: delta })
    yield { type, step: this.step, index: this.#pieces.length - 1, delta }
  }
}

/** Sources and results of the provider's tools are not streamed: they are delivered when the answer is complete. */
function piecesOf(parts: readonly AssistantPart[]): Piece[] {
  const pieces: Piece[] = []
  for (const part of parts) {
    const last = pieces.at(-1)
    if (part.type === 'call' || part.type === 'provider_call') {
      const { id, name, input } = part
      pieces.push({ type: 'call', id, name, input, isProviders: part.type === 'provider_call', uniqueId: '' })
    } else if (part.type === 'text' || part.type === 'reasoning') {
      if (last?.type === part.type) last.text += part.text
      else if (part.text !== '') pieces.push({ type: part.type, text: part.text })
    }
  }
  return pieces
}

/** True if the recorded answer only adds to what was delivered. */
const extendsPieces = (recorded: readonly Piece[], delivered: readonly Piece[]): boolean =>
  delivered.length <= recorded.length &&
  delivered.every((old, index) => {
    const piece = recorded[index] as Piece
    const isLast = index === delivered.length - 1
    if (old.type === 'call')
      // Arguments that are not shown while the model writes them are empty so far.
      return (
        piece.type === 'call' && piece.id === old.id && piece.name === old.name && piece.input.startsWith(old.input)
      )
    return piece.type === old.type && (isLast ? piece.text.startsWith(old.text) : piece.text === old.text)
  })
