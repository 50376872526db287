// The value of a schema while a person edits it in a form, with its problems.

import { type ReactNode, useMemo, useState } from 'react'
import { type Problems, problemsOf, readSchema } from './schema.ts'
import { SchemaForm } from './schema-form.tsx'

interface EditedValue {
  readonly value: unknown
  readonly fields: ReactNode
  readonly isValid: boolean
  /** Null if the value can be sent. Otherwise why not; the fields show their problems from then on. */
  check(): string | null
}

const none: Problems = new Map()

export function useSchemaForm(given: unknown, first: unknown): EditedValue {
  const schema = useMemo(() => readSchema(given), [given])
  const [value, setValue] = useState<unknown>(first)
  const [unreadable, setUnreadable] = useState<ReadonlySet<string>>(new Set())
  const [isChecked, setChecked] = useState(false)
  const problems = problemsOf(schema, value)
  return {
    value,
    isValid: problems.size === 0 && unreadable.size === 0,
    fields: (
      <SchemaForm
        schema={schema}
        value={value}
        onChange={setValue}
        problems={isChecked ? problems : none}
        onUnreadable={(path, isUnreadable) => {
          const next = new Set(unreadable)
          if (isUnreadable) next.add(path)
          else next.delete(path)
          setUnreadable(next)
        }}
        onSwitch={() => setUnreadable(new Set())}
      />
    ),
    check() {
      setChecked(true)
      if (unreadable.size > 0) return 'A field cannot be read. Correct it first.'
      return problems.size > 0 ? 'Correct the marked fields first.' : null
    },
  }
}
