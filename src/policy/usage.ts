// POLICY, what the budgets count (POL-8): the usage of a turn, a session or a tenant, as it is changed by facts and as it is kept.
//
// The pipeline reads the usage of each scope (readUsage), judges a call by it (budgets.ts), takes in what happened (charge) and has the text of it
// kept again. Nothing here reads a clock or a store, so folding the same facts in the same order gives the same usage on any worker.

import type { Glob } from './rules.ts'

export type UsageFact =
  /** It passed the budget and runs. */
  | { readonly kind: 'started'; readonly round: string | null; readonly tool: string; readonly hash: string }
  /** It was over budget; remembered, so that a loop does not begin anew because its last call was refused. */
  | { readonly kind: 'refused'; readonly round: string | null; readonly tool: string; readonly hash: string }
  | { readonly kind: 'invalid'; readonly round: string | null; readonly tool: string }
  | {
      readonly kind: 'settled'
      readonly round: string | null
      readonly tool: string
      readonly hash: string
      readonly ms: number
      readonly cost?: number
      /** Hash of the outcome; left out, it counts as the same answer as before. */
      readonly outcome?: string
    }

interface Streak {
  /** In how many rounds in a row before this one the same call ran with the same answer. */
  before: number
  /** Whether it runs in this round too. */
  runs: boolean
  outcome: string | undefined
}

interface Round {
  readonly id: string
  /** By tool and arguments. */
  readonly streaks: Map<string, Streak>
}

/** What a scope has used. Changed by charge() alone. */
export interface Usage {
  /** When the window began that it is of; 0 where there are none. */
  readonly since: number
  calls: number
  time: number
  cost: number
  /** This round and the one before: two batches of a session may overlap. Older ones are forgotten, so it stays small. */
  current: Round | undefined
  previous: Round | undefined
  /** By tool: messages in a row with invalid arguments. */
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

/** What of a budget says what has to be known. */
interface Counted {
  /** Milliseconds of a window. */
  readonly per: number | undefined
  readonly repeats: number | undefined
  readonly exempt: Glob | undefined
  readonly invalid: number | undefined
}

/** As it is kept: what nothing is held to is left out. */
interface KeptUsage {
  readonly since?: number
  readonly calls: number
  readonly time: number
  readonly cost: number
  readonly rounds?: readonly KeptRound[]
  readonly invalid?: readonly (readonly [tool: string, times: number, round: string])[]
}

interface KeptRound {
  readonly id: string
  readonly streaks: readonly (readonly [key: string, before: number, runs: boolean, outcome: string | null])[]
}

/** Only the part that the budget speaks of: a session with nothing but a limit of calls keeps three numbers. */
export function usageText({ per, repeats, exempt, invalid }: Counted, usage: Usage): string {
  const { since, calls, time, cost, current, previous } = usage
  const held = (key: string): boolean => !exempt?.(key.slice(0, key.indexOf('\n')))
  const kept = ({ id, streaks }: Round): KeptRound => ({
    id,
    streaks: [...streaks]
      .filter(([key]) => held(key))
      .map(([key, { before, runs, outcome }]) => [key, before, runs, outcome ?? null]),
  })
  const text: KeptUsage = {
    ...(per === undefined ? {} : { since }),
    calls,
    time,
    cost,
    ...(repeats === undefined ? {} : { rounds: [current, previous].filter((round) => round !== undefined).map(kept) }),
    ...(invalid === undefined
      ? {}
      : { invalid: [...usage.invalid].map(([tool, { times, round }]) => [tool, times, round] as const) }),
  }
  return JSON.stringify(text)
}

/** What is used by now. A window that has passed counts for nothing. */
export function readUsage({ per }: Pick<Counted, 'per'>, text: string | null, now: number): Usage {
  const kept = text === null ? undefined : (JSON.parse(text) as KeptUsage)
  const since = per === undefined ? 0 : windowAt(now, per, kept?.since)
  if (!kept || (kept.since ?? 0) !== since) return newUsage(since)
  const { calls, time, cost, rounds = [], invalid = [] } = kept
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
 * When the window began that it is now. Another worker's clock may be a little ahead and have begun the next one: that one holds, or the two
 * would begin it anew in turns. One that lies further ahead comes from a clock that was wrong.
 */
function windowAt(now: number, per: number, kept: number | undefined): number {
  const since = Math.floor(now / per) * per
  return kept !== undefined && kept > since && kept <= since + per ? kept : since
}

/** Takes one fact into the usage it is given, in place: a batch of 512 calls must not copy what 511 others left. */
export function charge(usage: Usage, fact: UsageFact): void {
  switch (fact.kind) {
    case 'started':
      usage.calls += 1
      if (fact.round === null) return
      usage.invalid.delete(fact.tool)
      enter(usage, { ...fact, round: fact.round }, true)
      return
    case 'refused':
      if (fact.round !== null) enter(usage, { ...fact, round: fact.round }, false)
      return
    case 'invalid': {
      if (fact.round === null) return
      const before = usage.invalid.get(fact.tool)
      if (before?.round !== fact.round)
        usage.invalid.set(fact.tool, { times: (before?.times ?? 0) + 1, round: fact.round })
      return
    }
    case 'settled': {
      usage.time = plus(usage.time, fact.ms)
      usage.cost = plus(usage.cost, fact.cost ?? 0)
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

/** The same call in the round before the one given. */
function streakBefore(usage: Usage, round: Round | undefined, key: string): Streak | undefined {
  const before = round === undefined ? usage.current : round === usage.current ? usage.previous : undefined
  return before?.streaks.get(key)
}

/** In how many rounds in a row before its own the same call ran. */
export function timesBefore(usage: Usage, call: { round: string; tool: string; hash: string }): number {
  const round = roundOf(usage, call.round)
  const here = round?.streaks.get(keyOf(call))
  if (here) return here.before
  const last = streakBefore(usage, round, keyOf(call))
  return last ? last.before + (last.runs ? 1 : 0) : 0
}

function enter(usage: Usage, call: { round: string; tool: string; hash: string }, runs: boolean): void {
  const key = keyOf(call)
  let round = roundOf(usage, call.round)
  const here = round?.streaks.get(key)
  if (here) {
    here.runs ||= runs
    return
  }
  const streak = { before: timesBefore(usage, call), runs, outcome: streakBefore(usage, round, key)?.outcome }
  if (!round) {
    round = { id: call.round, streaks: new Map() }
    usage.previous = usage.current
    usage.current = round
  }
  round.streaks.set(key, streak)
}

/** An amount that is no number, or negative, spends everything: it must not open the gate, and a sum must stay one. */
const plus = (sum: number, amount: number): number =>
  Number.isFinite(amount) && amount >= 0 ? Math.min(sum + amount, Number.MAX_SAFE_INTEGER) : Number.MAX_SAFE_INTEGER
