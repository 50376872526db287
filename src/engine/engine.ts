// The engine seam: the interface between the drivers (pipeline, turns, internal work) and what persists and wakes calls.
// The local engine runs on any store; test/restate runs the pipeline on Restate. docs/decisions/0002 and 0008 explain
// the shape.
//
// A second engine must provide:
// - `Execution` (execution.ts): a journal per call with steps, waits, timers, counters and documents. An engine without
//   a document store can run calls, but not tasks, schedules, sessions and turns, which read the store directly.
// - Commits of data that the seam shares with the store port: documents (`DocumentName`, `DocumentWrite`), attachments
//   (`AttachmentRecord`), and conditions on a document's revision or on `fence()` (`Guard`). The engine commits them
//   together with its own write. They are names and values; how they are stored is not part of the seam.
// - One execution of a call at a time. After a crash it runs `drive` again with what is recorded; an execution that
//   lost its call can record nothing more.
// - `start` and `submit`: at most one call per position; a repeated request joins it.
// - Answers to waits by compare-and-set: the first one wins, and the call continues with it on any worker.
// - `open` after all drivers are registered, and only calls of tools that a driver names.

import type { Outcome } from '../core/outcome.ts'
import type { CallPosition, CallRecord, CallRequest, Resolution, WaitRecord } from '../store/records/call-record.ts'
import type { NewEvent } from '../store/records/event.ts'
import type { CallTimes } from '../store/records/call-times.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { DocumentWrite, Guard } from '../store/store.ts'
import type { CancelReason, Drive, Execution, NewCall } from './execution.ts'

export * from './execution.ts'

/** Drives the calls of some tools. The engine calls the optional methods for events outside of an execution. */
export interface Driver {
  /** Drives one call to its end. */
  readonly drive: Drive
  /** Recorded names of the tools that this process can drive now. The engine claims only calls of these tools. */
  tools(): readonly string[]
  /** True for the internal calls that it drives. A driver without it gets the calls that no other one selects. */
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
  onUnheard?(uid: string, why: CancelReason): Promise<void>
}

/** A settled call. */
export interface SettledCall {
  /** The request as recorded. */
  readonly request: CallRequest
  /** How many times the body was started. */
  readonly attempts: number
  /** How it ended. */
  readonly outcome: Outcome
  /** The recorded form of the outcome. */
  readonly text: string
  /** When it started and ended. */
  readonly times: CallTimes
}

/** The answer of Engine.start(). */
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

/** The answer of runtime.resolve() and session.answer(). */
export type ResolveAnswer =
  | { readonly answer: 'accepted' }
  | { readonly answer: 'already_resolved'; readonly terminal: Resolution }
  /** Wrong, foreign, expired and unknown keys get the same answer. */
  | { readonly answer: 'unknown_or_revoked' }
  /** Nothing was written and the wait is still open. */
  | { readonly answer: 'invalid'; readonly problems: readonly string[] }

/** Written in the engine's commit, or not at all. A guard is a fence of an execution or the revision of a document. */
export interface ExtraWrites {
  /** Conditions; if one does not hold, nothing is written. */
  readonly guards?: readonly Guard[]
  /** Documents to write. */
  readonly documents?: readonly DocumentWrite[]
  /** Events to add. */
  readonly events: readonly NewEvent[]
}

/** `there`: a call exists at that position, this one or another. `refused`: a guard failed and nothing was written. */
export type SubmitResult = { readonly as: 'put' | 'there'; readonly uid: string } | { readonly as: 'refused' }

/** Runs units of work and records their results. The local engine runs them on a store. */
export interface Engine {
  /** Adds a driver. All drivers are registered before `open`. */
  register(driver: Driver): void
  /** Starts to claim calls that need a worker. */
  open(): Promise<void>
  /** Recorded names of the tools that this process can drive now. */
  readonly tools: readonly string[]
  /** Whether this worker can run calls of the tool. */
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
  /** Answers a wait by its key. */
  resolve(key: string, resolution: Resolution): Promise<ResolveAnswer>
  /**
   * Answers a wait that people answer, in one commit with the extra writes. False: another answer came first, or a
   * guard failed.
   */
  answer(wait: WaitRecord, call: CallRecord, resolution: Resolution, extra: ExtraWrites): Promise<boolean>
  /** Answers with the result of a tool that the client runs; validated like any answer to a parked call. */
  answerClient(wait: WaitRecord, call: CallRecord, resolution: Resolution): Promise<ResolveAnswer>
  /** Requests cancellation. False if the call is settled or unknown. */
  cancel(uid: string, why: CancelReason): Promise<boolean>
  /** The sessions of the calls that run here now, one for each call. */
  running(): readonly CallPosition[]
  /** Looks for calls to claim, for example after a tool was added. */
  lookForWork(): void
  /** Accepts no more work, waits up to `graceMs` for running bodies, then releases the rest for other workers. */
  close(graceMs: number): Promise<void>
}
