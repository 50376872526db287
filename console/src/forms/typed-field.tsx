// A field for a number or JSON. It keeps the text that is being typed, and says at once if it cannot be read.

import { type ReactNode, useId, useState } from 'react'
import { messageOf } from '../api/client.ts'
import { shown } from '../ui/shown.ts'
import { readJson, readNumber } from './read-text.ts'

interface TypedFieldProps {
  readonly kind: 'number' | 'json'
  readonly id?: string
  readonly label: string
  readonly describedBy?: string
  readonly isInvalid: boolean
  readonly isRequired: boolean
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  /** The text cannot be read; the value is the last one that could. */
  readonly onUnreadable: (is: boolean) => void
}

export function TypedField(props: TypedFieldProps): ReactNode {
  const { kind, id, label, describedBy = '', isInvalid, isRequired, value, onChange, onUnreadable } = props
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)))
  const [problem, setProblem] = useState<string | null>(null)
  const problemId = useId()
  function change(next: string): void {
    setText(next)
    let found: string | null = null
    try {
      // A required number that is missing is a problem of the form.
      const isUnset = next.trim() === '' && (kind === 'number' || !isRequired)
      onChange(isUnset ? undefined : kind === 'number' ? readNumber(next) : readJson(next))
    } catch (error) {
      found = messageOf(error)
    }
    setProblem(found)
    onUnreadable(found !== null)
  }
  const common = {
    ...(id === undefined ? {} : { id }),
    'aria-label': label,
    'aria-describedby': `${describedBy} ${problemId}`.trim(),
    'aria-invalid': isInvalid || problem !== null,
    value: text,
  }
  return (
    <>
      {kind === 'number' ? (
        <input
          {...common}
          type="text"
          inputMode="decimal"
          className="field"
          onChange={(event) => change(event.target.value)}
        />
      ) : (
        <textarea
          {...common}
          rows={Math.min(14, Math.max(3, text.split('\n').length))}
          spellCheck={false}
          className="field font-mono text-sm"
          onChange={(event) => change(event.target.value)}
        />
      )}
      <p id={problemId} className="any text-sm text-stop" role={problem === null ? undefined : 'alert'}>
        {problem !== null && shown(problem)}
      </p>
    </>
  )
}
