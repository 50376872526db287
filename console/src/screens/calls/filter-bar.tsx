// The filters of the list of calls. All of them are in the address.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useId, useState } from 'react'
import type { client } from '../../api/client.ts'
import { toolsQuery } from '../tools/catalogue.ts'
import { statuses } from './call-words.ts'

/** `since` and `until`: milliseconds since 1970, as the address and the server have them. */
export type Filters = Readonly<Record<'status' | 'tool' | 'session' | 'since' | 'until', string>>

/** The filters that are set, as the server reads them. */
export type WantedCalls = Pick<
  NonNullable<Parameters<typeof client.calls.recent>[0]>,
  'status' | 'tool' | 'session' | 'since' | 'until'
>

export const wantedOf = ({ since, until, ...filters }: Filters): WantedCalls => ({
  ...Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== '')),
  ...(since === '' ? {} : { since: Number(since) }),
  ...(until === '' ? {} : { until: Number(until) }),
})

/** A field of the address that is no status counts as not set. */
export const statusText = (text: string | null): string =>
  statuses.some(([status]) => status === text) ? (text ?? '') : ''

/** A field of the address that is no instant counts as not set. */
export const instantText = (text: string | null): string => (text !== null && /^\d{1,15}$/.test(text) ? text : '')

interface FilterBarProps {
  readonly filters: Filters
  readonly set: (changes: Partial<Filters>) => void
  readonly clear: (() => void) | null
}

export function FilterBar({ filters, set, clear }: FilterBarProps): ReactNode {
  const { data = [] } = useQuery(toolsQuery)
  const tools = data.filter(({ internal }) => !internal).map(({ name }) => name)
  return (
    <form
      role="search"
      aria-label="Filters"
      className="mb-3 grid grid-cols-2 items-end gap-2 lg:grid-cols-[9rem_1fr_1fr_12.5rem_12.5rem_auto]"
      onSubmit={(event) => event.preventDefault()}
    >
      <label>
        <span className="block text-sm text-soft">Status</span>
        <select className="field" value={filters.status} onChange={(event) => set({ status: event.target.value })}>
          <option value="">All</option>
          {statuses.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <FilterText label="Tool" value={filters.tool} choices={tools} onChange={(value) => set({ tool: value })} />
      <FilterText label="Session" value={filters.session} onChange={(value) => set({ session: value })} />
      <FilterTime label="From" value={filters.since} onChange={(since) => set({ since })} />
      <FilterTime label="Until" value={filters.until} onChange={(until) => set({ until })} />
      {clear && (
        <button type="button" className="button" onClick={clear}>
          Clear
        </button>
      )}
    </form>
  )
}

interface FilterTextProps {
  readonly label: string
  /** Offered while a person types. */
  readonly choices?: readonly string[]
  readonly value: string
  readonly onChange: (value: string) => void
}

/** Applied with Enter or when the field is left: each change reads a page. */
function FilterText({ label, value, choices = [], onChange }: FilterTextProps): ReactNode {
  const [text, setText] = useState(value)
  const list = useId()
  useEffect(() => setText(value), [value])
  const apply = (): void => {
    if (text.trim() !== value) onChange(text.trim())
  }
  return (
    <label>
      <span className="block text-sm text-soft">{label}</span>
      <input
        className="field"
        type="search"
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={apply}
        onKeyDown={(event) => {
          if (event.key === 'Enter') apply()
        }}
        {...(choices.length === 0 ? {} : { list })}
      />
      {choices.length > 0 && (
        <datalist id={list}>
          {choices.map((choice) => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </label>
  )
}

/** As the field has it: in the time zone of the browser, to the second. */
function localTime(instant: string): string {
  if (instant === '') return ''
  const date = new Date(Number(instant))
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return Number.isNaN(local.getTime()) ? '' : local.toISOString().slice(0, 19)
}

/** Applied with Enter or when the field is left, and only if it was edited: the address is exact to the millisecond. */
function FilterTime({ label, value, onChange }: FilterTextProps): ReactNode {
  const [text, setText] = useState(localTime(value))
  useEffect(() => setText(localTime(value)), [value])
  const apply = (): void => {
    if (text === localTime(value)) return
    const at = new Date(text).getTime()
    onChange(Number.isNaN(at) || at < 0 ? '' : String(at))
  }
  return (
    <label className="min-w-0">
      <span className="block text-sm text-soft">{label}</span>
      <input
        className="field min-w-0"
        type="datetime-local"
        step="1"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={apply}
        onKeyDown={(event) => {
          if (event.key === 'Enter') apply()
        }}
      />
    </label>
  )
}
