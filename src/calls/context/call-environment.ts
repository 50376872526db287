// The shared state of the methods of ctx: the running attempt and the rules for using it. Context (context.ts)
// implements it.

import type { Execution } from '../../engine/engine.ts'
import type { Tool } from '../../tools/tool.ts'
import type { UsedConnections } from '../authorization/used-connections.ts'
import type { CallHost } from '../ports.ts'
import type { AttemptControl } from '../scheduling/nested-calls.ts'
import type { Replay } from './replay.ts'

export interface CallEnvironment {
  readonly host: CallHost
  readonly execution: Execution
  readonly tool: Tool
  readonly control: AttemptControl | null
  readonly signal: AbortSignal
  /** The arguments of the body, in recorded form. */
  readonly args: string | null
  /** The attempt is over. */
  readonly ended: boolean
  /** The attempt is over or was aborted. */
  readonly stopRequested: boolean
  /** Calls the listener when the attempt is aborted and when it ends. Returns a function that removes it. */
  onStopRequested(listener: () => void): () => void
  /** Connections and secrets that the body has read. */
  readonly connections: UsedConnections
  /** The same; null if the body has read none. Secrets among them are redacted from recorded values. */
  readonly usedConnections: UsedConnections | null
  /** Set if this attempt repeats recorded steps. */
  readonly replay: Replay | null
  /** Throws if the method is used inside a step or after the attempt ended. */
  assertUsable(what: string): void
  /** Counts one journal entry. Throws journal_full above the limit. */
  countEntry(): void
  /** Throws if the tool must not rerun after a crash. */
  requireRerun(what: string): void
  /** Logs once per tool that its records are never replayed if the tool must not rerun after a crash. */
  warnIfNoRerun(what: string): void
  /** Pauses the clocks of the attempt and releases its slot while it waits. */
  whileWaiting<T>(wait: () => Promise<T>): Promise<T>
  /** If the store or the lease is lost, ends the execution without an outcome: the call is claimed and runs again. */
  endOnLoss<T>(work: () => Promise<T>): Promise<T>
  /** Bytes that are the same on every run of the body and cannot be guessed without the host's key. */
  derive(purpose: string, bytes: number): Buffer
}
