// JOURNAL: the signals of one name to one task (TASK-8). The n-th that comes meets the n-th wait; one that nobody waits for is kept for the next wait, and a wait whose
// time is over takes none with it. Pure: sender and body both change this by compare-and-set.

import type { Json } from '../../core/value.ts'

export interface Came {
  /** Gone once somebody has it. */
  readonly value?: Json
  /** What names it, and the hash of what was sent under that name. */
  readonly key?: string
  readonly hash?: string
  /** The message that it is, and when that was. */
  readonly message?: { readonly id: string; readonly at: number }
}

export interface Signals {
  readonly came: readonly Came[]
  /** How many of them somebody has. */
  readonly taken: number
  /** Waits that stand for those to come, in their order. Some may be over. */
  readonly waiting: readonly string[]
}

export const noSignals: Signals = { came: [], taken: 0, waiting: [] }

export type Heard = { readonly have: Json } | { readonly waits: true }

/** A wait comes: it has the first that nobody has, or stands for one to come. */
export function heardBy(wait: string, signals: Signals): { readonly signals: Signals; readonly heard: Heard } {
  const { came, taken, waiting } = signals
  const early = came[taken]
  if (!early) return { signals: { ...signals, waiting: [...waiting, wait] }, heard: { waits: true } }
  const { value = null, ...rest } = early
  return { signals: { came: came.with(taken, rest), taken: taken + 1, waiting }, heard: { have: value } }
}

/** A signal comes: for a wait that stands for it, or to be kept. `over`: waits that were found to be over. */
export function arrived(
  came: Came,
  signals: Signals,
  how: { readonly for?: string; readonly over: readonly string[] },
): Signals {
  const { value: _, ...rest } = came
  const waiting = signals.waiting.filter((wait) => wait !== how.for && !how.over.includes(wait))
  if (how.for === undefined) return { ...signals, came: [...signals.came, came], waiting }
  return { came: [...signals.came, rest], taken: signals.taken + 1, waiting }
}

/** What is kept for those who do not listen yet, in characters. */
export const keptIn = ({ came, taken }: Signals): number =>
  came.slice(taken).reduce((sum, { value }) => sum + JSON.stringify(value ?? null).length, 0)
