// POLICY, the budgets (POL-8): how much a turn and a session may ask of tools. Over budget a call is not run and the model reads
// why and what it can still do; the run goes on.
//
// The owner of a turn or a session keeps one Usage, asks overBudget() before each call and tells charge() what happened. Nothing
// here reads a clock or a store, so folding the same facts in the same order gives the same usage on any worker.
//
// What counts as a loop: the same tool with the same arguments in one model message after the other, with the same answer. Equal
// calls inside one message are parallel work and count once; an answer that changed starts anew; a message without the call ends
// it. Longer cycles (A, B, A, B …) are left to `calls`: a test run between edits looks just like one. Tools that poll are exempt
// by name.

import { type Duration, milliseconds } from '../kernel/duration.ts'
import { checkKeys, isPlain, type Refuse, refuseAt } from './pattern.ts'
import { compileToolGlobs, type Glob } from './rules.ts'

export interface BudgetLimits {
  /** Calls that may run. */
  readonly calls?: number
  /** Time spent in tools, summed; calls that run side by side each count. */
  readonly time?: Duration
  /** In the unit the tools report; whole units (cents, tokens) add up exactly. */
  readonly cost?: number
  /** How often in a row the same call may be made with the same answer. */
  readonly repeats?: number | { readonly limit: number; readonly exempt?: string | readonly string[] }
  /** How many messages in a row may give one tool invalid arguments before the model is told to stop trying. */
  readonly invalid?: number
}

export interface BudgetDefinition {
  readonly turn?: BudgetLimits
  readonly session?: BudgetLimits
}

export type BudgetScope = keyof BudgetDefinition
export type BudgetName = 'calls' | 'time' | 'cost' | 'repeats' | 'invalid'

/** Checked limits of one scope. */
export interface Budget {
  readonly scope: BudgetScope
  readonly calls: number | undefined
  readonly time: number | undefined
  readonly cost: number | undefined
  readonly repeats: number | undefined
  readonly exempt: Glob | undefined
  readonly invalid: number | undefined
}

export interface Upcoming {
  /** The model message the call came in; every message another. Null for one that a body makes: no loop of the model's, but a call. */
  readonly round: string | null
  readonly tool: string
  /** Of the arguments, the same for equal ones. */
  readonly hash: string
  /** Whether its arguments were accepted. One that is not valid is only held to the budget of invalid ones. */
  readonly valid: boolean
}

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
  calls: number
  time: number
  cost: number
  /** This round and the one before: two batches of a session may overlap. Older ones are forgotten, so it stays small. */
  current: Round | undefined
  previous: Round | undefined
  /** By tool: messages in a row with invalid arguments. */
  readonly invalid: Map<string, { times: number; round: string }>
}

export interface OverBudget {
  readonly budget: BudgetName
  readonly limit: number
  readonly used: number
  /** For the model. */
  readonly message: string
}

const limitKeys: BudgetName[] = ['calls', 'time', 'cost', 'repeats', 'invalid']

/** Checks all scopes. Throws config_invalid, naming the field. */
export function defineBudgets(definition: BudgetDefinition): { readonly [scope in BudgetScope]: Budget | undefined } {
  const refuse = refuseAt('budget')
  if (!isPlain(definition)) refuse('', 'is not an object')
  checkKeys(definition, ['turn', 'session'], refuse)
  return { turn: defineBudget(definition.turn, 'turn', refuse), session: defineBudget(definition.session, 'session', refuse) }
}

