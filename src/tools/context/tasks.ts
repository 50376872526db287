// What code sees of tasks: the interfaces only. background/ implements them for sessions, calls/task-execution/task-context.ts for a body that is one.

import type { Duration } from '../../core/duration.ts'
import type { Outcome } from '../../core/outcome.ts'
import type {
  InputRequest,
  OnEnd,
  TaskArtifact,
  TaskLinks,
  TaskProgress,
  TaskState,
  WakePolicy,
} from '../../core/task-state.ts'
import type { Json } from '../../core/value.ts'

/** A task as it stands. */
export interface Task {
  readonly id: string
  readonly kind: string
  readonly title: string
  /** The tool that it runs. */
  readonly tool: string
  readonly state: TaskState
  /** In words, what it does at the moment. */
  readonly status: string | null
  readonly progress: TaskProgress | null
  /** What it asks of the session; people's questions are in the inbox. */
  readonly inputRequest: InputRequest | null
  readonly artifacts: readonly TaskArtifact[]
  /** One line about how it ended; null until then. */
  readonly summary: string | null
  /** How it ended; null until then. */
  readonly outcome: Outcome | null
  /** Files of the session: what it said, and what came of it. Null where it keeps none. */
  readonly logPath: string | null
  readonly resultPath: string | null
  readonly wake: WakePolicy
  /** The task that started it. */
  readonly parent: string | null
  /** How many times its body was begun. */
  readonly attempt: number
  readonly createdAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly updatedAt: number
  /** Its call, as events name it. */
  readonly call: string
  readonly links: {
    readonly call?: string
    readonly schedule?: string
    readonly trigger?: string
    readonly slot?: number
  } & TaskLinks
}

export interface TaskMessage {
  readonly id: string
  /** `in`: to the task. `out`: of it. */
  readonly direction: 'in' | 'out'
  readonly text: string
  readonly data?: Json
  readonly inReplyTo?: string
  /** It waits for a reply. */
  readonly asks?: true
  readonly at: number
}

/** What a body told with ctx.emit. */
export interface TaskEventRecord {
  /** From 1 on. */
  readonly number: number
  readonly type: string
  readonly payload: Json
  readonly at: number
}

export interface StartTask {
  readonly tool: string | { readonly name: string }
  readonly input?: unknown
  readonly title?: string
  /** The same id is the same task: started twice it is there once. */
  readonly id?: string
  /** What the session is told: its end and what it asks (`on_terminal`, the default), also what it tells (`on_activity`), or only that it is lost (`silent`). */
  readonly wake?: WakePolicy
  /** When the session, or the task that started it, ends: it is cancelled (the default) or goes on. */
  readonly onEnd?: OnEnd
  /** An instant after which it is too late. */
  readonly deadline?: number | Date
  /** A model asks for it: its arguments are checked first, and it is refused (tasks_full) where it would have to wait in line. */
  readonly byModel?: boolean
}

export interface AdoptTask {
  readonly title?: string
  readonly wake?: WakePolicy
  /** A model asks for it: it is refused (tasks_full) where as many tasks as may be are open. */
  readonly byModel?: boolean
}

/** Which call is meant, where several go by one id. */
export interface CallAt {
  readonly batch?: string
  readonly occurrence?: number
}

export interface TaskQuery {
  readonly state?: TaskState | 'open'
  readonly kind?: string
  /** At most this many; 100 if not said, 500 at most. */
  readonly limit?: number
  /** The id of the last task of the page before. */
  readonly after?: string
}

export interface WaitForTask {
  /** Gives up after so long, and tells the task as it stands. */
  readonly timeout?: Duration
  /** `input`: returns as well when it waits for somebody. Default: when it has ended. */
  readonly until?: 'end' | 'input'
}

export type SignalAnswer =
  | { readonly accepted: true; readonly number: number }
  | { readonly accepted: false; readonly why: string }

/** When a scheduled task is due: exactly one of cron and at. */
export interface When {
  readonly cron?: string
  readonly at?: string | number | Date
  readonly timezone?: string
}

