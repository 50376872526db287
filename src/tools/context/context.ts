// What a body sees: the interfaces only. calls/context/context.ts implements them on whatever engine runs the call.

import type { Duration } from '../../core/duration.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { SessionFiles } from '../../core/session-files.ts'
import type { TaskProgress } from '../../core/task-state.ts'
import type { BodySecrets, SessionValues } from '../../core/session-values.ts'
import type { Attachment, Json, Recorded } from '../../core/value.ts'
import type { TaskContext, Tasks } from './tasks.ts'

export interface StepOptions {
  /** Never run it twice, not even if that means not knowing: interrupted, it throws `step_unknown`. Costs one more sync. */
  readonly once?: boolean
  /** Gives up waiting for the function; the step fails with `step_timeout`. */
  readonly timeout?: Duration
  /** How often to try before the step fails, and how long to wait in between (doubling). */
  readonly retry?: { readonly attempts: number; readonly delay?: Duration }
}

/** What a body gets from a step: its value as recorded. A step that returns nothing gives null. */
export type StepValue<T> = [T] extends [void | undefined] ? null : Recorded<T>

export interface Step {
  /** Runs `run` at most once to success for this call; later attempts get the recorded value. */
  <T>(id: string, run: () => T | Promise<T>, options?: StepOptions): Promise<StepValue<T>>
  /** The same, guarded by its input: another input under a recorded id is `replay_mismatch`. */
  <I, T>(
    id: string,
    input: I,
    run: (input: Recorded<I>) => T | Promise<T>,
    options?: StepOptions,
  ): Promise<StepValue<T>>
}

export interface LaterOptions {
  /** Several waits in one call need names; the same name is the same wait and the same key. */
  readonly name?: string
  /** How long to wait; 7 days if not said. */
  readonly deadline?: Duration
  /** When nobody answers in time: a failure of this call (`result`, the default), or of the turn it is in (`fail`). */
  readonly onTimeout?: 'result' | 'fail'
  /** When the call is cancelled while it waits: the tool's `cancel` is called with the key (`cancel`, the default), or is not. */
  readonly onCancel?: 'cancel' | 'ignore'
  /** Given to the runtime's `announce` together with the key, if and only if the call comes to wait for it. */
  readonly announce?: { readonly type: string; readonly payload?: unknown }
}

export interface Question {
  /** What is asked, in plain words. */
  readonly text: string
  /** One of these; without them a text. */
  readonly choices?: readonly string[]
  /** Several of them. */
  readonly several?: boolean
  /** The answer is kept sealed and shown to nobody; only the body gets it. */
  readonly secret?: boolean
  /** What silence means. */
  readonly default?: string | readonly string[]
  /** How long to wait; 5 minutes if not said. */
  readonly deadline?: Duration
  /** Several questions in one call need names; the same name is the same question. */
  readonly name?: string
}

export interface QuestionAnswer {
  readonly status: 'answered' | 'declined' | 'timed_out'
  /** The text, the choice, or the choices; null if there is none. A default stands in for silence. */
  readonly answer: Json
  /** Who answered; null for the clock. */
  readonly by: string | null
}

/** A question that was put to people. */
export interface AskedQuestion {
  /** When it gives up, milliseconds since 1970. */
  readonly deadline: number
  /** Waits here. */
  readonly value: Promise<QuestionAnswer>
  readonly [answers]?: QuestionAnswer
}

export interface Connection {
  readonly provider: string
  readonly token: string
  /** Milliseconds since 1970; null if it was not said. */
  readonly expiresAt: number | null
}

declare const answers: unique symbol

/** Someone outside will answer. Return it to park the call, or `await later.value` to wait inside the body. */
export interface Later<T> {
  /** Secret, single use: whoever holds it can answer, once, with runtime.resolve(key, …). */
  readonly key: string
  /** When the wait gives up, milliseconds since 1970. */
  readonly deadline: number
  /** Waits here. Throws WaitError when the outside fails, cancels or stays silent. Needs `onCrash: 'rerun'`. */
  readonly value: Promise<T>
  readonly [answers]?: T
}

/** What a tool's `cancel` gets: a wait of a call that is cancelled, and what the call was asked to do. */
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
  /** Stores the bytes and gives back the reference that may stand anywhere in a value. */
  create(data: Uint8Array | string, about: { mediaType: string; name?: string }): Attachment
  /** The bytes behind a reference of this tenant. */
  read(attachment: Attachment): Promise<Uint8Array>
}

/** A part of the whole text of a result. Offsets count UTF-8 bytes. */
export interface OutputPage {
  readonly text: string
  /** Where the page begins: the offset asked for, or the start of the character it points into. */
  readonly offset: number
  /** Where to read on; null at the end. */
  readonly nextOffset: number | null
  readonly totalBytes: number
}

export interface Outputs {
  /** Of a settled call of this session, by the handle that a shortened view names. Without a limit: as much as a model reads at once. */
  read(handle: string, where?: { readonly offset?: number; readonly limit?: number }): Promise<OutputPage>
}

/** Extended by the host, it gives `ctx.app` a type: `declare module 'pawl' { interface Register { app: MyApp } }`. */
// oxlint-disable-next-line typescript/no-empty-object-type, typescript/no-empty-interface -- there to be extended
export interface Register {}
/** What `createRuntime({ app })` makes. */
export type App = Register extends { app: infer Made } ? Made : unknown

