// Last checks of a result before it is settled, whether it comes from the body, a wait, prepare or reconcile.

import type { ToSettle } from '../../engine/engine.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { ValidatedInput } from '../admission/call-input.ts'
import type { StageContext } from '../run-host-callback.ts'
import { withCost } from './call-cost.ts'
import { limitOutcomeSize } from '../output/limit-outcome-size.ts'
import { checkOutput } from '../output/check-output.ts'
import { runAfterHooks } from '../admission/run-hooks.ts'

/** Runs after hooks, validates the output and limits its size. */
export function complete(stage: StageContext, input: ValidatedInput, result: ToSettle): MaybePromise<ToSettle> {
  const { execution, host } = stage
  const hooked = runAfterHooks(stage, input, result)
  const checked =
    hooked instanceof Promise ? hooked.then((outcome) => checkOutput(stage, outcome)) : checkOutput(stage, hooked)
  const { cost } = result.settle
  const finish = (outcome: ToSettle): ToSettle => withCost(limitOutcomeSize(outcome, execution, host), cost)
  return checked instanceof Promise ? checked.then(finish) : finish(checked)
}
