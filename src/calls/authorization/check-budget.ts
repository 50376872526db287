// Is there budget left (POL-8): asked last before the queue, so that a call counts when it may run and not while people decide about it. What it
// took is charged when it ends. Without budgets nothing is counted, read or written.
//
// What each scope has used is kept in the store and counted there once per call, with a mark on the call (docs/decisions/0022): so a limit holds
// exactly, however many processes ask at once and however often they die.

import { createHash } from 'node:crypto'
import type { Driven, Execution, CounterUpdate, ToSettle } from '../../engine/engine.ts'
import { failure, type Outcome } from '../../core/outcome.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { encode } from '../../core/value.ts'
import { type Budget, type Held, overBudget } from '../../policy/budgets.ts'
import { charge, readUsage, type UsageFact, usageText } from '../../policy/usage.ts'
import type { Asking } from '../host-callback.ts'
import type { CallCost } from '../attempts/call-cost.ts'
import type { CallHost } from '../ports.ts'

/** Null: it may run, and is counted. */
export function withinBudget({ execution, host }: Asking): MaybePromise<ToSettle | null> {
  // What has begun was counted before it did.
  return host.budgets.length === 0 || execution.attempt > 0 ? null : counted(execution, host, true)
}

/** Arguments were refused: null, or what to tell a model that keeps giving bad ones. */
export function stillInvalid({ execution, host }: Asking): MaybePromise<ToSettle | null> {
  return host.budgets.some(({ invalid }) => invalid !== undefined) ? counted(execution, host, false) : null
}

async function counted(execution: Execution, host: CallHost, valid: boolean): Promise<ToSettle | null> {
  const budgets = budgetsOf(execution, host)
  if (budgets.length === 0) return null
  const about = aboutOf(execution)
  const mark = await execution.tally(
    tallyOf(valid ? 'budget' : 'budget:invalid', execution, host, budgets, (scopes) => {
      const over = overBudget(scopes, { ...about, valid })
      return [{ kind: valid ? (over ? 'refused' : 'started') : 'invalid', ...about }, over?.message ?? null]
    }),
  )
  const message = JSON.parse(mark) as string | null
  return message === null
    ? null
    : { settle: failure({ class: 'resource_limit', code: 'over_budget', message, source: 'policy' }) }
}

/** With what it took on it, and on the usage of its scopes: once, before it settles, so that whoever has the outcome finds it charged. */
export function charged(execution: Execution, host: CallHost, bill: CallCost, driven: Driven): MaybePromise<Driven> {
  const end = bill.on(driven)
  // What never began took nothing.
  return host.budgets.length === 0 || execution.attempt === 0 ? end : chargedTo(execution, host, bill.ms, end)
}

async function chargedTo(execution: Execution, host: CallHost, ms: number, end: Driven): Promise<Driven> {
  const settle = 'settle' in end ? end.settle : undefined
  const { cost = 0 } = settle ?? {}
  const concerns = ({ time, cost: most, repeats }: Budget): boolean =>
    (time !== undefined && ms > 0) ||
    (most !== undefined && cost > 0) ||
    (repeats !== undefined && settle !== undefined)
  const budgets = budgetsOf(execution, host)
  if (!budgets.some(concerns)) return end
  try {
    const answer = settle ? { outcome: answerHash(settle) } : {}
    const fact: UsageFact = { kind: 'settled', ...aboutOf(execution), ms, cost, ...answer }
    // A body that parks has run until then; what lands its answer is another execution.
    await execution.tally(
      tallyOf(settle ? 'budget:settled' : `budget:parked:${execution.attempt}`, execution, host, budgets, () => [
        fact,
        null,
      ]),
    )
  } catch (error) {
    const { stopped } = execution
    if (stopped && 'over' in stopped) throw stopped.over
    // The call is ours and has ended: its outcome is worth more than what it took.
    host.logger.error('What a call took was not charged to its budgets', { call: execution.request.uid, error })
  }
  return end
}

/** Those of the host that the call is held to, the widest first. */
const budgetsOf = ({ options }: Execution, { budgets }: CallHost): readonly Budget[] =>
  options.turn === undefined ? budgets.filter(({ scope }) => scope !== 'turn') : budgets

/** Takes a fact into the usage of all scopes at once. */
function tallyOf(
  key: string,
  execution: Execution,
  { clock }: CallHost,
  budgets: readonly Budget[],
  judge: (scopes: readonly Held[]) => [fact: UsageFact, said: string | null],
): CounterUpdate {
  return {
    key,
    names: budgets.map(({ scope }) => nameOf(scope, execution)),
    count(kept) {
      const now = clock.now()
      const scopes = budgets.map((budget, order) => ({ budget, usage: readUsage(budget, kept[order] ?? null, now) }))
      const [fact, said] = judge(scopes)
      for (const { usage } of scopes) charge(usage, fact)
      return { documents: scopes.map(({ budget, usage }) => usageText(budget, usage)), mark: JSON.stringify(said) }
    },
  }
}

function nameOf(scope: Budget['scope'], { request, options }: Execution): CounterUpdate['names'][number] {
  const { tenant, session } = request.position
  if (scope === 'tenant') return { of: 'usage', tenant, session: '', key: scope }
  return { of: 'usage', tenant, session, key: scope === 'turn' ? `turn:${options.turn}` : scope }
}

/** The model message it came in; a call that names none is a message of its own, and one that a body makes came in none. */
function aboutOf({ request, options }: Execution): { round: string | null; tool: string; hash: string } {
  const { position, uid, tool, hash } = request
  const { name = tool, root, callId } = options
  // A key names the place of a call, and not the message it came in.
  const batch = callId === undefined ? position.batch : options.batch
  return { round: root === undefined ? batch || uid : null, tool: name, hash: hash.slice(0, enough) }
}

/** Of a hash, in characters of six bits: it is kept with every call of the last two messages. */
const enough = 22
/** The same answer for another price is the same answer. */
function answerHash(outcome: Outcome): string {
  const { cost: _, ...answer } = outcome
  return createHash('sha256').update(encode(answer)).digest('base64url').slice(0, enough)
}
