// What people said, or did not say in time, ends a call whatever has become of its tool since: so it is heard before the tool is looked for.

import type { Execution, ToSettle } from '../../engine/engine.ts'
import { approvalOver } from './approval-request.ts'
import { nobodyCouldTell } from './resolve-unknown.ts'

/** Null: it goes on. */
export const overAlready = (execution: Execution): ToSettle | null =>
  execution.asks.any ? (approvalOver(execution) ?? nobodyCouldTell(execution)) : null
