// Runs calls of one tool and reads their outcomes.

import type { CallOutcome } from 'pawl'

export interface Outcomes {
  /** Runs a call that must succeed and returns its value. */
  value(input: unknown): Promise<unknown>
  /** The code of a failure, otherwise the status. */
  codeOf(input: unknown): Promise<string>
  /** The code and message of a failure, otherwise the outcome. */
  failure(input: unknown): Promise<unknown>
}

export const outcomesOf = (ask: (input: unknown) => Promise<CallOutcome>): Outcomes => ({
  async value(input) {
    const outcome = await ask(input)
    if (outcome.status !== 'success') throw new Error(JSON.stringify(outcome))
    return outcome.value
  },
  async codeOf(input) {
    const outcome = await ask(input)
    return outcome.status === 'failure' ? outcome.failure.code : outcome.status
  },
  async failure(input) {
    const outcome = await ask(input)
    return outcome.status === 'failure' ? [outcome.failure.code, outcome.failure.message] : outcome
  },
})
