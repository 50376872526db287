// POLICY, the budgets (POL-8): how much a turn, a session and a tenant may ask of tools. Over budget a call is not run and the model
// reads why and what it can still do; the run goes on.
//
// The pipeline asks before each call (calls/authorization/check-budget.ts), with what each scope has used (usage.ts). Nothing here reads a clock or a store.
//
// What counts as a loop: the same tool with the same arguments in one model message after the other, with the same answer. Equal
// calls inside one message are parallel work and count once; an answer that changed starts anew; a message without the call ends
// it. Longer cycles (A, B, A, B …) are left to `calls`: a test run between edits looks just like one. Tools that poll are exempt
// by name.

import { type Duration, milliseconds } from '../core/duration.ts'
import { checkKeys, isPlain, type Refuse, refuseAt } from './conditions.ts'
import { compileToolGlobs, type Glob } from './rules.ts'
import { timesBefore, type Usage } from './usage.ts'

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

/** What all sessions of a tenant may use together. */
export interface TenantLimits extends Pick<BudgetLimits, 'calls' | 'time' | 'cost'> {
  /** It begins anew after so long, by fixed windows since 1970 (UTC): '1d' at midnight. Without it, it is for ever. */
  readonly per?: Duration
}

export interface Budgets {
  /** Of calls that name a turn, and of what they call. */
  readonly turn?: BudgetLimits
  readonly session?: BudgetLimits
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
  /** Milliseconds of a window; undefined if it never begins anew. */
  readonly per: number | undefined
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

export interface OverBudget {
  readonly budget: BudgetName
  readonly limit: number
  readonly used: number
  /** For the model. */
  readonly message: string
}

const limitKeys: readonly BudgetName[] = ['calls', 'time', 'cost', 'repeats', 'invalid']
const tenantKeys = ['calls', 'time', 'cost', 'per']

/** Checks all scopes; one without a limit is none. Throws config_invalid, naming the field. */
export function defineBudgets(definition: Budgets): { readonly [scope in BudgetScope]: Budget | undefined } {
  const refuse = refuseAt('budgets')
  if (!isPlain(definition)) refuse('', 'is not an object')
  checkKeys(definition, ['turn', 'session', 'tenant'], refuse)
  const { turn, session, tenant } = definition
  if (isPlain(tenant)) forTenants(tenant, refuse)
  return {
    turn: defineBudget(turn, 'turn', limitKeys, refuse),
    session: defineBudget(session, 'session', limitKeys, refuse),
    tenant: defineBudget(tenant, 'tenant', tenantKeys, refuse),
  }
}

function forTenants(limits: object, refuse: Refuse): void {
  for (const name of ['repeats', 'invalid']) {
    if (Object.hasOwn(limits, name))
      refuse(`tenant.${name}`, 'is for turns and sessions: a tenant has many conversations at once')
  }
}

function defineBudget(
  limits: (BudgetLimits & TenantLimits) | undefined,
  scope: BudgetScope,
  known: readonly string[],
  refuse: Refuse,
): Budget | undefined {
  if (limits === undefined) return undefined
  if (!isPlain(limits)) refuse(scope, 'is not an object')
  checkKeys(limits, known, refuse, `${scope}.`)
  const { repeats, cost, time, per }: BudgetLimits & TenantLimits = limits
  const loop = isPlain(repeats) ? repeats : repeats === undefined ? undefined : { limit: repeats }
  if (isPlain(repeats)) checkKeys(repeats, ['limit', 'exempt'], refuse, `${scope}.repeats.`)
  if (loop && loop.limit === undefined) refuse(`${scope}.repeats.limit`, 'is missing')
  if (cost !== undefined && !(typeof cost === 'number' && Number.isFinite(cost) && cost > 0))
    refuse(`${scope}.cost`, 'is not a number above 0')
  const budget = {
    scope,
    calls: whole(limits.calls, `${scope}.calls`, refuse),
    time: duration(time, `${scope}.time`, 'which would refuse every call', refuse),
    cost,
    repeats: whole(loop?.limit, isPlain(repeats) ? `${scope}.repeats.limit` : `${scope}.repeats`, refuse),
    exempt: compileToolGlobs(loop?.exempt, `${scope}.repeats.exempt`, refuse),
    invalid: whole(limits.invalid, `${scope}.invalid`, refuse),
    per: duration(per, `${scope}.per`, 'which is no window', refuse),
  }
  return limitKeys.some((name) => budget[name] !== undefined) ? Object.freeze(budget) : undefined
}

function duration(given: Duration | undefined, field: string, zero: string, refuse: Refuse): number | undefined {
  const ms = given === undefined ? undefined : milliseconds(given, `budgets.${field}`)
  return ms === 0 ? refuse(field, `is 0, ${zero}`) : ms
}

function whole(value: unknown, field: string, refuse: Refuse): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 1)) return value as number | undefined
  return refuse(field, 'is not a whole number of at least 1')
}

