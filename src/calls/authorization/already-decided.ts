// What people said, or did not say in time, ends a call whatever has become of its tool since: so it is heard before the tool is looked for.

import type { Invocation, ToSettle } from '../../engine/engine.ts'
import { approvalOver } from './approval-request.ts'
import { nobodyCouldTell } from './resolve-unknown.ts'

/** Null: it goes on. */
export const overAlready = (invocation: Invocation): ToSettle | null =>
  invocation.asks.any ? (approvalOver(invocation) ?? nobodyCouldTell(invocation)) : null
