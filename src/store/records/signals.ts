// The signals of one name sent to one task. The nth signal answers the nth wait. A signal without a wait is buffered
// for the next one; a wait that timed out does not consume a signal. Pure: the sender and the body update this record
// by compare-and-set.

import type { Json } from '../../core/tool-value.ts'

export interface SignalEntry {
  /** Removed once the signal is received. */
  readonly value?: Json
  /** Idempotency key, and the hash of what was sent under it. */
  readonly key?: string
  readonly hash?: string
  /** Set if the signal is a message: its id and time. */
  readonly message?: { readonly id: string; readonly at: number }
}

export interface Signals {
  readonly came: readonly SignalEntry[]
  /** Number of signals received. */
  readonly taken: number
  /** Waits for future signals, in order. Some may have timed out. */
  readonly waiting: readonly string[]
}

export const noSignals: Signals = { came: [], taken: 0, waiting: [] }

export type ReceiveResult = { readonly have: Json } | { readonly waits: true }
export const parseReceiveResult = (mark: string): ReceiveResult => JSON.parse(mark) as ReceiveResult

/** A wait starts: it receives the first buffered signal, or is queued for a future one. */
export function receiveSignal(
  wait: string,
  signals: Signals,
): { readonly signals: Signals; readonly result: ReceiveResult } {
  const { came, taken, waiting } = signals
  const buffered = came[taken]
  if (!buffered) return { signals: { ...signals, waiting: [...waiting, wait] }, result: { waits: true } }
  const { value = null, ...rest } = buffered
  return { signals: { came: came.with(taken, rest), taken: taken + 1, waiting }, result: { have: value } }
}

/** A signal arrives: it answers the wait `for`, or is buffered. `over`: queued waits that have since ended. */
export function addSignal(
  entry: SignalEntry,
  signals: Signals,
  delivery: { readonly for?: string; readonly over: readonly string[] },
): Signals {
  const { value: _, ...rest } = entry
  const waiting = signals.waiting.filter((wait) => wait !== delivery.for && !delivery.over.includes(wait))
  if (delivery.for === undefined) return { ...signals, came: [...signals.came, entry], waiting }
  return { came: [...signals.came, rest], taken: signals.taken + 1, waiting }
}

/** Size of the buffered signals, in characters. */
export const bufferedCharacters = ({ came, taken }: Signals): number =>
  came.slice(taken).reduce((sum, { value }) => sum + JSON.stringify(value ?? null).length, 0)
