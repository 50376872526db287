// The usage of a turn, a session or a tenant that budgets are checked against, and its stored form.
//
// The pipeline parses the stored usage of each scope (parseUsage), checks a call against it (budgets.ts), applies facts
// (charge) and stores the text again (serializeUsage). Pure: the same facts in the same order give the same usage on
// every worker.

import type { Glob } from './glob.ts'
import { collections } from '../store/collections.ts'

export type UsageFact =
  /** The call passed the budget and runs. */
  | { readonly kind: 'started'; readonly round: string | null; readonly tool: string; readonly hash: string }
  /** The call was over budget. It is recorded, so that refusing a call does not reset a loop. */
  | { readonly kind: 'refused'; readonly round: string | null; readonly tool: string; readonly hash: string }
  | { readonly kind: 'invalid'; readonly round: string | null; readonly tool: string }
  | {
      readonly kind: 'settled'
      readonly round: string | null
      readonly tool: string
      readonly hash: string
      readonly ms: number
      readonly cost?: number
      /** Hash of the outcome; without it the answer counts as unchanged. */
      readonly outcome?: string
    }

interface Streak {
  /** Number of consecutive rounds before this one in which the same call ran with the same answer. */
  before: number
  /** Whether the call also runs in this round. */
  runs: boolean
  outcome: string | undefined
}

interface Round {
  readonly id: string
  /** By tool and argument hash. */
  readonly streaks: Map<string, Streak>
}

/** The usage of a scope. Only charge() changes it. */
export interface Usage {
  /** Start of the window; 0 if the budget has no windows. */
  readonly since: number
  calls: number
  time: number
  cost: number
  /**
   * The last two rounds, because two batches of a session may overlap. Older ones are dropped to keep the record small.
   */
  current: Round | undefined
  previous: Round | undefined
  /** By tool: consecutive messages with invalid arguments. */
  readonly invalid: Map<string, { times: number; round: string }>
}

export const newUsage = (since = 0): Usage => ({
  since,
  calls: 0,
  time: 0,
  cost: 0,
  current: undefined,
  previous: undefined,
  invalid: new Map(),
})

/** The limits of a budget that decide which parts of the usage are stored. */
interface CountedLimits {
  /** Length of a window in milliseconds. */
  readonly per: number | undefined
  readonly repeats: number | undefined
  readonly exempt: Glob | undefined
  readonly invalid: number | undefined
}

/** The stored form. Parts that no limit needs are left out. */
interface StoredUsage {
  readonly since?: number
  readonly calls: number
  readonly time: number
  readonly cost: number
  readonly rounds?: readonly StoredRound[]
  readonly invalid?: readonly (readonly [tool: string, times: number, round: string])[]
}

interface StoredRound {
  readonly id: string
  readonly streaks: readonly (readonly [key: string, before: number, runs: boolean, outcome: string | null])[]
}

/** Serializes only what the budget's limits need: a session with just a `calls` limit stores three numbers. */
export function serializeUsage({ per, repeats, exempt, invalid }: CountedLimits, usage: Usage): string {
  const { since, calls, time, cost, current, previous } = usage
  const isCounted = (key: string): boolean => !exempt?.(key.slice(0, key.indexOf('\n')))
  const storedRound = ({ id, streaks }: Round): StoredRound => ({
    id,
    streaks: [...streaks]
      .filter(([key]) => isCounted(key))
      .map(([key, { before, runs, outcome }]) => [key, before, runs, outcome ?? null]),
  })
  const stored: StoredUsage = {
    ...(per === undefined ? {} : { since }),
    calls,
    time,
    cost,
    ...(repeats === undefined
      ? {}
      : { rounds: [current, previous].filter((round) => round !== undefined).map(storedRound) }),
    ...(invalid === undefined
      ? {}
      : { invalid: [...usage.invalid].map(([tool, { times, round }]) => [tool, times, round] as const) }),
  }
  return JSON.stringify(stored)
}

