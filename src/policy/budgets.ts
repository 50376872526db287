// Budgets: how many calls, how much tool time and how much cost a turn, a session and a tenant may use. A call over
// budget does not run; the model reads why and what it can still do, and the turn continues.
//
// calls/authorization/check-budget.ts calls it before each call with the usage of each scope (budget-usage.ts). Pure: no
// clock, no store.
//
// A loop is the same tool with the same arguments and the same answer in consecutive model messages. Equal calls inside
// one message are parallel work and count once; a changed answer resets the count; a message without the call ends the
// loop. Longer cycles (A, B, A, B …) are left to the `calls` limit, because a test run between edits looks the same.
// Tools that poll are exempted by name.

import { option, type OptionTable } from '../core/check-options.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import { checkKeys, refuseAt } from './conditions.ts'
import type { Glob } from './glob.ts'
import { compileToolGlobs } from './rules.ts'
import { consecutiveRounds, type Usage } from './budget-usage.ts'

/** Limits on the use of tools. Absent limits do not apply. */
export interface BudgetLimits {
  /** Maximum number of calls that run. */
  readonly calls?: number
  /** Maximum total time spent in tools. Parallel calls each count in full. */
  readonly time?: Duration
  /** Maximum total cost, in the unit the tools report. Whole units (cents, tokens) add up exactly. */
  readonly cost?: number
  /** Maximum number of consecutive model messages that make the same call and get the same answer. */
  readonly repeats?: number | { readonly limit: number; readonly exempt?: string | readonly string[] }
  /** Maximum number of consecutive messages with invalid arguments for one tool. */
  readonly invalid?: number
}

/** Limits on all sessions of a tenant together. */
export interface TenantLimits extends Pick<BudgetLimits, 'calls' | 'time' | 'cost'> {
  /**
   * Length of the window after which usage resets, aligned to 1970 (UTC): '1d' resets at midnight UTC. Default: it
   * never resets.
   */
  readonly per?: Duration
}

/** Limits per turn, session and tenant. A call must be within all of them. */
export interface Budgets {
  /** Applies to calls that belong to a turn, and to their nested calls. */
  readonly turn?: BudgetLimits
  /** Applies to each session over its whole life. */
  readonly session?: BudgetLimits
  /** Applies to all sessions of a tenant together, per period. */
  readonly tenant?: TenantLimits
}

export type BudgetScope = keyof Budgets
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
  /** Length of a window in milliseconds; undefined if usage never resets. */
  readonly per: number | undefined
}

export interface UpcomingCall {
  /** Id of the model message that contains the call. Null for a nested call, which is never a model loop. */
  readonly round: string | null
  readonly tool: string
  /** Hash of the arguments. */
  readonly hash: string
  /** Whether the arguments were valid. An invalid call is only checked against the `invalid` limit. */
  readonly valid: boolean
}

export interface OverBudget {
  readonly budget: BudgetName
  readonly limit: number
  readonly used: number
  /** The text the model reads. */
  readonly message: string
}

const limitKeys: readonly BudgetName[] = ['calls', 'time', 'cost', 'repeats', 'invalid']

const tenantLimits = {
  calls: option.wholeNumber(1),
  time: option.positiveDuration,
  cost: option.positiveNumber,
  per: option.positiveDuration,
} satisfies OptionTable<TenantLimits>
const repeatOptions = {
  limit: option.required(option.wholeNumber(1)),
  exempt: option.either(option.string, option.array),
}
const { per: _, ...totals } = tenantLimits
/** A tenant has many conversations at once, so limits on repetition are for turns and sessions only. */
const conversationLimits = {
  ...totals,
  repeats: option.either(option.wholeNumber(1), option.object),
  invalid: option.wholeNumber(1),
} satisfies OptionTable<BudgetLimits>
export const budgetOptions = {
  turn: option.object,
  session: option.object,
  tenant: option.object,
} satisfies OptionTable<Budgets>

/** Checks all scopes. A scope without a limit is undefined. Throws config_invalid, naming the field. */
export function defineBudgets(definition: Budgets): { readonly [scope in BudgetScope]: Budget | undefined } {
  checkKeys(definition, budgetOptions, 'budgets')
  const { turn, session, tenant } = definition
  return {
    turn: defineBudget(turn, 'turn', conversationLimits),
    session: defineBudget(session, 'session', conversationLimits),
    tenant: defineBudget(tenant, 'tenant', tenantLimits),
  }
}

