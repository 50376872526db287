// What every result passes before it is settled, whoever gave it: the body, the outside, prepare or reconcile (CALL-1).

import type { ToSettle } from '../../engine/engine.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { ValidatedInput } from '../admission/validated-input.ts'
import type { Asking } from '../host-callback.ts'
import { withCost } from './call-cost.ts'
import { bounded } from '../output/limit-outcome-size.ts'
import { checkOutput } from '../output/check-output.ts'
import { afterHooks } from '../admission/run-hooks.ts'

/** After hooks, check output, and its size (VAL-8). The engine settles it, once; calls/output/project-outcome.ts shows it to the model; the feed tells. */
export function finish(asking: Asking, accepted: ValidatedInput, given: ToSettle): MaybePromise<ToSettle> {
  const { execution, host } = asking
  const hooked = afterHooks(asking, accepted, given)
  const checked =
    hooked instanceof Promise ? hooked.then((outcome) => checkOutput(asking, outcome)) : checkOutput(asking, hooked)
  const { cost } = given.settle
  const ended = (outcome: ToSettle): ToSettle => withCost(bounded(outcome, execution, host), cost)
  return checked instanceof Promise ? checked.then(ended) : ended(checked)
}