/** The usage at `now`. Usage of an expired window is dropped. */
export function parseUsage({ per }: Pick<CountedLimits, 'per'>, text: string | null, now: number): Usage {
  const stored = text === null ? undefined : (collections.usage.parse(text) as StoredUsage)
  const since = per === undefined ? 0 : windowStart(now, per, stored?.since)
  if (!stored || (stored.since ?? 0) !== since) return newUsage(since)
  const { calls, time, cost, rounds = [], invalid = [] } = stored
  const [current, previous] = rounds.map(({ id, streaks }) => ({
    id,
    streaks: new Map(
      streaks.map(([key, before, runs, outcome]) => [key, { before, runs, outcome: outcome ?? undefined }]),
    ),
  }))
  return {
    since,
    calls,
    time,
    cost,
    current,
    previous,
    invalid: new Map(invalid.map(([tool, times, round]) => [tool, { times, round }])),
  }
}

/**
 * Start of the current window. Another worker's clock may be slightly ahead and have started the next window already;
 * that window is kept, otherwise the two workers would reset the usage alternately. A start further ahead comes from a
 * wrong clock and is ignored.
 */
function windowStart(now: number, per: number, storedStart: number | undefined): number {
  const since = Math.floor(now / per) * per
  return storedStart !== undefined && storedStart > since && storedStart <= since + per ? storedStart : since
}

/** Applies one fact in place: a batch of 512 calls must not copy the usage 512 times. */
export function charge(usage: Usage, fact: UsageFact): void {
  switch (fact.kind) {
    case 'started':
      usage.calls += 1
      if (fact.round === null) return
      usage.invalid.delete(fact.tool)
      enterRound(usage, { ...fact, round: fact.round }, true)
      return
    case 'refused':
      if (fact.round !== null) enterRound(usage, { ...fact, round: fact.round }, false)
      return
    case 'invalid': {
      if (fact.round === null) return
      const before = usage.invalid.get(fact.tool)
      if (before?.round !== fact.round)
        usage.invalid.set(fact.tool, { times: (before?.times ?? 0) + 1, round: fact.round })
      return
    }
    case 'settled': {
      usage.time = addAmount(usage.time, fact.ms)
      usage.cost = addAmount(usage.cost, fact.cost ?? 0)
      const streak = fact.round === null ? undefined : roundOf(usage, fact.round)?.streaks.get(keyOf(fact))
      if (!streak || fact.outcome === undefined) return
      if (streak.outcome !== undefined && streak.outcome !== fact.outcome) streak.before = 0
      streak.outcome = fact.outcome
    }
  }
}

const keyOf = ({ tool, hash }: { tool: string; hash: string }): string => `${tool}\n${hash}`

const roundOf = (usage: Usage, id: string): Round | undefined =>
  usage.current?.id === id ? usage.current : usage.previous?.id === id ? usage.previous : undefined

/** The streak of the same call in the round before `round`. */
function previousStreak(usage: Usage, round: Round | undefined, key: string): Streak | undefined {
  const before = round === undefined ? usage.current : round === usage.current ? usage.previous : undefined
  return before?.streaks.get(key)
}

/** Number of consecutive rounds before the call's own round in which the same call ran. */
export function consecutiveRounds(usage: Usage, call: { round: string; tool: string; hash: string }): number {
  const round = roundOf(usage, call.round)
  const here = round?.streaks.get(keyOf(call))
  if (here) return here.before
  const last = previousStreak(usage, round, keyOf(call))
  return last ? last.before + (last.runs ? 1 : 0) : 0
}

function enterRound(usage: Usage, call: { round: string; tool: string; hash: string }, runs: boolean): void {
  const key = keyOf(call)
  let round = roundOf(usage, call.round)
  const here = round?.streaks.get(key)
  if (here) {
    here.runs ||= runs
    return
  }
  const streak = { before: consecutiveRounds(usage, call), runs, outcome: previousStreak(usage, round, key)?.outcome }
  if (!round) {
    round = { id: call.round, streaks: new Map() }
    usage.previous = usage.current
    usage.current = round
  }
  round.streaks.set(key, streak)
}

/** An invalid or negative amount uses up the whole budget: it must not widen the limit or make the sum NaN. */
const addAmount = (sum: number, amount: number): number =>
  Number.isFinite(amount) && amount >= 0 ? Math.min(sum + amount, Number.MAX_SAFE_INTEGER) : Number.MAX_SAFE_INTEGER
