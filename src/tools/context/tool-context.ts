// The types of `ctx`, which a tool body receives. calls/context/context.ts implements them.

import type { Duration } from '../../core/duration.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { SessionFiles } from '../../core/session-files-interface.ts'
import type { TaskProgress } from '../../core/task-state.ts'
import type { BodySecrets, SessionValues } from '../../core/session-values-interface.ts'
import type { Attachment, Json, Recorded } from '../../core/tool-value.ts'
import type { TaskContext, Tasks } from './task-interfaces.ts'

export interface StepOptions {
  /** Never run the step twice: if it is interrupted, it throws `step_unknown`. Costs one more write. Default: false. */
  readonly once?: boolean
  /** Maximum time of the function; after that the step fails with `step_timeout`. Default: none. */
  readonly timeout?: Duration
  /** Number of attempts before the step fails, and the delay before the second one, which doubles each time. */
  readonly retry?: { readonly attempts: number; readonly delay?: Duration }
}

/** The recorded value of a step; null if its function returns nothing. */
export type StepValue<T> = [T] extends [void | undefined] ? null : Recorded<T>

export interface Step {
  /** Runs `run` to success at most once per call; later attempts get the recorded value. */
  <T>(id: string, run: () => T | Promise<T>, options?: StepOptions): Promise<StepValue<T>>
  /** The same with a checked input: another input under a recorded id throws `replay_mismatch`. */
  <I, T>(
    id: string,
    input: I,
    run: (input: Recorded<I>) => T | Promise<T>,
    options?: StepOptions,
  ): Promise<StepValue<T>>
}

export interface LaterOptions {
  /** Identifies the wait; required if a call has several. The same name gives the same wait and the same key. */
  readonly name?: string
  /** How long to wait. Default: 7 days. */
  readonly deadline?: Duration
  /** On timeout: fail this call (`result`, the default), or fail its turn (`fail`). */
  readonly onTimeout?: 'result' | 'fail'
  /**
   * If the call is cancelled while it waits: call the tool's `cancel` with the key (`cancel`, the default), or do not
   * (`ignore`).
   */
  readonly onCancel?: 'cancel' | 'ignore'
  /** Passed to the runtime's `announce` together with the key, if and only if the call waits for it. */
  readonly announce?: { readonly type: string; readonly payload?: unknown }
}

export interface Question {
  /** The question. */
  readonly text: string
  /** The allowed answers. Default: any text. */
  readonly choices?: readonly string[]
  /** Several choices may be selected. Default: false. */
  readonly several?: boolean
  /** The answer is encrypted at rest and never shown; only the body receives it. Default: false. */
  readonly secret?: boolean
  /** The answer if the deadline passes. */
  readonly default?: string | readonly string[]
  /** How long to wait. Default: 5 minutes. */
  readonly deadline?: Duration
  /** Identifies the question; required if a call asks several. The same name is the same question. */
  readonly name?: string
}

export interface QuestionAnswer {
  readonly status: 'answered' | 'declined' | 'timed_out'
  /** The text, the choice or the choices; null if there is none. After a timeout it is the default. */
  readonly answer: Json
  /** The person who answered; null for a timeout. */
  readonly by: string | null
}

/** An open question to a person. */
export interface AskedQuestion {
  /** When the question times out, milliseconds since 1970. */
  readonly deadline: number
  /** Resolves with the answer. */
  readonly value: Promise<QuestionAnswer>
  readonly [answerType]?: QuestionAnswer
}

export interface Connection {
  readonly provider: string
  readonly token: string
  /** Milliseconds since 1970; null if unknown. */
  readonly expiresAt: number | null
}

declare const answerType: unique symbol

/** A wait for an external result. Return it to park the call, or `await later.value` to wait inside the body. */
export interface Later<T> {
  /** A secret, single-use key. The external service answers with runtime.resolve(key, …). */
  readonly key: string
  /** When the wait times out, milliseconds since 1970. */
  readonly deadline: number
  /** Resolves with the result. Throws WaitError on failure, cancellation or timeout. Requires `onCrash: 'rerun'`. */
  readonly value: Promise<T>
  readonly [answerType]?: T
}

/** The argument of a tool's `cancel`: the open wait of a cancelled call, and the call's input. */
export interface CancelledWait<Input> {
  readonly key: string
  readonly name: string
  readonly input: Input
}

export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

export interface Attachments {
  /** Stores the bytes and returns a reference that may appear anywhere in a value. */
  create(data: Uint8Array | string, about: { mediaType: string; name?: string }): Attachment
  /** Reads the bytes of a reference of this tenant. */
  read(attachment: Attachment): Promise<Uint8Array>
}

/** A page of the full text of a result. Offsets count UTF-8 bytes. */
export interface OutputPage {
  readonly text: string
  /** Start of the page: the requested offset, moved back to the start of a character. */
  readonly offset: number
  /** Offset of the next page; null at the end. */
  readonly nextOffset: number | null
  readonly totalBytes: number
}

export interface Outputs {
  /**
   * Reads the output of a settled call of this session, by the handle in its truncated view. Default limit: one model
   * page.
   */
  read(handle: string, where?: { readonly offset?: number; readonly limit?: number }): Promise<OutputPage>
}

/** Extend it to give `ctx.app` a type: `declare module 'pawl' { interface Register { app: MyApp } }`. */
// oxlint-disable-next-line typescript/no-empty-object-type, typescript/no-empty-interface -- there to be extended
export interface Register {}
/** The type that `createRuntime({ app })` returns for a session. */
export type App = Register extends { app: infer Made } ? Made : unknown

