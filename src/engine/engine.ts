// The engine seam: the interface between the call pipeline (calls/) and what persists and wakes calls. The local engine
// (on any store) and Restate implement it. docs/decisions/0002 explains the shape.
//
// An execution is one run of a call: it has a position, content (its hash) and a journal of its own. `drive` is the
// pipeline. The engine runs it; after a crash, the worker that takes over the lease runs it again. Every external
// effect of drive goes through the execution, whose methods all work alike: return what is recorded under the key, or
// do it and record it. Steps are leaves: a step must not contain another recorded operation.
//
// Two rules keep this correct on an engine whose journal is ordinal (Restate). The body has a journal separate from the
// decision about it, because after a crash the decision takes another path. And which methods are called, in which
// order, may not depend on anything that differs between two executions (`attempt`, `interrupted`) except through that
// decision.

import type { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import type { AskTerms } from '../store/records/approval-wait-terms.ts'
import type { AskItem } from '../store/records/approval-request.ts'
import type {
  CallOptions,
  CallPosition,
  CallRecord,
  CallRequest,
  CallTerms,
  Interruption,
  Resolution,
  WaitRecord,
  WaitTerms,
} from '../store/records/call-record.ts'
import type { EventBodies, EventType, EventDraft } from '../store/records/event.ts'
import type { CallTimes } from '../store/records/call-times.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { AttachmentRecord, Change, Guard, DocumentName } from '../store/store.ts'

export interface StepSpec {
  /** Name of the step within its call. The call is part of the key, so steps of different calls never collide. */
  readonly key: string
  /** Recorded form of the declared input. A different input under a recorded key fails with replay_mismatch. */
  readonly input: string | null
  /**
   * Record the start before running. A step found started but not ended throws step_unknown instead of running again.
   */
  readonly once: boolean
}

/** Documents and events committed with the end of the step, or not at all. */
export interface StepAttachedWrites {
  readonly documents: NonNullable<Change['documents']>
  readonly events: readonly EventDraft[]
}

/** End of a step: the recorded form of its value, or of its error. */
export type StepEnd = { readonly done: string; readonly attached?: StepAttachedWrites } | { readonly failed: string }

export interface WaitSpec {
  readonly name: string
  readonly deadlineMs: number
  /** Recorded when the wait is first opened. Terms passed later for the same name are ignored. */
  readonly terms: WaitTerms
  /** Inbox item of a wait that people answer: written with the wait, deleted with its answer. */
  readonly item?: Omit<AskItem, 'createdAt' | 'deadline'>
}

export interface Wait {
  readonly id: string
  readonly name: string
  /** Secret with which an external caller answers the wait. */
  readonly key: string
  /** Milliseconds since 1970. */
  readonly deadline: number
  readonly terms: WaitTerms
}

/** A wait that people answer (approval, question, connection …), in the state this execution last saw. */
export interface ApprovalWait {
  readonly id: string
  readonly asks: AskTerms
  readonly createdAt: number
  readonly deadline: number
  readonly resolution: Resolution | null
}

/** The waits of this call that people answer. Nothing is read from the store until the call opens one. */
export interface ApprovalWaitsPort {
  /** True if this or an earlier execution of the call opened one. */
  readonly any: boolean
  find(name: string): ApprovalWait | null
  /**
   * Closes an open wait whose question no longer applies because the planned call has changed. False if an answer came
   * first; `find` then returns it.
   */
  withdraw(name: string, why: string): Promise<boolean>
  /** Changes the recorded arguments or terms (a person edited them, or more is known). Written with the next write. */
  amend(args: string | null, terms: Pick<CallTerms, 'edited' | 'prepared' | 'version' | 'cost'>): void
  /** Appends an event to the feed with the next write. */
  appendEvent<T extends EventType>(type: T, body: EventBodies[T]): void
  /** Milliseconds people have spent deciding about this call. */
  readonly decidingMs: number
}

/** Why an execution must stop: the call was cancelled, or this execution lost its right to record (`over`). */
export type Stop = { readonly cancel: string; readonly by: string | null } | { readonly over: PawlError }

/** A semaphore of the fleet had no free slot; the attempt was not started. */
export class NoSlotFree extends Error {
  override readonly name = 'NoSlotFree'
  /** Name of the full semaphore. */
  readonly semaphore: string

  constructor(semaphore: string) {
    super(`Semaphore '${semaphore}' has no free slot`)
    this.semaphore = semaphore
  }
}

/**
 * One slot of a semaphore that is counted across all workers. With `lastsMs` the slot frees itself after that time
 * (rates).
 */
export interface SlotRequest {
  readonly name: string
  readonly capacity: number
  readonly lastsMs?: number
}

export interface SemaphoresPort {
  /** Releases the slots while the body waits for something external. The end of the body releases them anyway. */
  release(): void
  /** Takes slots again; throws NoSlotFree if one is missing. */
  acquire(slots: readonly SlotRequest[]): Promise<void>
  /**
   * Queues for the full semaphore. Resolves when a slot may be free or when the signal aborts. Throws would_deadlock.
   */
  awaitSlot(slots: readonly SlotRequest[], full: NoSlotFree, signal: AbortSignal): Promise<void>
}

/**
 * A compare-and-set of documents on behalf of an execution. It is committed with a mark (a step), so that it happens
 * once per call even after a crash.
 */
export interface CounterUpdate {
  /** Step key of the mark, unique within the execution. */
  readonly key: string
  /** Widest scope first: updates with the same first name are committed together. */
  readonly names: readonly DocumentName[]
  /**
   * Computes the new values from the current ones (null: no document) and the mark to record. Called again whenever
   * another writer committed first.
   */
  count(current: readonly (string | null)[]): { readonly documents: readonly (string | null)[]; readonly mark: string }
  /** Always encrypt the documents at rest. */
  readonly secret?: true
  /** Event to append if the update changes a document. */
  readonly event?: EventDraft
}

/** Documents, events and calls written together with the next write of the execution, guarded by its fence. */
export interface AttachedWritesPort {
  /** The current value, including a write of this execution that is still pending. */
  read(name: DocumentName): Promise<string | null>
  /** Queues documents for the next write, which is at the latest the write of the outcome. */
  writeDocuments(...rows: NonNullable<Change['documents']>): void
  /**
   * Queues a new call for any worker that has its tool; one per write. If its position is taken, the whole write is
   * rejected.
   */
  submit(newCall: NewCall): void
  /** Queues an event for the next write. */
  appendEvent<T extends EventType>(type: T, body: EventBodies[T]): void
  /** From now on documents, calls and events wait for the outcome: they are written with it, or not at all. */
  deferToOutcome(): void
  /** Guards that make a write conditional on this execution's lease, for code that commits to the same store itself. */
  fence(): readonly Guard[]
  /**
   * From the next write until the body starts again, a worker death is not counted against the call, because it only
   * waits.
   */
  exemptNextDeath(): void
  /** Writes everything queued. Durable when it resolves. Throws if this execution no longer holds the call. */
  flush(): Promise<void>
}

export interface Execution {
  readonly request: CallRequest
  /** Options given with the call. */
  readonly options: CallOptions
  /** The id the model gave the call. */
  readonly callId: string
  /** The validated arguments, once recorded; later executions use the recorded ones. */
  readonly args: string | null
  /** The tool's terms at the time the arguments were recorded. */
  readonly terms: CallTerms | null
  /** Set when an earlier worker died after it had started the body. */
  readonly interrupted: Interruption | null
  /** True if the call was claimed from the store rather than started here: earlier workers may have died on it. */
  readonly claimed: boolean
  /** Worker deaths since the call last made progress. */
  readonly deaths: number
  /**
   * True while a wait is open or a sleep is not over: a worker that dies then probably did not die because of this
   * call.
   */
  readonly isSuspended: boolean
  /** The answer of a parked call: drive finishes with it instead of running the body. */
  readonly landed: Resolution | null
  /** Number of times the body has been started. */
  readonly attempt: number
  /** Number of attempts that ended in a failure that is retried. */
  readonly retries: number
  /** Set when the execution must stop. Already set at the start if a cancel is recorded. */
  readonly stopped: Stop | null
  /**
   * Calls the listener when the execution is stopped, immediately if it already is. Returns a function that
   * unsubscribes.
   */
  onStop(listener: (why: Stop) => void): () => void
  /**
   * Ends this execution because something it depends on was lost. It records nothing more, and the call is claimed
   * again.
   */
  end(over: PawlError): void

  /**
   * Runs host code (hooks, policy) before the body. For a claimed call a worker death during it counts against the
   * call.
   */
  runAtRisk<T>(run: () => Promise<T>): Promise<T>
  /**
   * Records the validated arguments and terms (CallTerms as JSON) once. Returns the recorded arguments, which the body
   * sees.
   */
  accept(args: string, terms: string): MaybePromise<string>
  /**
   * Records the start of an attempt, then runs the body. There is no await between the last lease check and the first
   * line of the body. With `durable` the record is on disk before the body starts; an engine may always do so. The
   * slots are taken in the same write: if one is missing, begin throws NoSlotFree and the attempt is not started.
   * Returns or throws what the body does, synchronously if there was nothing to wait for.
   */
  begin<T>(how: { durable: boolean; slots: readonly SlotRequest[] }, body: () => T): T | Promise<Awaited<T>>
  readonly semaphores: SemaphoresPort
  readonly approvals: ApprovalWaitsPort
  readonly attached: AttachedWritesPort
  /**
   * The recorded end of a step, without running it. Null if there is none, or if this engine can find it only by
   * running the step.
   */
  recordedStep(key: string): StepEnd | null
  /** Returns the recorded end of the step, or runs the body and records its end. Resolves when the end is durable. */
  runStep(spec: StepSpec, body: () => Promise<StepEnd>): Promise<StepEnd>
  /**
   * Returns the recorded mark, or commits the update together with its mark. Durable when this resolves. Throws
   * store_unavailable, with nothing written, if other writers committed first on every attempt.
   */
  updateCounters(update: CounterUpdate): Promise<string>
  /** Opens a wait, or returns the one with that name. Durable when this resolves, so its key may be handed out. */
  openWait(spec: WaitSpec): Promise<Wait>
  /** Waits for the answer; an expired deadline is an answer too. A due announcement is recorded first. */
  awaitAnswer(wait: Wait, signal: AbortSignal): Promise<Resolution>
  /**
   * For a cancelled call: answers its open waits with the cancellation unless another answer came first. Returns all
   * waits that ended this way, in earlier executions too.
   */
  cancelWaits(): Promise<readonly Wait[]>
  /** Waits for something recorded elsewhere. The waiting call counts as idle: a closing worker may release it. */
  idleWhile<T>(wait: () => Promise<T>): Promise<T>
  /** Sleeps until an instant that the first call recorded. */
  sleep(key: string, ms: number, signal: AbortSignal): Promise<void>
  /** The current time, recorded by the first call. */
  now(key: string): Promise<number>
  /**
   * Records the end of the attempt and when the next one starts. Resolves at that time or when the execution is
   * stopped.
   */
  scheduleRetry(delayMs: number, code: string): Promise<void>
  /** After a recovery: waits for the rest of a recorded retry delay. */
  awaitRetryDelay(): MaybePromise<void>
  /** Records what an abandoned attempt returned in the end. */
  recordLateEnd(attempt: number, end: StepEnd): Promise<void>
  /**
   * Sets internal error details, readable by operators only. Recorded with the next write, at the latest with the
   * outcome.
   */
  recordDiagnostics(text: string): void
  /** Secret bytes that are the same in every execution of this call: an HMAC with the host's secret. */
  derive(purpose: string): Uint8Array
  /** Stores an attachment, durable no later than the next write. */
  attach(attachment: AttachmentRecord): void
  attachment(id: string): Promise<AttachmentRecord | undefined>
}

/** Result of drive: the outcome to settle with, or the wait to park on. */
export type Driven = ToSettle | { readonly park: Wait }
export type ToSettle = {
  readonly settle: Outcome
  /** The recorded form of the outcome, if it is already encoded. */
  readonly text?: string
}

export type Drive = (execution: Execution) => Promise<Driven>

/** Drives calls of some tools. Everything but `drive` and `tools` is what the engine asks of it meanwhile. */
export interface Driver {
  readonly drive: Drive
  /** Recorded names of the tools that this process can drive now. The engine claims only calls of these tools. */
  tools(): readonly string[]
  /** Selects the calls it drives. The driver without it gets the calls that no other driver selects. */
  selects?(execution: Execution): boolean
  /**
   * Returns the problems of a value that would become the outcome of a parked call; an empty list accepts it.
   * `required`: the value must not be accepted if the tool is unavailable for the check.
   */
  validateAnswer?(call: CallRecord, value: unknown, required: boolean): MaybePromise<readonly string[]>
  /** Called before claimed calls continue, so that their batch order can be restored. */
  onReturning?(records: readonly CallRecord[]): void
  /** Called when this worker will not resume a call that it lost in a store outage. */
  onGone?(position: CallPosition): void
  /** Called for a cancelled call that is not running here: it may be one that no worker can run. */
  onUnheard?(uid: string, why: { readonly reason: string; readonly by: string | null }): Promise<void>
}

export interface NewCall {
  readonly position: CallPosition
  readonly principal: string | null
  readonly tool: string
  readonly input: string
  readonly hash: string
  readonly options: CallOptions | null
  readonly line: string | null
  /** Encrypt its payloads at rest. */
  readonly sealed?: boolean
}

export interface SettledCall {
  readonly request: CallRequest
  readonly attempts: number
  readonly outcome: Outcome
  /** The recorded form of the outcome. */
  readonly text: string
  readonly times: CallTimes
}

export type StartResult =
  /** The call was started now or already existed: a repeated request joins the same call. */
  | {
      readonly as: 'accepted'
      readonly uid: string
      readonly settled: Promise<SettledCall>
      /** The call waits for an external answer; no worker runs it. */
      readonly parked?: boolean
      /** The call had already settled when it was requested. */
      readonly ended?: boolean
    }
  /** Another call is recorded at this position. */
  | { readonly as: 'conflict'; readonly recorded: { readonly tool: string; readonly input: string } }

export type ResolveAnswer =
  | { readonly answer: 'accepted' }
  | { readonly answer: 'already_resolved'; readonly terminal: Resolution }
  /** Wrong, foreign, expired and unknown keys get the same answer. */
  | { readonly answer: 'unknown_or_revoked' }
  /** Nothing was written and the wait is still open. */
  | { readonly answer: 'invalid'; readonly problems: readonly string[] }

export type ExtraWrites = Pick<Change, 'documents' | 'events'> & Partial<Pick<Change, 'guards'>>

/** `there`: a call exists at that position, this one or another. `refused`: a guard failed and nothing was written. */
export type SubmitResult = { readonly as: 'put' | 'there'; readonly uid: string } | { readonly as: 'refused' }

export interface Engine {
  /** Adds a driver. All drivers are registered before `open`. */
  register(driver: Driver): void
  /** Starts to claim calls: what drivers could not drive when a worker died, and everything submitted since. */
  open(): Promise<void>
  /** Recorded names of the tools that this process can drive now. */
  readonly tools: readonly string[]
  canDrive(tool: string): boolean
  /** True if no other worker is known, so limits that apply across workers need not be counted in the store. */
  isAlone(): boolean
  /** Starts the call at this position, or joins the existing one. */
  start(newCall: NewCall): MaybePromise<StartResult>
  /** Records a call for any worker that has its tool, in one commit with the extra writes. Durable when it resolves. */
  submit(newCall: NewCall, extra: (uid: string) => ExtraWrites): Promise<SubmitResult>
  /** The call recorded at this position. A call that is running here is written first. */
  recorded(position: CallPosition): Promise<CallRecord | undefined>
  /** Waits for the end of the call at this position; undefined if there is no call. */
  settled(position: CallPosition): Promise<SettledCall | undefined>
  resolve(key: string, resolution: Resolution): Promise<ResolveAnswer>
  /**
   * Answers a wait that people answer, in one commit with the extra writes. False: another answer came first, or a
   * guard failed.
   */
  answer(wait: WaitRecord, call: CallRecord, resolution: Resolution, extra: ExtraWrites): Promise<boolean>
  /** Answers with the result of a tool that the client runs; validated like any answer to a parked call. */
  answerClient(wait: WaitRecord, call: CallRecord, resolution: Resolution): Promise<ResolveAnswer>
  /** Requests cancellation. False if the call is settled or unknown. */
  cancel(uid: string, why: { reason: string; by: string | null }): Promise<boolean>
  /** Accepts no more work, waits up to `graceMs` for running bodies, then releases the rest for other workers. */
  close(graceMs: number): Promise<void>
}
