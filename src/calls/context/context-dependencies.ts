// The parts of a running attempt that the methods of ctx need. Implemented by Context (context.ts).

import type { Tool } from '../../tools/tool.ts'
import type { UsedConnections } from '../authorization/used-connections.ts'
import type { AttemptControl } from '../scheduling/nested-calls.ts'
import type { LiveOutput } from './live-output.ts'
import type { StepEnvironment } from './run-step.ts'

export interface CallEnvironment extends StepEnvironment {
  readonly tool: Tool
  readonly control: AttemptControl | null
  readonly signal: AbortSignal
  readonly live: LiveOutput
  readonly connections: UsedConnections
  /** The arguments of the body, in recorded form. */
  readonly args: string | null
}

/** The rules that all methods of ctx share. Implemented in context-methods.ts. */
export interface ContextRules {
  /** Throws if the method is used inside a step or after the attempt ended. */
  assertUsable(what: string): void
  /** Counts one journal entry. Throws journal_full above the limit. */
  countEntry(): void
  /** Throws if the tool must not rerun after a crash. */
  requireRerun(what: string): void
  /** Pauses the clocks of the attempt and releases its slot while it waits. */
  whileWaiting<T>(wait: () => Promise<T>): Promise<T>
}
