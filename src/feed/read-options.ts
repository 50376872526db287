// The options of events() of a session and of the runtime. Used by the feed and by call handles.

import { option, type OptionTable } from '../core/check-options.ts'
import type { EventType } from '../store/records/event.ts'

/** Options of `events()`. */
export interface ReadOptions {
  /**
   * The cursor of the last event you have; the read starts after it. `'now'`: only events that follow this call of
   * `events()`. Default: the beginning.
   */
  readonly after?: string
  /**
   * `'now'`: the iteration ends after the newest event that is recorded when it begins; for pages and exports. Not with
   * `live`. Default: it waits for new events.
   */
  readonly until?: 'now'
  /** Ends the read. */
  readonly signal?: AbortSignal
  /** Adds `narration` to calls and `headline` to model answers, in this language ('en', 'de'). Default: none. */
  readonly narrate?: string
  /** Shows everything as it is recorded: steps of the runtime, and turns as calls. Default: false. */
  readonly internal?: boolean
}

/** Options of `runtime.events()`. */
export interface RuntimeReadOptions extends ReadOptions {
  /** Only events of this tenant, recorded and live. Default: all tenants. */
  readonly tenant?: string
}

export const feedOptions = {
  after: option.anything,
  until: option.oneOf('now'),
  signal: option.abortSignal,
  live: option.boolean,
  narrate: { ...option.string, expected: "a language, such as 'en'" },
  internal: option.boolean,
} satisfies OptionTable<ReadOptions & { live?: boolean }>

export const runtimeFeedOptions = {
  ...feedOptions,
  tenant: option.string,
} satisfies OptionTable<RuntimeReadOptions & { live?: boolean }>

/** Which events runtime.recentEvents() returns. */
export interface RecentEventsQuery {
  /** Only events of these types. */
  readonly types: readonly EventType[]
  /** Only events of these tenants; `''` selects those of the store itself. Default: all tenants. */
  readonly tenants?: readonly string[]
  /** The page ends before this cursor; pass `next` of the previous page. Default: at the newest event. */
  readonly before?: string
  /** Maximum number of events; default 100, at most 1,000. */
  readonly limit?: number
}

export const recentEventsOptions = {
  types: option.required(option.listOf(option.string)),
  tenants: option.listOf(option.string),
  before: option.string,
  limit: option.wholeNumber(1, 1_000),
} satisfies OptionTable<RecentEventsQuery>