export interface ToolContext {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
  /** What the host hands to tools: what `createRuntime({ app })` made for this session. Not recorded: every process makes its own. */
  readonly app: App
  /** The frame of the turn that the call belongs to, by name; null outside of turns. */
  readonly frame: string | null
  readonly batch: string
  readonly callId: string
  /** 1 for the first execution of the body; retries and recoveries count on. */
  readonly attempt: number
  /** How often the body may be tried in all, if its failures allow it. */
  readonly maxAttempts: number
  /** What `prepare` handed on; null if there is none. */
  readonly prepared: Json
  /** The same for all attempts and recoveries of this call, and of no other call. */
  readonly idempotencyKey: string
  /** An idempotency key of one step of this call. */
  key(step: string): string
  /** Aborts when the work is no longer wanted: a timeout, a cancel, the runtime closes, or another worker took the call over. */
  readonly signal: AbortSignal
  readonly step: Step
  /** Sleeps until a recorded instant; a restart in between sleeps the rest. Needs `onCrash: 'rerun'`. */
  sleep(duration: Duration): Promise<void>
  /** Makes a wait and records it; see Later. */
  later<T = Json>(options?: LaterOptions): Promise<Later<T>>
  /** Asks a person. Return it to park the call until they answer, or await its value (needs `onCrash: 'rerun'`). */
  ask(question: Question): Promise<AskedQuestion>
  /** What the person, or the tenant, has connected; null if nothing. Never recorded, and never shown. */
  connection(provider: string): Promise<Connection | null>
  /** Wall time, recorded: every replay sees the same instants. */
  now(): Promise<number>
  /** A number in [0, 1) that replays. */
  random(): number
  /** A UUID that replays. Unguessable without the host's key. */
  uuid(): string
  /** Other tools, as one batch: recorded under this call, in this call's place of the queue. */
  run(calls: readonly { id: string; name: string; input?: unknown }[]): Promise<NestedOutcome[]>
  /** One other tool, typed. */
  call<Ask, Output>(tool: NamedTool<Ask, Output>, input: Ask): Promise<NestedOutcome<Output>>
  /** How far it is; reaches those who watch, at most ten times a second, and resets the idle clock. */
  progress(progress: Progress): void
  /** Output as it comes; reaches those who watch, bounded, and resets the idle clock. */
  output(text: string, stream?: string): void
  readonly log: Logger
  readonly attachments: Attachments
  /** The whole of what other calls gave, where the model was shown a part. */
  readonly outputs: Outputs
  /** Files of the session. A body that lost its call to another worker writes nothing. */
  readonly files: SessionFiles
  /** JSON values of the session. What a body writes is written once, however often it runs after a crash; what it reads is what is there now. */
  readonly values: SessionValues
  /** Secrets of the session: never recorded, and never shown. */
  readonly secrets: BodySecrets
  /** What a body that is a task has besides; null for a call that somebody waits for. */
  readonly task: TaskContext | null
  /** Tasks of this session. What a body starts here is the same task however often the body runs. */
  readonly tasks: Tasks
  /** Tells an event to whoever subscribed to it in the tenant. Once, however often the body runs: `key`, or its place in the body, names it. */
  readonly triggers: {
    emit(event: string, payload?: unknown, how?: { readonly key?: string; readonly session?: string }): Promise<void>
  }
  /** Tells an event that the tool declares; in a task only. The same `key` is the same event: another payload under it is emit_conflict. */
  emit(type: string, payload?: unknown, how?: { readonly key?: string }): Promise<void>
  /** Asks a model. Recorded: a body that runs again gets the same answer, and it is paid once. */
  complete(request: string | CompletionRequest): Promise<Completion>
  /** Lets an agent work: a turn in a session of its own, the same one however often the body runs. Needs `onCrash: 'rerun'`. */
  turn(request: AgentTurn): Promise<AgentOutcome>
}

export type Progress = TaskProgress

/** What a body asks a model. */
export interface CompletionRequest {
  readonly prompt: string
  readonly instructions?: string
  /** By its name; that of the turn that the call belongs to if left out, else the only one there is. */
  readonly model?: string
  readonly maxOutputTokens?: number
  readonly temperature?: number
  /** Names it among others of the same body, instead of its place there. */
  readonly name?: string
}

export interface Completion {
  readonly text: string
  readonly usage: {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly cachedTokens: number
    readonly reasoningTokens: number
    /** Null where the price of the model is not known. */
    readonly cost: number | null
  }
}

/** What an agent is given to do, in a session of its own. */
export interface AgentTurn {
  readonly message: string
  readonly model?: string | { readonly name: string }
  /** A frame of the runtime's. */
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

/** What came of it. */
export type AgentOutcome = Outcome<{
  readonly end: string
  readonly text: string
  readonly value: Json
  readonly steps: number
}>

/** What a nested call needs of a tool: its name, and its types. */
export interface NamedTool<Ask, Output> {
  readonly name: string
  readonly types?: { ask: Ask; output: Output }
}

/** How a nested call ended. */
export type NestedOutcome<T = Json> = Outcome<T> & {
  readonly callId: string
  readonly name: string
  readonly attempts: number
}