function defineBudget(limits: BudgetLimits | undefined, scope: BudgetScope, refuse: Refuse): Budget | undefined {
  if (limits === undefined) return undefined
  if (!isPlain(limits)) refuse(scope, 'is not an object')
  checkKeys(limits, limitKeys, refuse, `${scope}.`)
  const { repeats, time, cost }: BudgetLimits = limits
  const loop = isPlain(repeats) ? repeats : repeats === undefined ? undefined : { limit: repeats }
  if (isPlain(repeats)) checkKeys(repeats, ['limit', 'exempt'], refuse, `${scope}.repeats.`)
  if (loop && loop.limit === undefined) refuse(`${scope}.repeats.limit`, 'is missing')
  if (cost !== undefined && !(typeof cost === 'number' && Number.isFinite(cost) && cost > 0))
    refuse(`${scope}.cost`, 'is not a number above 0')
  const ms = time === undefined ? undefined : milliseconds(time, `budget.${scope}.time`)
  if (ms === 0) refuse(`${scope}.time`, 'is 0, which would refuse every call')
  return Object.freeze({
    scope,
    calls: whole(limits.calls, `${scope}.calls`, refuse),
    time: ms,
    cost,
    repeats: whole(loop?.limit, isPlain(repeats) ? `${scope}.repeats.limit` : `${scope}.repeats`, refuse),
    exempt: compileToolGlobs(loop?.exempt, `${scope}.repeats.exempt`, refuse),
    invalid: whole(limits.invalid, `${scope}.invalid`, refuse),
  })
}

function whole(value: unknown, field: string, refuse: Refuse): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 1)) return value as number | undefined
  return refuse(field, 'is not a whole number of at least 1')
}

export const newUsage = (): Usage => ({ calls: 0, time: 0, cost: 0, current: undefined, previous: undefined, invalid: new Map() })

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
      if (before?.round !== fact.round) usage.invalid.set(fact.tool, { times: (before?.times ?? 0) + 1, round: fact.round })
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

/** Null: it may run. Judge and charge the calls of a batch one after the other, in the model's order: then a limit is exact. */
export function overBudget(budget: Budget, usage: Usage, upcoming: Upcoming): OverBudget | null {
  const { scope } = budget
  const over = (name: BudgetName, limit: number, used: number, message: string): OverBudget => ({ budget: name, limit, used, message })
  const { round } = upcoming
  if (!upcoming.valid) {
    if (round === null) return null
    const before = usage.invalid.get(upcoming.tool)
    const used = before === undefined ? 0 : before.round === round ? before.times - 1 : before.times
    return budget.invalid !== undefined && used >= budget.invalid
      ? over('invalid', budget.invalid, used, invalidMessage(upcoming.tool, used))
      : null
  }
  if (round !== null && budget.repeats !== undefined && !budget.exempt?.(upcoming.tool)) {
    const used = timesBefore(usage, { ...upcoming, round })
    if (used >= budget.repeats) return over('repeats', budget.repeats, used, repeatsMessage(upcoming.tool, used))
  }
  if (budget.calls !== undefined && usage.calls >= budget.calls) {
    return over('calls', budget.calls, usage.calls, spentMessage(scope, `${usage.calls} of ${budget.calls} tool calls`))
  }
  if (budget.time !== undefined && usage.time >= budget.time) {
    return over(
      'time',
      budget.time,
      usage.time,
      spentMessage(scope, `${seconds(usage.time)} of ${seconds(budget.time)} seconds of tool time`),
    )
  }
  if (budget.cost !== undefined && usage.cost >= budget.cost) {
    return over('cost', budget.cost, usage.cost, spentMessage(scope, `a cost of ${usage.cost} of ${budget.cost}`))
  }
  return null
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
function timesBefore(usage: Usage, call: { round: string; tool: string; hash: string }): number {
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

const seconds = (ms: number): number => Math.round(ms / 100) / 10

const notRun = 'This call was not run.'

function spentMessage(scope: BudgetScope, used: string): string {
  const next =
    scope === 'turn'
      ? 'No more tools can run in this turn: answer with what you have, and say what is missing. The next message of the user begins a new turn.'
      : 'No more tools can run in this session: answer with what you have, and tell the user that the budget of the session must be raised to go on.'
  return `The budget of this ${scope} is used up: ${used}. ${notRun} ${next}`
}

const repeatsMessage = (tool: string, used: number): string =>
  `You called '${tool}' with the same arguments ${used === 1 ? 'just now' : `${used} times in a row`} and the answer did not change. ${notRun} ` +
  'Use the answer you have, change the arguments, or do something else; other calls still run.'

const invalidMessage = (tool: string, used: number): string =>
  `The arguments for '${tool}' were not valid, as in your last ${used === 1 ? 'message' : `${used} messages`} that called it. ${notRun} ` +
  'Stop guessing: read the schema of the tool again and call it once with arguments that follow it, use another tool, or ask the user.'
