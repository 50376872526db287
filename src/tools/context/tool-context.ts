// The types of `ctx`, which a tool body receives. calls/context/context.ts implements them.

import type { Duration } from '../../core/duration.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { SessionFiles } from '../../core/session-files-interface.ts'
import type { TaskProgress } from '../../core/task-state.ts'
import type { BodySecrets, SessionValues } from '../../core/session-values-interface.ts'
import type { Attachment, Json, Recorded } from '../../core/tool-value.ts'
import type { TaskContext, Tasks } from './task-interfaces.ts'

/** Options of ctx.step(). */
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

/** ctx.step(): runs a function once and records its value; after a crash the recorded value is returned instead. */
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

/** Options of ctx.later(). */
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

/** A question to a person. */
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

/** The answer to a question. */
export interface QuestionAnswer {
  /** Whether it was answered, declined, or nobody answered in time. */
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

/** A connected account, as a tool body gets it. */
export interface Connection {
  /** Name of the provider. */
  readonly provider: string
  /** The secret token. It is redacted wherever it would be shown. */
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
  /** The key of the wait: stop the job that has it. */
  readonly key: string
  /** Name of the wait. */
  readonly name: string
  /** Arguments of the call. */
  readonly input: Input
}

/** Receives log lines. `fields` are structured data. */
export interface Logger {
  /** For developers. */
  debug(message: string, fields?: Record<string, unknown>): void
  /** Normal events worth knowing. */
  info(message: string, fields?: Record<string, unknown>): void
  /** Something an operator should look at. */
  warn(message: string, fields?: Record<string, unknown>): void
  /** Something failed. */
  error(message: string, fields?: Record<string, unknown>): void
}

/** Stores and reads the bytes of attachments. */
export interface Attachments {
  /** Stores the bytes and returns a reference that may appear anywhere in a value. */
  create(data: Uint8Array | string, about: { mediaType: string; name?: string }): Attachment
  /** Reads the bytes of a reference of this tenant. */
  read(attachment: Attachment): Promise<Uint8Array>
}

/** A page of the full text of a result. Offsets count UTF-8 bytes. */
export interface OutputPage {
  /** The text of the page. */
  readonly text: string
  /** Start of the page: the requested offset, moved back to the start of a character. */
  readonly offset: number
  /** Offset of the next page; null at the end. */
  readonly nextOffset: number | null
  /** Size of the whole text. */
  readonly totalBytes: number
}

/** Reads complete results that a model saw shortened. */
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

/** What a tool body gets besides its input: the identity of its call, and everything it can do durably. */
export interface ToolContext {
  /** Tenant of the session. */
  readonly tenant: string
  /** Id of the session. */
  readonly session: string
  /** The person or service the call is made for; null if none was given. */
  readonly principal: string | null
  /** The host's object from `createRuntime({ app })` for this session. Not recorded: every process creates its own. */
  readonly app: App
  /** Name of the frame of the turn that the call belongs to; null outside turns. */
  readonly frame: string | null
  /** The batch of the call; '' if it had no name. */
  readonly batch: string
  /** Position of the call in its batch, from 0. The calls before it may not have run yet when `prepare` runs. */
  readonly batchIndex: number
  /** The model's id of the call. */
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
  /** Runs a function once and records its value: `await ctx.step('charge', () => bank.charge(…))`. */
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
  /**
   * The W3C trace context of this attempt, to send along with requests to other services; null if the call has none.
   */
  readonly traceparent: string | null
  /** Writes to the logger of the runtime, with the ids of the call. */
  readonly log: Logger
  /** Stores and reads files that may be part of values. */
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

/** How far a call or task is. All fields are optional. */
export interface Progress extends TaskProgress {
  /** The result so far, for readers of live events. It is not recorded; one that is too large is left out. */
  readonly preliminary?: Json
}

/** A model request of a body. */
export interface CompletionRequest {
  /** The user message. */
  readonly prompt: string
  /** The system prompt. Default: none. */
  readonly instructions?: string
  /** Model name. Default: the model of the turn that the call belongs to, else the only configured model. */
  readonly model?: string
  /** Maximum length of the answer. Default: that of the model. */
  readonly maxOutputTokens?: number
  /** Randomness of the answer. Default: that of the model. */
  readonly temperature?: number
  /** Identifies the request within the body. Default: its position. */
  readonly name?: string
}

/** The answer of ctx.complete(). */
export interface Completion {
  /** The model's text. */
  readonly text: string
  /** Tokens and cost of the request. */
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
  /** The task, as a user message. */
  readonly message: string
  /** The model, or the name of a model of the runtime. Default: that of the frame. */
  readonly model?: string | { readonly name: string }
  /** Name of a frame of the runtime. */
  readonly frame?: string
  /** The system prompt. Default: that of the frame. */
  readonly instructions?: string
  /** Names of the tools the agent may use. Default: those of the frame, or all. */
  readonly tools?: readonly string[]
  /** Limits of the agent's turn; see TurnLimits. */
  readonly limits?: {
    readonly steps?: number
    readonly time?: Duration
    readonly historyTokens?: number
    readonly cost?: number
  }
}

/** The outcome of an agent's turn. */
export type AgentOutcome = Outcome<{
  /** How the turn ended. */
  readonly end: string
  /** The agent's last text. */
  readonly text: string
  /** The value of `finish`, or null. */
  readonly value: Json
  /** Number of model answers. */
  readonly steps: number
}>

/** The part of a tool that a nested call needs: its name and its types. */
export interface NamedTool<Ask, Output> {
  readonly name: string
  readonly types?: { ask: Ask; output: Output }
}

/** The outcome of a nested call. */
export type NestedOutcome<T = Json> = Outcome<T> & {
  /** Id of the nested call. */
  readonly callId: string
  /** Name of the tool. */
  readonly name: string
  /** How many times its body was started. */
  readonly attempts: number
}
