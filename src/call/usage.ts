// What each session has used of its budget (POL-8). The first call of a session that this worker meets reads what is on record; from then
// on it is counted here, so what other processes do at the same time is not seen. Without a budget nothing is counted, nor read.

import type { Invocation } from '../engine/engine.ts'
import type { CallRequest } from '../journal/call-state.ts'
import { frame } from '../kernel/id.ts'
import type { Outcome } from '../kernel/outcome.ts'
import { encode } from '../kernel/value.ts'
import { type Budget, charge, type OverBudget, overBudget, type Usage } from '../policy/budget.ts'
import { aboutOf, outcomeHash, type SessionRecord, usageOnRecord } from './usage-on-record.ts'

/** Sessions that are remembered; the one used longest ago is forgotten first, and read again if it comes back. */
const mostSessions = 10_000
/** Calls that are known to be counted although their start may not be on record. */
const mostCalls = 10_000

type Verdict = OverBudget | null

export class SessionUsage {
  readonly #budget: Budget | undefined
  readonly #record: SessionRecord
  readonly #sessions = new Map<string, Usage | Promise<Usage>>()
  readonly #counted = new Set<string>()

  constructor(budget: Budget | undefined, record: SessionRecord) {
    this.#budget = budget
    this.#record = record
  }

  /** Whether there is anything to count for. */
  get counts(): boolean {
    return this.#budget !== undefined
  }

  /** Whether the call is too much; if not, it counts from now on. One that is taken up again was counted before. */
  overBudget({ request, attempt }: Pick<Invocation, 'request' | 'attempt'>): Verdict | Promise<Verdict> {
    const budget = this.#budget
    if (!budget || attempt > 0 || this.#counted.has(request.uid)) return null
    return this.#with(request, (usage) => {
      const over = overBudget(budget, usage, { ...aboutOf(request), valid: true })
      charge(usage, { kind: over ? 'refused' : 'started', ...aboutOf(request) })
      if (!over) this.#counts(request.uid)
      return over
    })
  }

  /** Arguments were refused: null, or what to tell a model that keeps giving bad ones. */
  invalid(request: CallRequest): Verdict | Promise<Verdict> {
    const budget = this.#budget
    if (!budget) return null
    return this.#with(request, (usage) => {
      const over = overBudget(budget, usage, { ...aboutOf(request), valid: false })
      charge(usage, { kind: 'invalid', ...aboutOf(request) })
      return over
    })
  }

  settled(request: CallRequest, ms: number, outcome: Outcome): void {
    const usage = this.#budget && this.#sessions.get(placeOf(request))
    // A session that was not asked about yet: the record will tell.
    if (!usage || usage instanceof Promise) return
    charge(usage, { kind: 'settled', ...aboutOf(request), ms, outcome: outcomeHash(encode(outcome)) })
  }

  /** At once if the session is known. While it is read the calls wait, and go on in the order they came. */
  #with<T>(request: CallRequest, judge: (usage: Usage) => T): T | Promise<T> {
    const usage = this.#of(request)
    return usage instanceof Promise ? usage.then(judge) : judge(usage)
  }

  #of(request: CallRequest): Usage | Promise<Usage> {
    const place = placeOf(request)
    const usage = this.#sessions.get(place) ?? this.#read(place, request)
    this.#sessions.delete(place)
    this.#sessions.set(place, usage)
    forgetOldest(this.#sessions, mostSessions)
    return usage
  }

  async #read(place: string, { position: { tenant, session } }: CallRequest): Promise<Usage> {
    try {
      const usage = await usageOnRecord(this.#record, { tenant, session })
      this.#sessions.set(place, usage)
      return usage
    } catch (error) {
      this.#sessions.delete(place)
      throw error
    }
  }

  #counts(uid: string): void {
    this.#counted.add(uid)
    forgetOldest(this.#counted, mostCalls)
  }
}

const placeOf = ({ position }: CallRequest): string => frame(position.tenant, position.session)

function forgetOldest(from: Map<string, unknown> | Set<string>, most: number): void {
  if (from.size > most) from.delete(from.keys().next().value as string)
}
