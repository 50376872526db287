// Values of tools and models: always text, never markup. Long ones are folded.

import { type ReactNode, useState } from 'react'
import { shown } from './shown.ts'

const maxShown = 2_000

export const jsonText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined')

export function LongText({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  const [isWhole, showWhole] = useState(false)
  const isLong = text.length > maxShown
  return (
    <>
      <span className="wrap">{shown(isLong && !isWhole ? `${text.slice(0, maxShown)}…` : text)}</span>
      {isLong && (
        <button type="button" className="button button-small mt-1 block" onClick={() => showWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show all ${text.length.toLocaleString()} characters of ${label}`}
        </button>
      )}
    </>
  )
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The arguments of a call: one row for each, and the whole value if they are no object. */
export function Arguments({ value }: { readonly value: unknown }): ReactNode {
  if (!isRecord(value)) return <Json value={value} label="the arguments" />
  const rows = Object.entries(value)
  if (rows.length === 0) return <p className="text-soft">No arguments.</p>
  return (
    <dl className="divide-y divide-line">
      {rows.map(([name, argument]) => (
        <div key={name} className="grid gap-x-4 py-2 sm:grid-cols-[10rem_1fr]">
          <dt className="any font-mono text-sm text-soft">{shown(name)}</dt>
          <dd className={typeof argument === 'string' ? '' : 'font-mono text-sm'}>
            <LongText text={jsonText(argument)} label={name} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

export const Json = ({ value, label }: { readonly value: unknown; readonly label: string }): ReactNode => (
  <pre className="max-h-112 overflow-auto rounded-md bg-sunk p-3 text-sm" tabIndex={0} aria-label={label}>
    <LongText text={jsonText(value)} label={label} />
  </pre>
)
