// The messages between http.ts and its processes.

export interface ServerReady {
  /** Of Pawl's server, and of the bare hono route. */
  readonly url: string
  readonly bareUrl: string
  readonly token: string
}

export type ServerQuestion =
  | { readonly ask: 'library'; readonly callers: number; readonly ms: number }
  | { readonly ask: 'usage' }
  | { readonly ask: 'emit'; readonly session: string; readonly events: number; readonly everyMs: number }

export type LoadQuestion =
  | { readonly ask: 'requests'; readonly requests: readonly string[]; readonly port: number; readonly ms: number }
  | { readonly ask: 'subscribe'; readonly request: string; readonly port: number; readonly count: number }
  /** What the subscribers have received, once each has `events` recorded events, or after `withinMs`. */
  | { readonly ask: 'received'; readonly events: number; readonly withinMs: number }
  | { readonly ask: 'leave' }

/** Requests or calls of one slice. */
export interface Slice {
  readonly count: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
}

export interface Usage {
  readonly rss: number
  /** Largest since the last question. */
  readonly maxRss: number
  readonly heapUsed: number
  /** Milliseconds of CPU time since the start. */
  readonly cpuMs: number
}

export interface Received {
  readonly subscribers: number
  /** Subscribers that received everything, in order, once. */
  readonly complete: number
  readonly recorded: number
  readonly live: number
  readonly bytes: number
  /** Milliseconds from the call of ctx.emit until a subscriber had the event. */
  readonly lagP50: number
  readonly lagP99: number
}

export interface Answers {
  readonly library: Slice
  readonly usage: Usage
  readonly emit: { readonly seconds: number }
  readonly requests: Slice
  readonly subscribe: { readonly subscribed: number }
  readonly received: Received
  readonly leave: { readonly left: true }
}

/** The same clock in all processes of the machine. */
export const now = (): number => performance.timeOrigin + performance.now()
