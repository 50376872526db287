// Accumulates the time and cost of one execution, for its outcome and the budgets. Filled in by the attempts. After a
// crash, the time and cost of the interrupted execution are lost.

import type { Driven, ToSettle } from '../../engine/engine.ts'

export class CallCost {
  /** Time in the body without its waits; only counted if there are budgets. */
  ms = 0
  cost: number

  /** `cost`: the cost of earlier executions. */
  constructor(cost = 0) {
    this.cost = cost
  }

  /** Capped, because Infinity has no recorded form. */
  add(amount: number): void {
    this.cost = Math.min(this.cost + amount, Number.MAX_VALUE)
  }

  /** Sets the total cost of all attempts on the outcome, whatever its status. */
  applyTo(driven: Driven): Driven {
    return this.cost === 0 || 'park' in driven ? driven : withCost(driven, this.cost)
  }
}

/** Restores the cost that the tool declared; after hooks and the output check cannot change it. */
export const withCost = (result: ToSettle, cost: number | undefined): ToSettle =>
  cost === undefined || result.settle.cost === cost ? result : { settle: { ...result.settle, cost } }
