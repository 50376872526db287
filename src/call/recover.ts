// What to do with a call whose worker died over its body (DUR-3): decided from the recorded state and the live definition.

import type { Invocation, ToSettle } from '../engine/engine.ts'
import type { Interruption } from '../journal/call-state.ts'
import { failure, type Outcome, ToolFailure } from '../kernel/outcome.ts'
import type { Json } from '../kernel/value.ts'
import type { Soon } from '../kernel/soon.ts'
import { type OnCrash, onCrashOf } from '../tool/hints.ts'
import type { Finding, Tool } from '../tool/tool.ts'
import { inContext } from './context.ts'
import type { CallHost } from './host.ts'
import { settleThrown } from './settle.ts'

export type Move = 'start' | 'rerun' | 'reconcile' | 'unknown'

/** The table: an interrupted body runs again only if the tool says it may. */
export function moveAfter(interrupted: Interruption | null, onCrash: OnCrash, canReconcile: boolean): Move {
  if (!interrupted) return 'start'
  if (onCrash === 'rerun') return 'rerun'
  return canReconcile ? 'reconcile' : 'unknown'
}

/** Null when the body is to run (first or again); else how the call ends without it. */
export function afterInterruption(invocation: Invocation, tool: Tool, args: Json, host: CallHost): Soon<ToSettle | null> {
  const { interrupted } = invocation
  if (!interrupted) return null
  // The stricter of what the tool was and what it is wins (CALL-7).
  const onCrash = invocation.terms?.onCrash === 'stop' ? 'stop' : onCrashOf(tool)
  switch (moveAfter(interrupted, onCrash, tool.reconcile !== undefined)) {
    case 'start':
    case 'rerun':
      return null
    case 'unknown':
      return { settle: unknownOutcome(interrupted) }
    case 'reconcile':
      return reconcile(invocation, tool, args, host)
  }
}

async function reconcile(invocation: Invocation, tool: Tool, args: Json, host: CallHost): Promise<ToSettle | null> {
  try {
    const look = tool.reconcile as (input: Json, ctx: unknown) => Finding<unknown> | Promise<Finding<unknown>>
    const finding = await inContext(invocation, tool, host, async (ctx) => look(args, ctx))
    if (finding === undefined || finding === null) return { settle: unknownOutcome(invocation.interrupted as Interruption) }
    if ('rerun' in finding) return null
    if ('value' in finding) return { settle: { status: 'success', value: (finding.value ?? null) as Json } }
    return { settle: failure({ class: 'execution', code: 'tool_error', source: 'tool', ...finding.failure }) }
  } catch (error) {
    const settled = settleThrown(error, invocation, host)
    // It could not find out: then nobody knows. Only what it declares with fail() is a finding.
    return { settle: error instanceof ToolFailure ? settled : unknownOutcome(invocation.interrupted as Interruption) }
  }
}

function unknownOutcome({ attempt, startedAt }: Interruption): Outcome {
  const message =
    'The worker stopped while this tool was running, so it is not known whether it took effect. It was not run again. Check before asking for it again.'
  return { status: 'unknown', unknown: { message, startedAt, evidence: { attempt } } }
}
