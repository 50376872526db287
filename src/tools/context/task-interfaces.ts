// The public types of tasks. tasks/ implements them for sessions, calls/context/task.ts for task bodies.

import type { Duration } from '../../core/duration.ts'
import type { Outcome } from '../../core/outcome.ts'
import type {
  InputRequest,
  OnEnd,
  TaskArtifact,
  TaskLinks,
  TaskProgress,
  TaskStarters,
  TaskState,
  WakePolicy,
} from '../../core/task-state.ts'
import type { Json } from '../../core/tool-value.ts'

/** The current state of a task. */
export interface Task {
  readonly id: string
  readonly kind: string
  readonly title: string
  /** Name of the tool that the task runs. */
  readonly tool: string
  readonly state: TaskState
  /** A short text about the current activity. */
  readonly status: string | null
  readonly progress: TaskProgress | null
  /** The input the task requests from the session; questions to people are in the inbox. */
  readonly inputRequest: InputRequest | null
  readonly artifacts: readonly TaskArtifact[]
  /** One line about the outcome; null until the task has ended. */
  readonly summary: string | null
  /** Null until the task has ended. */
  readonly outcome: Outcome | null
  /** Session files with the log and the result of the task; null if there are none. */
  readonly logPath: string | null
  readonly resultPath: string | null
  readonly wake: WakePolicy
  /** Id of the task that started it. */
  readonly parent: string | null
  /** Number of times the body was started. */
  readonly attempt: number
  readonly createdAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly updatedAt: number
  /** Id of its call in events. */
  readonly call: string
  /** The `meta` of its call, if it began as one that had some. */
  readonly meta?: Json
  readonly links: TaskStarters & TaskLinks
}

export interface TaskMessage {
  readonly id: string
  /** `in`: to the task. `out`: from the task. */
  readonly direction: 'in' | 'out'
  readonly text: string
  readonly data?: Json
  readonly inReplyTo?: string
  /** The task waits for a reply to this message. */
  readonly asks?: true
  readonly at: number
}

/** An event that a body emitted with ctx.emit. */
export interface TaskEventRecord {
  /** Position, from 1. */
  readonly number: number
  readonly type: string
  readonly payload: Json
  readonly at: number
}

export interface StartTask {
  readonly tool: string | { readonly name: string }
  readonly input?: unknown
  readonly title?: string
  /** Idempotency key: starting the same id twice gives one task. */
  readonly id?: string
  /**
   * When the session is notified: when the task ends or requests input (`on_terminal`, the default), also for its
   * messages and events (`on_activity`), or only if it is lost (`silent`).
   */
  readonly wake?: WakePolicy
  /** When the session or the parent task ends: the task is cancelled (the default) or continues. */
  readonly onEnd?: OnEnd
  /** The task times out if it has not ended by this time. */
  readonly deadline?: number | Date
  /**
   * Set for requests of a model: arguments are validated first, and the task is refused (tasks_full) if it would have
   * to queue.
   */
  readonly byModel?: boolean
}

export interface AdoptTask {
  readonly title?: string
  readonly wake?: WakePolicy
  /** Set for requests of a model: the move is refused (tasks_full) if the maximum number of tasks is open. */
  readonly byModel?: boolean
}

/** Selects one of several calls with the same id. */
export interface CallAt {
  readonly batch?: string
  readonly occurrence?: number
}

export interface TaskQuery {
  readonly state?: TaskState | 'open'
  readonly kind?: string
  /** Maximum number of tasks. Default: 100, at most 500. */
  readonly limit?: number
  /** Id of the last task of the previous page. */
  readonly after?: string
}

export interface WaitForTask {
  /** After this time the current state of the task is returned. Default: none. */
  readonly timeout?: Duration
  /** `input`: also return when the task waits for input. Default: `end`. */
  readonly until?: 'end' | 'input'
}

export type SignalAnswer =
  | { readonly accepted: true; readonly number: number }
  | { readonly accepted: false; readonly why: string }

/** When a scheduled task is due. Set exactly one of `cron` and `at`. */
export interface When {
  readonly cron?: string
  readonly at?: string | number | Date
  readonly timezone?: string
}