export interface ToolContext {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
  /** The host's object from `createRuntime({ app })` for this session. Not recorded: every process creates its own. */
  readonly app: App
  /** Name of the frame of the turn that the call belongs to; null outside turns. */
  readonly frame: string | null
  readonly batch: string
  readonly callId: string
  /** 1 for the first execution of the body; increases with each retry and recovery. */
  readonly attempt: number
  /** Maximum number of attempts, if the failures are retryable. */
  readonly maxAttempts: number
  /** The payload of `prepare`; null if there is none. */
  readonly prepared: Json
  /** Unique to this call and the same for all its attempts and recoveries. */
  readonly idempotencyKey: string
  /** An idempotency key for one step of this call. */
  key(step: string): string
  /** Aborts on timeout, on cancellation, when the runtime closes, or when another worker takes over the call. */
  readonly signal: AbortSignal
  readonly step: Step
  /** Sleeps until a recorded time; after a restart it sleeps for the remaining time. Requires `onCrash: 'rerun'`. */
  sleep(duration: Duration): Promise<void>
  /** Records a wait for an external result; see Later. */
  later<T = Json>(options?: LaterOptions): Promise<Later<T>>
  /**
   * Asks a person. Return the question to park the call until they answer, or await its value (requires `onCrash:
   * 'rerun'`).
   */
  ask(question: Question): Promise<AskedQuestion>
  /** The connection of the principal or the tenant; null if there is none. Never recorded and never shown. */
  connection(provider: string): Promise<Connection | null>
  /** The recorded wall-clock time: every replay gets the same value. */
  now(): Promise<number>
  /** A random number in [0, 1), the same on every replay. */
  random(): number
  /** A UUID, the same on every replay. It cannot be guessed without the host's key. */
  uuid(): string
  /** Runs other tools as one batch. They are recorded under this call and use its slot. */
  run(calls: readonly { id: string; name: string; input?: unknown }[]): Promise<NestedOutcome[]>
  /** Runs one other tool, with types. */
  call<Ask, Output>(tool: NamedTool<Ask, Output>, input: Ask): Promise<NestedOutcome<Output>>
  /** Reports progress to live subscribers, at most ten times per second, and resets the idle timeout. */
  progress(progress: Progress): void
  /** Streams output to live subscribers, bounded in size, and resets the idle timeout. */
  output(text: string, stream?: string): void
  readonly log: Logger
  readonly attachments: Attachments
  /** The full output of other calls whose view was truncated. */
  readonly outputs: Outputs
  /** Files of the session. A body whose call was taken over by another worker cannot write. */
  readonly files: SessionFiles
  /**
   * JSON values of the session. A write happens once, even if the body runs again after a crash; a read returns the
   * current value.
   */
  readonly values: SessionValues
  /** Secrets of the session; never recorded and never shown. */
  readonly secrets: BodySecrets
  /** The task context; null if the call does not run as a task. */
  readonly task: TaskContext | null
  /** Tasks of this session. A task that the body starts is started once, even if the body runs again. */
  readonly tasks: Tasks
  /**
   * Emits an event to the subscriptions of the tenant. Emitted once, even if the body runs again; identified by `key`
   * or its position.
   */
  readonly triggers: {
    emit(event: string, payload?: unknown, how?: { readonly key?: string; readonly session?: string }): Promise<void>
  }
  /**
   * Emits an event that the tool declares; only in a task. `key` deduplicates; another payload under the same key
   * throws emit_conflict.
   */
  emit(type: string, payload?: unknown, how?: { readonly key?: string }): Promise<void>
  /** Calls a model. The answer is recorded: if the body runs again it gets the same answer and pays once. */
  complete(request: string | CompletionRequest): Promise<Completion>
  /** Runs an agent: a turn in its own session, the same one if the body runs again. Requires `onCrash: 'rerun'`. */
  turn(request: AgentTurn): Promise<AgentOutcome>
}

export type Progress = TaskProgress

/** A model request of a body. */
export interface CompletionRequest {
  readonly prompt: string
  readonly instructions?: string
  /** Model name. Default: the model of the turn that the call belongs to, else the only configured model. */
  readonly model?: string
  readonly maxOutputTokens?: number
  readonly temperature?: number
  /** Identifies the request within the body. Default: its position. */
  readonly name?: string
}

export interface Completion {
  readonly text: string
  readonly usage: {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly cachedTokens: number
    readonly reasoningTokens: number
    /** Null if the price of the model is not known. */
    readonly cost: number | null
  }
}

/** A turn of an agent in its own session. */
export interface AgentTurn {
  readonly message: string
  readonly model?: string | { readonly name: string }
  /** Name of a frame of the runtime. */
  readonly frame?: string
  readonly instructions?: string
  readonly tools?: readonly string[]
  readonly limits?: {
    readonly steps?: number
    readonly time?: Duration
    readonly historyTokens?: number
    readonly cost?: number
  }
}

/** The outcome of an agent's turn. */
export type AgentOutcome = Outcome<{
  readonly end: string
  readonly text: string
  readonly value: Json
  readonly steps: number
}>

/** The part of a tool that a nested call needs: its name and its types. */
export interface NamedTool<Ask, Output> {
  readonly name: string
  readonly types?: { ask: Ask; output: Output }
}

/** The outcome of a nested call. */
export type NestedOutcome<T = Json> = Outcome<T> & {
  readonly callId: string
  readonly name: string
  readonly attempts: number
}
