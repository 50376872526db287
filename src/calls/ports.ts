// The ports of the call pipeline: the foundation, the settings of calls, and the features above this one that it calls.

import type { NewCall, Execution, StepAttachedWrites } from '../engine/engine.ts'
import type { Json } from '../core/tool-value.ts'
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
  NestedOutcome,
  Outputs,
} from '../tools/context/tool-context.ts'
import type { SessionTasks } from '../tools/context/task-interfaces.ts'
import type { TimeoutTimers } from './attempts/attempt-timeouts.ts'
import type { AppContexts } from './context/app-context.ts'
import type { Hook } from './admission/hook-definition.ts'
import type { AttemptControl } from './scheduling/nested-calls.ts'
import type { Foundation } from '../engine/foundation.ts'
import type { Feed } from '../feed/event-feed.ts'
import type { SessionStorage } from '../storage/session-storage.ts'
import type { PinnedToolsets } from '../tools/pinned-toolsets.ts'
import type { Registry } from '../tools/registry.ts'
import type { Queue } from './scheduling/queue.ts'

/** A connection with a unique mark, which changes when the provider is connected again. */
export interface KnownConnection extends Connection {
  readonly mark: string
}

/** The features above this one that the pipeline calls, as objects or as functions of tasks, schedules and turns. */
export interface CallPorts {
  readonly approvals: {
    /** The connection of the principal, else of the tenant. */
    connection(of: { tenant: string; principal: string | null }, provider: string): Promise<KnownConnection | null>
    /** Decrypts the answer to a secret question. */
    openSecret(wait: string, sealed: string): Json
    /** The remembered approval rules of the session and the tenant. */
    remembered(of: Scope): Promise<readonly RememberedRule[]>
  }
  readonly batches: {
    /** Runs nested calls of a body. */
    runNested(
      parent: Execution,
      calls: readonly { id: string; name: string; input?: unknown }[],
      how: { name: string; control: AttemptControl | null; signal: AbortSignal },
    ): Promise<NestedOutcome[]>
  }
  /** The full outputs of the session's calls. */
  readonly records: { outputs(of: Scope): Outputs }
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
}

/** All dependencies of the call pipeline. */
export interface CallHost
  extends Pick<Foundation, 'clock' | 'logger' | 'observers' | 'redact' | 'knownSecrets' | 'sizes'>, CallPorts {
  readonly registry: Pick<Registry, 'away'>
  /** The toolset of a call is the one that was current when its batch began. */
  readonly toolsets: Pick<PinnedToolsets, 'toolsetFor'>
  readonly queue: Queue
  readonly timeoutTimers: TimeoutTimers
  /** App contexts passed to tools; null if the host has none. */
  readonly apps: AppContexts | null
  readonly hooks: readonly Hook[]
  readonly policies: readonly Policy[]
  /** The budgets of each scope, the widest scope first; may be empty. */
  readonly budgets: readonly Budget[]
  /** After this many worker deaths a call is not run again. */
  readonly poisonAfter: number
  readonly feed: Pick<Feed, 'publish'>
  readonly storage: SessionStorage
}