/** Tasks: work that outlives the call, the turn and the process that started it. */
export interface Tasks {
  /** Starts a task. It is recorded when the promise resolves; any worker that has the tool runs it. */
  start(task: StartTask): Promise<Task>
  /** Starts a task later or repeatedly: creates a schedule, and a task of kind `monitor` that shows and cancels it. */
  schedule(
    task: StartTask,
    when: When,
  ): Promise<{ readonly schedule: string; readonly nextAt: number | null; readonly task: Task }>
  /**
   * Moves an open call to the background: its caller gets a task handle instead of the result, and the outcome is
   * reported like that of a task. Null if the call has settled. Its tool must support background; the call keeps its
   * timeouts.
   */
  adopt(callId: string, how?: AdoptTask & CallAt): Promise<Task | null>
  get(id: string): Promise<Task | undefined>
  /** The result as a model reads it: redacted and truncated. Null until the task has ended. */
  result(id: string): Promise<string | null>
  /** Newest first. */
  list(query?: TaskQuery): Promise<Task[]>
  /** Waits until the task has ended. A body that waits here releases its slot. */
  wait(id: string, how?: WaitForTask): Promise<Task>
  /**
   * Sends a signal. The n-th signal of a name resolves the n-th wait for it; early signals are stored. `key`
   * deduplicates.
   */
  signal(id: string, name: string, value?: unknown, how?: { readonly key?: string }): Promise<SignalAnswer>
  /** Sends a message to the task; with `inReplyTo` it is the reply to a request. */
  message(
    id: string,
    text: string,
    how?: { readonly data?: unknown; readonly inReplyTo?: string; readonly key?: string },
  ): Promise<TaskMessage>
  /** Emitted events, oldest first. */
  events(id: string, how?: { readonly after?: number; readonly limit?: number }): Promise<TaskEventRecord[]>
  /** Messages in both directions, oldest first; `last`: only this many of the newest. */
  messages(
    id: string,
    how?: { readonly limit?: number; readonly after?: string; readonly last?: number },
  ): Promise<TaskMessage[]>
  /** Cancels the task. Returns false if it has already ended. */
  cancel(id: string, reason?: string, by?: string): Promise<boolean>
}

/** The internal variant: a wait can be aborted, and a schedule can be deduplicated. */
export interface SessionTasks extends Omit<Tasks, 'wait' | 'schedule'> {
  /** `place`: position in the body, so that a body that runs again creates the schedule once. */
  schedule(task: StartTask, when: When, how?: { readonly place?: string }): ReturnType<Tasks['schedule']>
  wait(
    id: string,
    how: WaitForTask & { readonly untilAt?: number; readonly signal?: AbortSignal; readonly waits?: string },
  ): Promise<Task>
}

/** `ctx.task`: available to a body that runs as a task. */
export interface TaskContext {
  readonly id: string
  /** Sets a short text about the current activity. */
  status(text: string): void
  /** Adds an artifact: a session file or a link. Recorded when the promise resolves. */
  artifact(artifact: {
    readonly name: string
    readonly type?: string
    readonly path?: string
    readonly url?: string
  }): Promise<void>
  /** Stores the id or URL of the external job that does the work. Recorded when the promise resolves. */
  link(remote: string): Promise<void>
  /** Sends a message to the session. Recorded when the promise resolves; sent once, even if the body runs again. */
  message(text: string, data?: unknown): Promise<void>
  /**
   * Asks the session (its code or its model; use ctx.ask for a person) and waits for the reply. Requires a rerunnable
   * body.
   */
  request(
    prompt: string,
    how?: { readonly expected?: Json; readonly deadline?: Duration },
  ): Promise<{ text: string; data?: Json }>
  /** Waits for the next signal of this name. Requires a rerunnable body. */
  signal<T = Json>(name: string, how?: { readonly deadline?: Duration }): Promise<T>
  /** Waits for the next message to the task. Requires a rerunnable body. */
  receive(how?: { readonly deadline?: Duration }): Promise<{ text: string; data?: Json }>
}

/** The reporting methods of ctx and ctx.task, collected for background bodies. */
export interface TaskSink {
  status(text: string): void
  progress(progress: TaskProgress): void
  output(stream: string, text: string): void
  artifact: TaskContext['artifact']
  message: TaskContext['message']
}