function defineBudget(
  limits: (BudgetLimits & TenantLimits) | undefined,
  scope: BudgetScope,
  table: OptionTable,
): Budget | undefined {
  if (limits === undefined) return undefined
  const path = `budgets.${scope}`
  checkKeys(limits, table, path)
  const { repeats, cost, time, per } = limits
  if (typeof repeats === 'object') checkKeys(repeats, repeatOptions, `${path}.repeats`)
  const loop = typeof repeats === 'number' ? { limit: repeats } : repeats
  const budget = {
    scope,
    calls: limits.calls,
    time: time === undefined ? undefined : milliseconds(time, `${path}.time`),
    cost,
    repeats: loop?.limit,
    exempt: compileToolGlobs(loop?.exempt, `${scope}.repeats.exempt`, refuseAt('budgets')),
    invalid: limits.invalid,
    per: per === undefined ? undefined : milliseconds(per, `${path}.per`),
  }
  return limitKeys.some((name) => budget[name] !== undefined) ? Object.freeze(budget) : undefined
}

/** The budget of one scope, with its usage. */
export interface ScopeUsage {
  readonly budget: Budget
  readonly usage: Usage
}

/**
 * The exceeded budget, or null if the call may run. Check and charge the calls of a batch one by one in model order:
 * then limits are exact. A used-up total is reported before a loop, because after a loop other calls can still run.
 * Scopes are passed widest first, because a new turn does not help if the session's budget is used up.
 */
export function overBudget(scopes: readonly ScopeUsage[], upcoming: UpcomingCall): OverBudget | null {
  const firstOver = (judge: (budget: Budget, usage: Usage) => OverBudget | null): OverBudget | null => {
    for (const { budget, usage } of scopes) {
      const over = judge(budget, usage)
      if (over) return over
    }
    return null
  }
  const { round, tool } = upcoming
  if (!upcoming.valid)
    return round === null ? null : firstOver((budget, usage) => overInvalid(budget, usage, tool, round))
  return (
    firstOver(overTotals) ??
    (round === null ? null : firstOver((budget, usage) => overRepeats(budget, usage, { ...upcoming, round })))
  )
}

function overInvalid(budget: Budget, usage: Usage, tool: string, round: string): OverBudget | null {
  const before = usage.invalid.get(tool)
  const used = before === undefined ? 0 : before.round === round ? before.times - 1 : before.times
  if (budget.invalid === undefined || used < budget.invalid) return null
  return { budget: 'invalid', limit: budget.invalid, used, message: invalidMessage(tool, used) }
}

function overRepeats(
  budget: Budget,
  usage: Usage,
  call: { round: string; tool: string; hash: string },
): OverBudget | null {
  if (budget.repeats === undefined || budget.exempt?.(call.tool)) return null
  const used = consecutiveRounds(usage, call)
  return used < budget.repeats
    ? null
    : { budget: 'repeats', limit: budget.repeats, used, message: repeatsMessage(call.tool, used) }
}

function overTotals(budget: Budget, usage: Usage): OverBudget | null {
  for (const name of ['calls', 'time', 'cost'] as const) {
    const [limit, used] = [budget[name], usage[name]]
    if (limit !== undefined && used >= limit)
      return { budget: name, limit, used, message: spentMessage(budget, usage, usedText[name](used, limit)) }
  }
  return null
}

const usedText = {
  calls: (used: number, limit: number): string => `${used} of ${limit} tool calls`,
  time: (used: number, limit: number): string => `${seconds(used)} of ${seconds(limit)} seconds of tool time`,
  cost: (used: number, limit: number): string => `a cost of ${used} of ${limit}`,
}

const seconds = (ms: number): number => Math.round(ms / 100) / 10

const notRun = 'This call was not run.'

function spentMessage({ scope, per }: Budget, { since }: Usage, used: string): string {
  return `The budget of this ${scope} is used up: ${used}. ${notRun} ${nextSteps[scope](per === undefined ? undefined : since + per)}`
}

/** Tells the model what it can still do. `resetsAt` is the time at which the budget resets. */
const nextSteps: { readonly [scope in BudgetScope]: (resetsAt: number | undefined) => string } = {
  turn: () =>
    'No more tools can run in this turn: answer with what you have, and say what is missing. The next message of the user begins a new turn.',
  session: () =>
    'No more tools can run in this session: answer with what you have, and tell the user that the budget of the session must be raised to go on.',
  tenant: (resetsAt) =>
    resetsAt === undefined
      ? 'No more tools can run, in this session or another: answer with what you have, and tell the user that the budget of the tenant must be raised to go on.'
      : `No more tools can run until ${new Date(resetsAt).toISOString()}, when it begins anew: answer with what you have, and tell the user when to ask again.`,
}

const repeatsMessage = (tool: string, used: number): string =>
  `You called '${tool}' with the same arguments ${used === 1 ? 'just now' : `${used} times in a row`} and the answer did not change. ${notRun} ` +
  'Use the answer you have, change the arguments, or do something else; other calls still run.'

const invalidMessage = (tool: string, used: number): string =>
  `The arguments for '${tool}' were not valid, as in your last ${used === 1 ? 'message' : `${used} messages`} that called it. ${notRun} ` +
  'Stop guessing: read the schema of the tool again and call it once with arguments that follow it, use another tool, or ask the user.'
