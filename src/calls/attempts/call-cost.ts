// What a call took, for its outcome and for the budgets (POL-8): one bill for each execution, filled in by its attempts. What the attempts of an
// execution took that a crash ended is lost with it.

import type { Driven, ToSettle } from '../../engine/engine.ts'

export class CallCost {
  /** In the body, without its waits. Counted where there is a budget. */
  ms = 0
  cost: number

  /** With what earlier executions cost. */
  constructor(cost = 0) {
    this.cost = cost
  }

  /** A sum that is still a number. */
  costs(amount: number): void {
    this.cost = Math.min(this.cost + amount, Number.MAX_VALUE)
  }

  /** All that its attempts cost is on its outcome, whatever became of that. */
  on(driven: Driven): Driven {
    return this.cost === 0 || 'park' in driven ? driven : withCost(driven, this.cost)
  }
}

/** What a result cost is the tool's to say: hooks, and checks of what it gave, change nothing about it. */
export const withCost = (given: ToSettle, cost: number | undefined): ToSettle =>
  cost === undefined || given.settle.cost === cost ? given : { settle: { ...given.settle, cost } }
