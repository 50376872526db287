// What each session has used of its budget (POL-8), kept in this process. Without a budget nothing is counted.

import { createHash } from 'node:crypto'
import { askedName, type CallRequest } from '../journal/call-state.ts'
import { frame } from '../kernel/id.ts'
import type { Outcome } from '../kernel/outcome.ts'
import { encode } from '../kernel/value.ts'
import { type Budget, charge, newUsage, type OverBudget, overBudget, type Usage } from '../policy/budget.ts'

/** The model message it came in; a call that names none is a message of its own. */
const roundOf = ({ position, uid }: CallRequest): string => (position.batch === '' ? uid : position.batch)

/** Sessions that are remembered; the one used longest ago is forgotten first. */
const mostSessions = 10_000

export class SessionUsage {
  readonly #budget: Budget | undefined
  readonly #sessions = new Map<string, Usage>()

  constructor(budget: Budget | undefined) {
    this.#budget = budget
  }

  /** Whether the call is too much; if not, it counts from now on. */
  overBudget(request: CallRequest): OverBudget | null {
    if (!this.#budget) return null
    const usage = this.#of(request)
    const about = { round: roundOf(request), tool: askedName(request), hash: request.hash }
    const over = overBudget(this.#budget, usage, { ...about, valid: true })
    charge(usage, { kind: over ? 'refused' : 'started', ...about })
    return over
  }

  /** Arguments were refused: null, or what to tell a model that keeps giving bad ones. */
  invalid(request: CallRequest): OverBudget | null {
    if (!this.#budget) return null
    const usage = this.#of(request)
    const about = { round: roundOf(request), tool: askedName(request) }
    const over = overBudget(this.#budget, usage, { ...about, hash: request.hash, valid: false })
    charge(usage, { kind: 'invalid', ...about })
    return over
  }

  settled(request: CallRequest, ms: number, outcome: Outcome): void {
    if (!this.#budget) return
    const about = { round: roundOf(request), tool: askedName(request), hash: request.hash }
    charge(this.#of(request), { kind: 'settled', ...about, ms, outcome: createHash('sha256').update(encode(outcome)).digest('base64url') })
  }

  #of({ position }: CallRequest): Usage {
    const key = frame(position.tenant, position.session)
    const usage = this.#sessions.get(key) ?? newUsage()
    this.#sessions.delete(key)
    this.#sessions.set(key, usage)
    if (this.#sessions.size > mostSessions) this.#sessions.delete(this.#sessions.keys().next().value as string)
    return usage
  }
}
