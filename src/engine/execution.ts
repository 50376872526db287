// One run of a call as a driver sees it: the half of the engine seam (engine.ts) that the pipeline and turns use.
//
// An execution has a position, content (its hash) and a journal of its own. Every external effect of a driver goes
// through the execution, whose methods all work alike: return what is recorded under the key, or do it and record it.
// Steps are leaves: a step must not contain another recorded operation.
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
  CallRequest,
  CallTerms,
  Interruption,
  Resolution,
  WaitTerms,
} from '../store/records/call-record.ts'
import type { EventBodies, EventType, EventDraft } from '../store/records/event.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { AttachmentRecord, Guard, DocumentName, DocumentWrite } from '../store/store.ts'

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
  readonly documents: readonly DocumentWrite[]
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
  amend(args: string | null, terms: Pick<CallTerms, 'edited' | 'prepared' | 'version' | 'schema' | 'cost'>): void
  /** Appends an event to the feed with the next write. */
  appendEvent<T extends EventType>(type: T, body: EventBodies[T]): void
  /** Milliseconds people have spent deciding about this call. */
  readonly decidingMs: number
}

export interface CancelReason {
  readonly reason: string
  readonly by: string | null
  /** The parent's attempt was abandoned, and its next attempt runs the call again. Recorded with the outcome. */
  readonly withParent?: true
}

/** Why an execution must stop: the call was cancelled, or this execution lost its right to record (`over`). */
export type Stop =
  | { readonly cancel: string; readonly by: string | null; readonly withParent?: true }
  | { readonly over: PawlError }

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
  writeDocuments(...rows: readonly DocumentWrite[]): void
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
  /** Increases with each execution of the call. Readers of live events use it to ignore a stale worker. */
  readonly generation: number
  /** True if the call was claimed from a worker that died; false if that worker handed it over. */
  readonly lostWorker: boolean
  /** Worker deaths since the call last made progress, while its code ran. */
  readonly interruptions: number
  /** Those that count against the call: it was the only one that ran, or the only suspect. */
  readonly deaths: number
  /**
   * True while a wait is open or a sleep is not over: a worker that dies then probably did not die because of this
   * call.
   */
  readonly isSuspended: boolean
  /** True if this or an earlier execution of the call opened a wait. */
  readonly hasWaits: boolean
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
   * If the next worker death but one would end the call as poisoned, waits until no other such call runs in this
   * process, so that the next death shows whether this one causes it. Also returns when the execution is stopped.
   */
  awaitTrial(poisonAfter: number): MaybePromise<void>
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
  /** Keys of the recorded steps and sleeps of the body; empty if this engine cannot list them. */
  recordedSteps(): readonly string[]
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
  /**
   * Waits for something recorded elsewhere. The waiting call counts as idle: a closing worker may release it. With
   * `isForTask` it waits for a task: if the worker dies meanwhile, the task is suspected and not this call.
   */
  idleWhile<T>(wait: () => Promise<T>, isForTask?: boolean): Promise<T>
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
