// Budget checks. A call is counted just before it enters the queue, when it may run, and not while people decide about
// it. Time and cost are charged when it ends. Without budgets nothing is counted, read or written.
//
// The usage of each scope is stored and updated once per call, together with a mark on the call (docs/decisions/0022),
// so a limit holds exactly with concurrent processes and after crashes.

import { createHash } from 'node:crypto'
import type { Driven, Execution, CounterUpdate, ToSettle } from '../../engine/engine.ts'
import { failure, type Outcome } from '../../core/outcome.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { encode, parseJson } from '../../core/tool-value.ts'
import { type Budget, type ScopeUsage, overBudget } from '../../policy/budgets.ts'
import { charge, parseUsage, type UsageFact, serializeUsage } from '../../policy/budget-usage.ts'
import type { StageContext } from '../run-host-callback.ts'
import { withCost } from '../attempts/complete-call.ts'
import type { CallRun } from '../call-run.ts'
import type { CallHost } from '../ports.ts'
import { collections } from '../../store/collections.ts'
import { stepKeys } from '../../store/journal-keys.ts'

/** Counts the call against its budgets, if there are any. Returns the refusal, or null if the call is within them. */
export function checkCallBudget({ execution, host }: StageContext): MaybePromise<ToSettle | null> {
  // A call whose body has begun was counted before.
  return execution.attempt > 0 ? null : chargeBudgets(execution, host, true)
}

/** Counts a call with invalid arguments; returns a refusal once a model has sent too many. */
export function checkInvalidCallsBudget({ execution, host }: StageContext): MaybePromise<ToSettle | null> {
  return host.budgets.some(({ invalid }) => invalid !== undefined) ? chargeBudgets(execution, host, false) : null
}

async function chargeBudgets(execution: Execution, host: CallHost, valid: boolean): Promise<ToSettle | null> {
  const budgets = budgetsOf(execution, host)
  if (budgets.length === 0) return null
  const facts = usageFacts(execution)
  const mark = await execution.updateCounters(
    usageUpdate(valid ? stepKeys.budget : stepKeys.budgetInvalid, execution, host, budgets, (scopes) => {
      const exceeded = overBudget(scopes, { ...facts, valid })
      return [{ kind: valid ? (exceeded ? 'refused' : 'started') : 'invalid', ...facts }, exceeded?.message ?? null]
    }),
  )
  const message = parseJson(mark) as string | null
  return message === null
    ? null
    : { settle: failure({ class: 'resource_limit', code: 'over_budget', message, source: 'policy' }) }
}

/**
 * Adds the cost to the outcome and charges the scopes: once, and before the outcome is settled, so that readers see
 * both.
 */
export function chargeCall(run: CallRun, driven: Driven): MaybePromise<Driven> {
  const { execution, host, cost } = run
  const end = cost === 0 || 'park' in driven ? driven : withCost(driven, cost)
  // A call whose body never began is not charged.
  return host.budgets.length === 0 || execution.attempt === 0 ? end : chargeScopes(execution, host, run.bodyMs, end)
}

async function chargeScopes(execution: Execution, host: CallHost, ms: number, end: Driven): Promise<Driven> {
  const settle = 'settle' in end ? end.settle : undefined
  const { cost = 0 } = settle ?? {}
  const concerns = ({ time, cost: maxCost, repeats }: Budget): boolean =>
    (time !== undefined && ms > 0) ||
    (maxCost !== undefined && cost > 0) ||
    (repeats !== undefined && settle !== undefined)
  const budgets = budgetsOf(execution, host)
  if (!budgets.some(concerns)) return end
  try {
    const answer = settle ? { outcome: answerHash(settle) } : {}
    const fact: UsageFact = { kind: 'settled', ...usageFacts(execution), ms, cost, ...answer }
    // A body that parks is charged for its time so far; another execution settles the call after the answer.
    await execution.updateCounters(
      usageUpdate(
        settle ? stepKeys.budgetSettled : stepKeys.budgetParked(execution.attempt),
        execution,
        host,
        budgets,
        () => [fact, null],
      ),
    )
  } catch (error) {
    const { stopped } = execution
    if (stopped && 'over' in stopped) throw stopped.over
    // The call has ended and we hold its lease: delivering the outcome matters more than the charge.
    host.logger.error('The usage of a call was not charged to its budgets', { call: execution.request.uid, error })
  }
  return end
}

/** The budgets that apply to the call, the widest scope first. */
const budgetsOf = ({ options }: Execution, { budgets }: CallHost): readonly Budget[] =>
  options.turn === undefined ? budgets.filter(({ scope }) => scope !== 'turn') : budgets

/** A counter update that adds a fact to the usage of all scopes atomically. */
function usageUpdate(
  key: string,
  execution: Execution,
  { clock }: CallHost,
  budgets: readonly Budget[],
  judge: (scopes: readonly ScopeUsage[]) => [fact: UsageFact, message: string | null],
): CounterUpdate {
  return {
    key,
    names: budgets.map(({ scope }) => nameOf(scope, execution)),
    count(documents) {
      const now = clock.now()
      const scopes = budgets.map((budget, order) => ({
        budget,
        usage: parseUsage(budget, documents[order] ?? null, now),
      }))
      const [fact, message] = judge(scopes)
      for (const { usage } of scopes) charge(usage, fact)
      return {
        documents: scopes.map(({ budget, usage }) => serializeUsage(budget, usage)),
        mark: JSON.stringify(message),
      }
    },
  }
}

function nameOf(scope: Budget['scope'], { request, options }: Execution): CounterUpdate['names'][number] {
  const { tenant, session } = request.position
  if (scope === 'tenant') return collections.usage.name({ tenant, session: '' }, scope)
  return collections.usage.name({ tenant, session }, scope === 'turn' ? `turn:${options.turn}` : scope)
}

/** `round`: the model message of the call. A call without a batch is its own round; a nested call belongs to none. */
function usageFacts({ request, options }: Execution): { round: string | null; tool: string; hash: string } {
  const { position, uid, tool, hash } = request
  const { name = tool, root, callId } = options
  // For a keyed call, position.batch is the key and not the batch.
  const batch = callId === undefined ? position.batch : options.batch
  return { round: root === undefined ? batch || uid : null, tool: name, hash: hash.slice(0, hashChars) }
}

/** Length of a stored hash (132 bits in base64url); one is stored for every call of the last two rounds. */
const hashChars = 22

/** Hash of the outcome without its cost: the same answer at another price counts as a repetition. */
function answerHash(outcome: Outcome): string {
  const { cost: _, ...answer } = outcome
  return createHash('sha256').update(encode(answer)).digest('base64url').slice(0, hashChars)
}
