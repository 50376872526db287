// Last checks of a result before it is settled, whether it comes from the body, a wait, prepare or reconcile.

import type { ToSettle } from '../../engine/engine.ts'
import { chain, type MaybePromise } from '../../core/maybe-promise.ts'
import type { ValidatedInput } from '../admission/call-input.ts'
import type { StageContext } from '../run-host-callback.ts'
import { limitOutcomeSize } from '../output/limit-outcome-size.ts'
import { checkOutput } from '../output/check-output.ts'
import { runAfterHooks } from '../admission/run-hooks.ts'

/** Runs after hooks, validates the output and limits its size. */
export function complete(stage: StageContext, input: ValidatedInput, result: ToSettle): MaybePromise<ToSettle> {
  const { execution, host } = stage
  const { cost } = result.settle
  const finish = (outcome: ToSettle): ToSettle => withCost(limitOutcomeSize(outcome, execution, host), cost)
  return chain(chain(runAfterHooks(stage, input, result), checkOutput, stage), finish)
}

/** Restores the cost that the tool declared; after hooks and the output check cannot change it. */
export const withCost = (result: ToSettle, cost: number | undefined): ToSettle =>
  cost === undefined || result.settle.cost === cost ? result : { settle: { ...result.settle, cost } }
