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
  /** The given or generated id. */
  readonly id: string
  /** What started it: 'background_tool', 'scheduled', 'triggered' or 'monitor' (of a schedule). */
  readonly kind: string
  /** Title for people. */
  readonly title: string
  /** Name of the tool that the task runs. */
  readonly tool: string
  /** Where it is. */
  readonly state: TaskState
  /** A short text about the current activity. */
  readonly status: string | null
  /** The last progress it reported; null if none. */
  readonly progress: TaskProgress | null
  /** The input the task requests from the session; questions to people are in the inbox. */
  readonly inputRequest: InputRequest | null
  /** Files and links it produced so far. */
  readonly artifacts: readonly TaskArtifact[]
  /** One line about the outcome; null until the task has ended. */
  readonly summary: string | null
  /** Null until the task has ended. */
  readonly outcome: Outcome | null
  /** Session files with the log and the result of the task; null if there are none. */
  readonly logPath: string | null
  /** Path of its result in the files of the session; null if it has no files. */
  readonly resultPath: string | null
  /** When the session is notified. */
  readonly wake: WakePolicy
  /** Id of the task that started it. */
  readonly parent: string | null
  /** Number of times the body was started. */
  readonly attempt: number
  /** In milliseconds since 1970. */
  readonly createdAt: number
  /** Start of the last attempt, in milliseconds since 1970; null if it has not started. */
  readonly startedAt: number | null
  /** In milliseconds since 1970; null while it is open. */
  readonly finishedAt: number | null
  /** When anything last changed, in milliseconds since 1970. */
  readonly updatedAt: number
  /** Id of its call in events. */
  readonly call: string
  /** The `meta` of its call, if it began as one that had some. */
  readonly meta?: Json
  /** What it was started by and what it works with elsewhere. */
  readonly links: TaskStarters & TaskLinks
}

/** A message to or from a task. */
export interface TaskMessage {
  /** Identifies the message; `inReplyTo` refers to it. */
  readonly id: string
  /** `in`: to the task. `out`: from the task. */
  readonly direction: 'in' | 'out'
  /** The text. */
  readonly text: string
  /** Structured data, if any. */
  readonly data?: Json
  /** Id of the request it answers. */
  readonly inReplyTo?: string
  /** The task waits for a reply to this message. */
  readonly asks?: true
  /** When, in milliseconds since 1970. */
  readonly at: number
}

/** An event that a body emitted with ctx.emit. */
export interface TaskEventRecord {
  /** Position, from 1. */
  readonly number: number
  /** The declared type. */
  readonly type: string
  /** The payload. */
  readonly payload: Json
  /** When, in milliseconds since 1970. */
  readonly at: number
}

/** A task to start. */
export interface StartTask {
  /** The tool or its name. It must have `background`. */
  readonly tool: string | { readonly name: string }
  /** Arguments of the tool. Default: {}. */
  readonly input?: unknown
  /** Title for people. Default: that of the tool. */
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

/** Options of tasks.adopt(), which moves a running call to the background. */
export interface AdoptTask {
  /** Title for people. Default: that of the tool. */
  readonly title?: string
  /** When the session is notified. Default: 'on_terminal'. */
  readonly wake?: WakePolicy
  /** Set for requests of a model: the move is refused (tasks_full) if the maximum number of tasks is open. */
  readonly byModel?: boolean
}

/** Selects one of several calls with the same id. */
export interface CallAt {
  /** The batch of the call. Default: ''. */
  readonly batch?: string
  /** Which of several calls with the same id, counted from 0. Default: 0. */
  readonly occurrence?: number
}

/** Which tasks tasks.list() returns. Default: the newest 100. */
export interface TaskQuery {
  /** Only tasks in this state; `open`: those that have not ended. */
  readonly state?: TaskState | 'open'
  /** Only tasks of this kind. */
  readonly kind?: string
  /** Maximum number of tasks. Default: 100, at most 500. */
  readonly limit?: number
  /** Id of the last task of the previous page. */
  readonly after?: string
}

/** Options of tasks.wait(). */
export interface WaitForTask {
  /** After this time the current state of the task is returned. Default: none. */
  readonly timeout?: Duration
  /** `input`: also return when the task waits for input. Default: `end`. */
  readonly until?: 'end' | 'input'
}

/** The answer of tasks.signal(). */
export type SignalAnswer =
  | { readonly accepted: true; readonly number: number }
  | { readonly accepted: false; readonly why: string }

/** When a scheduled task is due. Set exactly one of `cron` and `at`. */
export interface When {
  /** Five cron fields, for repeated runs. */
  readonly cron?: string
  /** Time of a single run: milliseconds since 1970, a Date, or an RFC 3339 text. */
  readonly at?: string | number | Date
  /** IANA time zone of the cron expression. Default: 'UTC'. */
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
  /** The task with this id; undefined if there is none. */
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
  /** Id of the task. */
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
  /** Sets the status text. */
  status(text: string): void
  /** Reports progress. */
  progress(progress: TaskProgress): void
  /** Appends to the log of the task. */
  output(stream: string, text: string): void
  /** Adds a file or link. */
  artifact: TaskContext['artifact']
  /** Sends a message to the session. */
  message: TaskContext['message']
}
