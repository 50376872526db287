// The answer of a model while it is written. It disappears when the recorded message takes its place.

import type { StreamEvent } from 'pawl/client'
import { type ReactNode, useEffect, useState } from 'react'
import { useLiveSession } from '../../api/use-live-session.ts'
import { shown } from '../../ui/shown.ts'

interface Answer {
  /** The turn, and the number of its request. */
  readonly of: string
  /** The end of it, if it is long. */
  readonly text: string
  /** The place of the last piece: a reader that joins again gets some of them twice. */
  readonly last: number
  /** The number of the message, once it is recorded. */
  readonly recordedAs?: number
}

const maxShown = 20_000

type Delta = Extract<StreamEvent, { readonly type: 'turn.delta' }>['body']

function withPiece(answer: Answer | null, { turn, step, offset, ...delta }: Delta): Answer | null {
  if (delta.type !== 'text') return answer
  const of = `${turn} ${step}`
  const { text, last } = answer?.of === of ? answer : { text: '', last: -1 }
  return offset <= last ? answer : { of, text: `${text}${delta.delta}`.slice(-maxShown), last: offset }
}

interface StreamingProps {
  readonly session: string
  readonly isOpen: boolean
  /** Number of the last message that is shown. */
  readonly recorded: number
}

export function Streaming({ session, isOpen, recorded }: StreamingProps): ReactNode {
  const [answer, setAnswer] = useState<Answer | null>(null)
  const hear = (event: StreamEvent): void => {
    if (event.type === 'turn.delta') setAnswer((last) => withPiece(last, event.body))
    if (event.type === 'turn.retracted') setAnswer(null)
    if (event.type !== 'turn.answered') return
    const { turn, step, message } = event.body
    setAnswer((last) => (last?.of === `${turn} ${step}` ? { ...last, recordedAs: message } : last))
  }
  // A reader that joins gets the answer from its beginning.
  useLiveSession(session, isOpen, hear, () => setAnswer(null))
  useEffect(() => setAnswer(null), [isOpen])
  if (answer === null || (answer.recordedAs ?? Infinity) <= recorded) return null
  return <Text text={answer.text} />
}

const Text = ({ text }: { readonly text: string }): ReactNode => (
  <section className="mb-3 rounded-lg border border-line p-3" aria-label="The model writes" aria-busy="true">
    <p className="mb-1 text-sm text-soft">The model writes</p>
    <p className="wrap">{shown(text)}</p>
  </section>
)
