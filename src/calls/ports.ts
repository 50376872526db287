// The ports that the call pipeline needs; the runtime implements them.

import type { NewCall, Execution, StepAttachedWrites } from '../engine/engine.ts'
import type { CallRequest } from '../store/records/call-record.ts'
import type { SessionFiles } from '../core/session-files-interface.ts'
import type { SessionValues } from '../core/session-values-interface.ts'
import type { Redactor } from '../security/redact.ts'
import type { Sizes } from '../core/size-limits.ts'
import type { Json } from '../core/tool-value.ts'
import type { Clock } from '../core/clock.ts'
import type { Observer } from '../core/observer.ts'
import type { Scope } from '../core/scope.ts'
import type { RememberedRule } from '../policy/match-remembered-rules.ts'
import type { Budget } from '../policy/budgets.ts'
import type { Policy } from '../policy/rules.ts'
import type {
  AgentOutcome,
  AgentTurn,
  Completion,
  CompletionRequest,
  Connection,
  Logger,
  NestedOutcome,
  Outputs,
} from '../tools/context/tool-context.ts'
import type { SessionTasks } from '../tools/context/task-interfaces.ts'
import type { Toolset } from '../tools/toolset.ts'
import type { OpenedSecrets } from '../storage/values/secrets.ts'
import type { Writer } from '../storage/values/write-value.ts'
import type { TimeoutTimers } from './attempts/attempt-timeouts.ts'
import type { AppContexts } from './context/app-context.ts'
import type { Hook } from './admission/hook-definition.ts'
import type { AttemptControl } from './scheduling/nested-calls.ts'
import type { Queue } from './scheduling/queue.ts'

/** A connection with a unique mark, which changes when the provider is connected again. */
export interface KnownConnection extends Connection {
  readonly mark: string
}

export interface CallHost {
  /** The toolset of the call: the one that was current when its batch began. */
  toolsOf(request: CallRequest): Toolset
  /** Names of tool providers that cannot be reached at the moment. */
  unreachableSources(): readonly string[]
  readonly clock: Clock
  readonly logger: Logger
  readonly observer: Observer | null
  readonly redact: Redactor
  readonly timeoutTimers: TimeoutTimers
  readonly queue: Queue
  /** App contexts passed to tools; null if the host has none. */
  readonly apps: AppContexts | null
  readonly hooks: readonly Hook[]
  readonly policies: readonly Policy[]
  /** The connection of the principal, else of the tenant. */
  connection(of: { tenant: string; principal: string | null }, provider: string): Promise<KnownConnection | null>
  /** Decrypts the answer to a secret question. */
  openSecret(wait: string, sealed: string): Json
  /** The remembered approval rules of the session and the tenant. */
  remembered(of: Scope): Promise<readonly RememberedRule[]>
  /** The budgets of each scope, the widest scope first; may be empty. */
  readonly budgets: readonly Budget[]
  readonly sizes: Sizes
  /** After this many worker deaths a call is not run again. */
  readonly poisonAfter: number
  /** Runs nested calls of a body. */
  nested(
    parent: Execution,
    calls: readonly { id: string; name: string; input?: unknown }[],
    how: { name: string; control: AttemptControl | null; signal: AbortSignal },
  ): Promise<NestedOutcome[]>
  /** Documents written together with a notice, so that the session is woken soon. */
  readonly wakes: {
    /** How many times in a row a session may be woken; 0 turns waking off. */
    readonly maxConsecutive: number
    rows(of: Scope, what: string): StepAttachedWrites['documents']
  }
  /**
   * The tasks of the session, for `ctx.tasks`. If the execution is a task itself, tasks it starts become its children.
   */
  tasks(of: Execution): SessionTasks
  /** Emits an event of a body to its subscribers. `placed`: the key is the position of the call in the body. */
  trigger(
    of: Execution,
    event: string,
    payload: unknown,
    how: { key: string; session: string | undefined; placed: boolean },
  ): Promise<unknown>
  /** The internal call that ends the child tasks after this task has ended; null if it has no children. */
  endOfTask(
    of: Execution,
  ): Promise<{ readonly call: NewCall; readonly documents: StepAttachedWrites['documents'] } | null>
  /** One completion, and the name of the model that gave it. */
  complete(
    of: Execution,
    request: CompletionRequest,
    signal: AbortSignal,
  ): Promise<Completion & { readonly model: string }>
  /** Usage documents written together with the step: by session, model and tool. */
  usageRows(of: Execution, key: string, model: string, usage: Completion['usage']): StepAttachedWrites['documents']
  /** Runs an agent turn in its own session; resolves when the turn has ended. */
  turn(of: Execution, session: string, request: AgentTurn, signal: AbortSignal): Promise<AgentOutcome>
  /** Files of a session; every write is guarded by `fence`. */
  files(of: Scope, fence: Execution['attached']['fence']): SessionFiles
  /** Values and secrets of a session, for a body. */
  values(of: Scope, writer: Writer): SessionValues
  secrets(of: Scope, writer: Writer): OpenedSecrets
  /** The full outputs of the session's calls. */
  outputs(of: Scope): Outputs
  /** Publishes a live event that is not stored. */
  live(about: Execution, type: 'call.progress' | 'call.output', body: object): void
}