/** Work that outlives the call, the turn and the process that began it (TASK-8). */
export interface Tasks {
  /** On record when it resolves; any worker that has the tool runs it. */
  start(task: StartTask): Promise<Task>
  /** Starts it later, or again and again: makes a schedule, and a task of kind `monitor` by which it is seen, and with which it is cancelled. */
  schedule(
    task: StartTask,
    when: When,
  ): Promise<{ readonly schedule: string; readonly nextAt: number | null; readonly task: Task }>
  /**
   * Moves an open call to the background: whoever waits for it gets a handle in place of its result, and how it ends is told as of a task. Null if it has
   * settled. Its tool must support background; its clocks stay those of the call.
   */
  adopt(callId: string, how?: AdoptTask & CallAt): Promise<Task | null>
  get(id: string): Promise<Task | undefined>
  /** How it ended, as a model reads it: without secrets, and shortened where it is long. Null until then. */
  result(id: string): Promise<string | null>
  /** The newest first. */
  list(query?: TaskQuery): Promise<Task[]>
  /** Until it has ended. A body that waits here leaves its place to others. */
  wait(id: string, how?: WaitForTask): Promise<Task>
  /** The n-th signal of a name meets the n-th wait for it; one that comes early is kept. The same `key` is the same signal. */
  signal(id: string, name: string, value?: unknown, how?: { readonly key?: string }): Promise<SignalAnswer>
  /** A message to the task; with `inReplyTo` the answer to what it asked. */
  message(
    id: string,
    text: string,
    how?: { readonly data?: unknown; readonly inReplyTo?: string; readonly key?: string },
  ): Promise<TaskMessage>
  /** What it emitted, oldest first. */
  events(id: string, how?: { readonly after?: number; readonly limit?: number }): Promise<TaskEventRecord[]>
  /** Both ways, oldest first; `last`: only so many of the newest. */
  messages(
    id: string,
    how?: { readonly limit?: number; readonly after?: string; readonly last?: number },
  ): Promise<TaskMessage[]>
  /** Asks it to stop; false if it has ended already. */
  cancel(id: string, reason?: string, by?: string): Promise<boolean>
}

/** The same for the runtime itself, which may stop to wait. */
export interface TasksOfSession extends Omit<Tasks, 'wait' | 'schedule'> {
  /** `place`: where in a body it is; run again, that makes it once. */
  schedule(task: StartTask, when: When, how?: { readonly place?: string }): ReturnType<Tasks['schedule']>
  wait(
    id: string,
    how: WaitForTask & { readonly untilAt?: number; readonly signal?: AbortSignal; readonly waits?: string },
  ): Promise<Task>
}

/** What a body that is a task has besides: `ctx.task`. */
export interface TaskContext {
  readonly id: string
  /** In words, what it does at the moment. */
  status(text: string): void
  /** Something that it made: a file of the session, or a link. On record when it resolves. */
  artifact(artifact: {
    readonly name: string
    readonly type?: string
    readonly path?: string
    readonly url?: string
  }): Promise<void>
  /** What those who do the work call it: a job elsewhere, that whoever looks at the task can find. On record when it resolves. */
  link(remote: string): Promise<void>
  /** Tells the session something. On record when it resolves; the same however often the body runs. */
  message(text: string, data?: unknown): Promise<void>
  /** Asks the session (its code or its model, not a person: that is ctx.ask) and waits for the reply. Needs a body that may rerun. */
  request(
    prompt: string,
    how?: { readonly expected?: Json; readonly deadline?: Duration },
  ): Promise<{ text: string; data?: Json }>
  /** Waits for the next signal of this name. Needs a body that may rerun. */
  signal<T = Json>(name: string, how?: { readonly deadline?: Duration }): Promise<T>
  /** Waits for the next message to the task. Needs a body that may rerun. */
  receive(how?: { readonly deadline?: Duration }): Promise<{ text: string; data?: Json }>
}

/** What a background body tells of its work. The same as on ctx and ctx.task, in one hand. */
export interface TaskSink {
  status(text: string): void
  progress(progress: TaskProgress): void
  output(stream: string, text: string): void
  artifact: TaskContext['artifact']
  message: TaskContext['message']
}
