// A task as it goes on record: a call of its own batch, with what makes a task of it.

import { type ArgumentLimits, argumentLimits } from '../calls/admission/read-arguments.ts'
import type { Asked, Execution } from '../engine/engine.ts'
import type { TaskTerms } from '../store/records/task-terms.ts'
import type { Sizes } from '../core/size-limits.ts'
import type { Seal } from '../security/seal.ts'
import type { StartedBy } from '../tasks/tasks.ts'
import type { Toolset } from '../tools/toolset.ts'
import { type CallAsk, checkAsk } from './call-request.ts'
import { askedOf, askingOf, type Place } from './call-record.ts'

export interface TaskAsking {
  readonly sizes: Sizes
  toolsOf(place: Place): Toolset
  sealFor(sensitive: boolean): Seal | null
}

export function askTask(
  host: TaskAsking,
  place: Place,
  call: CallAsk,
  { batch, task }: { batch: string; task?: TaskTerms },
): Asked {
  checkAsk(call)
  const entry = host.toolsOf(place).find(call.name)
  const limits: ArgumentLimits = { ...argumentLimits, bytes: host.sizes.arguments }
  const alone = {
    occurrence: 0,
    order: 0,
    line: null,
    stop: false,
    root: undefined,
    above: undefined,
    turn: place.turn,
  }
  // The host names the tool, or has let the model name it: what may be run in the background is not internal by accident.
  return askedOf(call, entry, place, { batch, byHost: true, task, ...alone }, limits, () =>
    host.sealFor(entry?.sensitive === true),
  )
}

/** On whose behalf a body starts tasks, and what started them. */
export const ownerOf = ({ request: { position, principal }, options }: Execution): Place => ({
  tenant: position.tenant,
  session: position.session,
  principal,
  ...askingOf(options),
  ...(options.turn === undefined ? {} : { turn: options.turn }),
})
const parentOf = ({ task, inTask = task?.id }: Execution['options']): { parent?: string } =>
  inTask === undefined ? {} : { parent: inTask }

export const startedBy = ({ request, options, attached: beside }: Execution, tools: Toolset): StartedBy => ({
  offers: (name) => (options.within?.includes(name) ?? true) && tools.find(name) !== undefined,
  call: request.uid,
  fence: () => beside.fence(),
  ...parentOf(options),
})
