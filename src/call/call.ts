// CALL: the life of a call on one screen (CALL-1). An engine drives it, and drives it again after a crash: what is recorded is
// not done twice, what is not recorded is done now. Every stage answers with a value; nothing a tool does makes this throw.
//
// Stages that stand in their place but are not built yet are named where they will be.

import type { Drive } from '../engine/engine.ts'
import { attempt } from './attempt.ts'
import type { CallHost } from './host.ts'
import { accept } from './accept.ts'
import { land } from './land.ts'
import { afterInterruption } from './recover.ts'
import { resolveTool } from './resolve.ts'

export const callPipeline =
  (host: CallHost): Drive =>
  async (invocation) => {
    const found = resolveTool(invocation, host) // tool_unavailable
    if ('settle' in found) return found
    const { tool } = found
    // before hooks: allow, deny, replace, answer, abort (CALL-8)
    const accepted = await accept(invocation, tool) // validate; recorded arguments are used as they are
    if ('settle' in accepted) return accepted
    // prepare (CALL-7), policy (POL-1), approval (POL-2)
    // queue: barriers, keys, limits (SCHED-1…3)
    let given
    if (invocation.landed) given = land(invocation.landed)
    else {
      const decided = await afterInterruption(invocation, tool, accepted.args, host) // start | rerun | settled by reconcile | unknown
      given = decided ?? (await attempt(invocation, tool, accepted.args, host)) // retries and timeouts wrap here (TIME-1, TIME-4)
    }
    if ('park' in given) return given
    // after hooks (CALL-8), check output (TOOL-7)
    return given // the engine settles it, once; project.ts shows it to the model; the feed tells
  }
