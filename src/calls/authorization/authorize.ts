// May the body run: what people have said so far about a call that asked before, what is known of an attempt that was interrupted, and the
// policy of this moment, with people where it asks them (POL-2, POL-5, DUR-3).

import type { ToSettle } from '../../engine/engine.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { ValidatedInput } from '../admission/validated-input.ts'
import { noteOfEdit, type Permit } from './approval-request.ts'
import type { Asking } from '../host-callback.ts'
import { connectionHeard } from './connection.ts'
import { foundOut, orAsked } from './resolve-unknown.ts'
import { permit } from './check-policy.ts'

/** `decided`: how the call ends without its body, as far as its interruption goes. At once for one that is new and that nobody has to be asked about. */
export function mayRun(asking: Asking, accepted: ValidatedInput, decided: ToSettle | null): MaybePromise<Permit> {
  // Only what was taken from the record can have been interrupted, or have asked before.
  return decided || asking.execution.claimed ? heardFirst(asking, accepted, decided) : byPolicy(asking, accepted)
}

/** What was told to stop asks for nothing. */
const byPolicy = (asking: Asking, accepted: ValidatedInput): MaybePromise<Permit> =>
  asking.execution.stopped ? { go: accepted } : permit(asking, accepted)

async function heardFirst(asking: Asking, accepted: ValidatedInput, decided: ToSettle | null): Promise<Permit> {
  const connection = await connectionHeard(asking)
  const ended = connection ?? (decided ? await orAsked(asking, accepted, decided) : await foundOut(asking, accepted))
  if (!ended) return byPolicy(asking, accepted)
  return 'park' in ended ? ended : noted(ended, noteOfEdit(asking, accepted))
}

/** With what people did to the call, for the model. */
export const noted = (given: ToSettle, note: string | undefined): ToSettle =>
  note === undefined ? given : { settle: { ...given.settle, note } }
