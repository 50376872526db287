// Messages between the desk process and its worker processes.

import type { Done } from './check-ledger.ts'

/** From a worker: text to show (with the cursor of the feed), a question, or the end of the turn. */
export type WorkerMessage =
  | { readonly text: string; readonly cursor?: string }
  | { readonly ask: string; readonly call: string }
  | { readonly outcome: string; readonly said: string; readonly done: readonly Done[] }

/** The decision on a question. */
export interface Answer {
  readonly call: string
  readonly approve: boolean
  readonly reason: string
}
