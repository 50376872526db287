// What a ctx stands in: the call, its tool, its clocks, and what it was told.

import type { Tool } from '../../tools/tool.ts'
import type { Connections } from '../authorization/known-connections.ts'
import type { Pace } from '../scheduling/nested-calls.ts'
import type { Live } from './live-output.ts'
import type { Around as AroundStep } from './run-step.ts'

export interface Around extends AroundStep {
  readonly tool: Tool
  readonly pace: Pace | null
  readonly signal: AbortSignal
  readonly live: Live
  readonly connections: Connections
  /** The arguments it runs with, recorded form. */
  readonly args: string | null
}

/** The rules of ctx, as context-methods.ts keeps them. */
export interface Inside {
  /** Not in a step, and not when the attempt is over. */
  leaf(what: string): void
  /** One more entry of the journal. */
  entry(): void
  needsRerun(what: string): void
  outside<T>(wait: () => Promise<T>): Promise<T>
}
