// Times and durations for people: relative on the page, exact on hover.

import { type ReactNode, useSyncExternalStore } from 'react'
import { serverNow } from '../api/server-clock.ts'

export { durationText } from '../../../src/server/export/escape-html.ts'

/** One timer for all that is renewed at the same interval: a table has a time in each row. */
class Ticker {
  readonly #ms: number
  readonly #listeners = new Set<() => void>()
  #timer: ReturnType<typeof setInterval> | undefined
  #now = serverNow()

  constructor(ms: number) {
    this.#ms = ms
  }

  readonly read = (): number => this.#now

  readonly subscribe = (listener: () => void): (() => void) => {
    if (this.#listeners.size === 0) {
      this.#now = serverNow()
      this.#timer = setInterval(() => this.#tick(), this.#ms)
    }
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) clearInterval(this.#timer)
    }
  }

  #tick(): void {
    this.#now = serverNow()
    for (const listener of this.#listeners) listener()
  }
}

const tickers = new Map<number, Ticker>()

/** The time of the server, renewed every `ms`. */
export function useNow(ms = 1_000): number {
  const ticker = tickers.get(ms) ?? new Ticker(ms)
  tickers.set(ms, ticker)
  return useSyncExternalStore(ticker.subscribe, ticker.read)
}

const units: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
]

/** The largest unit alone. */
const roughText = (ms: number, round: (value: number) => number = Math.floor): string => {
  const [size, name] = units.find(([unit]) => ms >= unit) ?? [1_000, 's']
  return `${round(Math.max(0, ms) / size)} ${name}`
}

export const exactTime = (at: number): string =>
  new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

export const timeOfDay = (at: number): string => new Date(at).toLocaleTimeString()

/** Such as 16:20, or with the date if it is another day. */
export function clockTime(at: number): string {
  const date = new Date(at)
  const isToday = date.toDateString() === new Date().toDateString()
  return date.toLocaleString(undefined, isToday ? { timeStyle: 'short' } : { dateStyle: 'medium', timeStyle: 'short' })
}

export const Time = ({ at, children }: { readonly at: number; readonly children: ReactNode }): ReactNode => (
  <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>
    {children}
  </time>
)

/** `3 min ago`. */
export function Ago({ at }: { readonly at: number }): ReactNode {
  const now = useNow(5_000)
  return <Time at={at}>{now - at < 5_000 ? 'just now' : `${roughText(now - at)} ago`}</Time>
}

/** `in 12 min`. */
export function Left({ until }: { readonly until: number }): ReactNode {
  const now = useNow(1_000)
  return <Time at={until}>{until <= now ? 'now' : `in ${roughText(until - now, Math.round)}`}</Time>
}
