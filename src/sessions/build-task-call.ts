// Builds the call record of a task, and describes the body that starts tasks: on whose behalf it acts, and its call.

import { type ArgumentLimits, argumentLimits } from '../calls/admission/read-arguments.ts'
import type { NewCall, Execution } from '../engine/engine.ts'
import type { TaskTerms } from '../store/records/task-terms.ts'
import type { Foundation } from '../engine/foundation.ts'
import type { TaskStarter } from '../tasks/tasks.ts'
import type { Toolset } from '../tools/toolset.ts'
import { type CallAsk, checkCall } from './call-request.ts'
import { buildRequest, inheritedOptions, type Caller } from './build-call-request.ts'

export function buildTaskCall(
  { registry, sizes, seal }: Foundation,
  caller: Caller,
  call: CallAsk,
  { batch, task }: { batch: string; task?: TaskTerms },
): NewCall {
  checkCall(call)
  const entry = registry.toolsetFor(caller.tenant, caller.session).find(call.name)
  const limits: ArgumentLimits = { ...argumentLimits, bytes: sizes.arguments }
  const context = {
    occurrence: 0,
    order: 0,
    line: null,
    stop: false,
    root: undefined,
    above: undefined,
    turn: caller.turn,
  }
  // The host named the tool or allowed the model to name it, so an internal tool is allowed.
  return buildRequest(call, entry, caller, { batch, byHost: true, task, ...context }, limits, () =>
    seal.for(entry?.sensitive === true),
  )
}

/** The caller on whose behalf a body starts tasks. */
export const callerOf = ({ request: { position, principal }, options }: Execution): Caller => ({
  tenant: position.tenant,
  session: position.session,
  principal,
  ...inheritedOptions(options),
  ...(options.turn === undefined ? {} : { turn: options.turn }),
})
const parentOf = ({ task, inTask = task?.id }: Execution['options']): { parent?: string } =>
  inTask === undefined ? {} : { parent: inTask }

export const startedBy = ({ request, options, attached }: Execution, tools: Toolset): TaskStarter => ({
  offers: (name) => (options.within?.includes(name) ?? true) && tools.find(name) !== undefined,
  call: request.uid,
  fence: () => attached.fence(),
  ...parentOf(options),
})
