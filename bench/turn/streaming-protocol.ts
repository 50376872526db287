// What streaming.ts and its processes say to each other.

export type ReaderKind = 'none' | 'events' | 'uiMessageStream' | 'textStream'

export type Question =
  | { readonly measure: 'first'; readonly answers: number }
  | {
      readonly measure: 'crowd'
      readonly readers: ReaderKind
      readonly sessions: number
      readonly perSession: number
      readonly ms: number
    }

/** Milliseconds from the model's first delta until it was read, per answer. */
export type FirstAnswer = readonly number[]

export interface CrowdAnswer {
  /** CPU time of the web process, as a share of one core. */
  readonly cpu: number
  /** Characters that a reader received per second: median, and the lowest of all readers. */
  readonly received: { readonly median: number; readonly least: number }
}

export type Answer =
  | { readonly ready: true }
  | { readonly first: FirstAnswer }
  | { readonly crowd: CrowdAnswer }
  | { readonly error: string }

/** Of each session of the crowd. */
export const deltasPerSecond = 50
export const charactersPerDelta = 5
