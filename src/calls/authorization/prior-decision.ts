// Checks whether people have already ended the call, by a denial or by not deciding in time. Runs before the tool is
// resolved, because such a decision holds even if the tool is gone.

import type { Execution, ToSettle } from '../../engine/engine.ts'
import { approvalEnd } from './approval-request.ts'
import { unresolvedFinding } from './ask-about-unknown-outcome.ts'

/** The end of the call, or null if no decision ended it. */
export const priorDecision = (execution: Execution): ToSettle | null =>
  execution.approvals.any ? (approvalEnd(execution) ?? unresolvedFinding(execution)) : null
