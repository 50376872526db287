// What the pipeline needs from the runtime around it.

import type { Asked, Execution, StepBeside } from '../engine/engine.ts'
import type { CallRequest } from '../store/records/call-record.ts'
import type { SessionFiles } from '../core/session-files.ts'
import type { SessionValues } from '../core/session-values.ts'
import type { Redactor } from '../security/redact.ts'
import type { Sizes } from '../core/size-limits.ts'
import type { Json } from '../core/value.ts'
import type { Clock } from '../core/clock.ts'
import type { RememberedRule } from '../policy/match-remembered.ts'
import type { Budget } from '../policy/budgets.ts'
import type { Policy } from '../policy/rules.ts'
import type {
  AgentOutcome,
  AgentTurn,
  Completion,
  CompletionRequest,
  Logger,
  NestedOutcome,
  Outputs,
} from '../tools/context/context.ts'
import type { TasksOfSession } from '../tools/context/tasks.ts'
import type { Toolset } from '../tools/toolset.ts'
import type { OpenedSecrets } from '../storage/values/secrets.ts'
import type { Writer } from '../storage/values/write-value.ts'
import type { TimeoutTimers } from './attempts/timeout-timers.ts'
import type { AppContexts } from './context/app-context.ts'
import type { KnownConnection } from './authorization/known-connections.ts'
import type { Hook } from './admission/hook.ts'
import type { Pace } from './scheduling/nested-calls.ts'
import type { Queue } from './scheduling/queue.ts'

export interface CallHost {
  /** The tools as this call sees them: those that stood when its batch began. */
  toolsOf(request: CallRequest): Toolset
  /** Sources of tools that cannot be reached now. */
  away(): readonly string[]
  readonly clock: Clock
  readonly logger: Logger
  readonly redact: Redactor
  readonly alarms: TimeoutTimers
  readonly queue: Queue
  /** What the host hands to tools; null if nothing. */
  readonly apps: AppContexts | null
  readonly hooks: readonly Hook[]
  readonly policies: readonly Policy[]
  /** The connection of whoever asked, or of their tenant. */
  connection(of: { tenant: string; principal: string | null }, provider: string): Promise<KnownConnection | null>
  /** What a person answered to a secret question. */
  openSecret(wait: string, sealed: string): Json
  /** What people decided for next time too. */
  remembered(of: { tenant: string; session: string }): Promise<readonly RememberedRule[]>
  /** What is held to in each scope, the widest first; none if there are no budgets. */
  readonly budgets: readonly Budget[]
  readonly sizes: Sizes
  /** Over so many workers' deaths a call is not run again. */
  readonly poisonAfter: number
  /** Runs other tools under a call. */
  nested(
    parent: Execution,
    calls: readonly { id: string; name: string; input?: unknown }[],
    how: { name: string; pace: Pace | null; signal: AbortSignal },
  ): Promise<NestedOutcome[]>
  /** What is kept with what a session is to be told, so that it hears of it soon. */
  readonly wakes: {
    /** 0: nothing wakes a session. */
    readonly maxConsecutive: number
    rows(of: { readonly tenant: string; readonly session: string }, what: string): StepBeside['documents']
  }
  /** Tasks of the session, for a body: what it starts belongs to the task that it is, if it is one. */
  tasks(of: Execution): TasksOfSession
  /** Emits an event of a body to those who subscribed to it. `placed`: its key is its place in the body. */
  trigger(
    of: Execution,
    event: string,
    payload: unknown,
    how: { key: string; session: string | undefined; placed: boolean },
  ): Promise<unknown>
  /** The chore that deals with the tasks that this one started, when it has ended; null if there are none. */
  endOfTask(of: Execution): Promise<{ readonly asked: Asked; readonly documents: StepBeside['documents'] } | null>
  /** One answer of a model, and which one gave it. */
  complete(
    of: Execution,
    request: CompletionRequest,
    signal: AbortSignal,
  ): Promise<Completion & { readonly model: string }>
  /** What is kept with the step: on the account of the session, the model and the tool. */
  usageRows(of: Execution, key: string, model: string, usage: Completion['usage']): StepBeside['documents']
  /** A turn in a session of its own, until it is over. */
  turn(of: Execution, session: string, request: AgentTurn, signal: AbortSignal): Promise<AgentOutcome>
  /** Files of a session; every write of them is checked by `fence`. */
  files(of: { tenant: string; session: string }, fence: Execution['attached']['fence']): SessionFiles
  /** Values and secrets of a session, for a body. */
  values(of: { tenant: string; session: string }, writer: Writer): SessionValues
  secrets(of: { tenant: string; session: string }, writer: Writer): OpenedSecrets
  /** What the calls of a session gave, whole. */
  outputs(of: { tenant: string; session: string }): Outputs
  /** Tells watchers something that is not kept. */
  live(about: Execution, type: 'call.progress' | 'call.output', body: object): void
}
