// What the processes of the desk say to each other.

import type { Done } from './books.ts'

/** What a process of the desk tells: what to show (and how far it has read), a question, the end. */
export type Told =
  | { readonly text: string; readonly cursor?: string }
  | { readonly ask: string; readonly call: string }
  | { readonly outcome: string; readonly said: string; readonly done: readonly Done[] }

/** What it is answered. */
export interface Answer {
  readonly call: string
  readonly approve: boolean
  readonly reason: string
}