/** A scope that a call is held to, and what it has used. */
export interface Held {
  readonly budget: Budget
  readonly usage: Usage
}

/**
 * Null: it may run. Judge and charge the calls of a batch one after the other, in the model's order: then a limit is exact. What is used up is told
 * before a loop, after which other calls still run, and of the widest scope, given first: a new turn is no help in a session without budget.
 */
export function overBudget(held: readonly Held[], upcoming: Upcoming): OverBudget | null {
  const first = (judge: (budget: Budget, usage: Usage) => OverBudget | null): OverBudget | null => {
    for (const { budget, usage } of held) {
      const over = judge(budget, usage)
      if (over) return over
    }
    return null
  }
  const { round, tool } = upcoming
  if (!upcoming.valid)
    return round === null ? null : first((budget, usage) => triedTooOften(budget, usage, tool, round))
  return (
    first(usedUp) ?? (round === null ? null : first((budget, usage) => loops(budget, usage, { ...upcoming, round })))
  )
}

function triedTooOften(budget: Budget, usage: Usage, tool: string, round: string): OverBudget | null {
  const before = usage.invalid.get(tool)
  const used = before === undefined ? 0 : before.round === round ? before.times - 1 : before.times
  if (budget.invalid === undefined || used < budget.invalid) return null
  return { budget: 'invalid', limit: budget.invalid, used, message: invalidMessage(tool, used) }
}

function loops(budget: Budget, usage: Usage, call: { round: string; tool: string; hash: string }): OverBudget | null {
  if (budget.repeats === undefined || budget.exempt?.(call.tool)) return null
  const used = timesBefore(usage, call)
  return used < budget.repeats
    ? null
    : { budget: 'repeats', limit: budget.repeats, used, message: repeatsMessage(call.tool, used) }
}

function usedUp(budget: Budget, usage: Usage): OverBudget | null {
  for (const name of ['calls', 'time', 'cost'] as const) {
    const [limit, used] = [budget[name], usage[name]]
    if (limit !== undefined && used >= limit)
      return { budget: name, limit, used, message: spentMessage(budget, usage, said[name](used, limit)) }
  }
  return null
}

const said = {
  calls: (used: number, limit: number): string => `${used} of ${limit} tool calls`,
  time: (used: number, limit: number): string => `${seconds(used)} of ${seconds(limit)} seconds of tool time`,
  cost: (used: number, limit: number): string => `a cost of ${used} of ${limit}`,
}

const seconds = (ms: number): number => Math.round(ms / 100) / 10

const notRun = 'This call was not run.'

function spentMessage({ scope, per }: Budget, { since }: Usage, used: string): string {
  return `The budget of this ${scope} is used up: ${used}. ${notRun} ${next[scope](per === undefined ? undefined : since + per)}`
}

/** What it can still do; `anew` is when the budget begins again by itself. */
const next: { readonly [scope in BudgetScope]: (anew: number | undefined) => string } = {
  turn: () =>
    'No more tools can run in this turn: answer with what you have, and say what is missing. The next message of the user begins a new turn.',
  session: () =>
    'No more tools can run in this session: answer with what you have, and tell the user that the budget of the session must be raised to go on.',
  tenant: (anew) =>
    anew === undefined
      ? 'No more tools can run, in this session or another: answer with what you have, and tell the user that the budget of the tenant must be raised to go on.'
      : `No more tools can run until ${new Date(anew).toISOString()}, when it begins anew: answer with what you have, and tell the user when to ask again.`,
}

const repeatsMessage = (tool: string, used: number): string =>
  `You called '${tool}' with the same arguments ${used === 1 ? 'just now' : `${used} times in a row`} and the answer did not change. ${notRun} ` +
  'Use the answer you have, change the arguments, or do something else; other calls still run.'

const invalidMessage = (tool: string, used: number): string =>
  `The arguments for '${tool}' were not valid, as in your last ${used === 1 ? 'message' : `${used} messages`} that called it. ${notRun} ` +
  'Stop guessing: read the schema of the tool again and call it once with arguments that follow it, use another tool, or ask the user.'
