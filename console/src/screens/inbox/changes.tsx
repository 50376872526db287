// The difference between two versions of a call's arguments, at the first level.

import type { ReactNode } from 'react'
import { shown } from '../../ui/shown.ts'
import { jsonText } from '../../ui/values.tsx'

interface FieldChange {
  readonly name: string
  readonly from: string | null
  readonly to: string | null
}

/** The whole values are shown elsewhere on the page. */
const maxShown = 500

const entriesOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value)
    : [['the arguments', value]]

/** Fields that differ, at the first level. A text that looks like the other value is in quotes. */
export function changesOf(from: unknown, to: unknown): FieldChange[] {
  const [before, after] = [new Map(entriesOf(from)), new Map(entriesOf(to))]
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const [old, next] = [before.get(name), after.get(name)]
    if (JSON.stringify(old) === JSON.stringify(next)) return []
    const show = jsonText(old) === jsonText(next) ? JSON.stringify : jsonText
    return [{ name, from: before.has(name) ? show(old) : null, to: after.has(name) ? show(next) : null }]
  })
}

const short = (text: string | null): string =>
  text === null ? 'not set' : shown(text.length > maxShown ? `${text.slice(0, maxShown)}…` : text)

interface ChangesProps {
  /** Names the two versions, as in 'Proposed → edited'. */
  readonly title: string
  readonly label: string
  readonly changes: readonly FieldChange[]
}

export function Changes({ title, label, changes }: ChangesProps): ReactNode {
  if (changes.length === 0) return null
  return (
    <section className="mb-3 rounded-md bg-sunk p-3" aria-label={label}>
      <h3 className="mb-1 text-sm font-medium">{title}</h3>
      {changes.map(({ name, from, to }) => (
        <p key={name} className="any font-mono text-sm">
          {shown(name)}: <del className="text-stop">{short(from)}</del> →{' '}
          <ins className="text-go no-underline">{short(to)}</ins>
        </p>
      ))}
    </section>
  )
}
