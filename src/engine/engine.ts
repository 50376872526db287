// THE ENGINE SEAM: who remembers and wakes. The pipeline in call/ is written once against this page; the local engine (on
// any store) and Restate implement it. docs/decisions/0002 says why it has this shape.
//
// An execution is one call on its way: it has a place (its position), content (its hash), and a journal of its own. `drive` is the
// pipeline: the engine runs it, and runs it again after a crash, on whatever worker holds the execution then. All that drive
// does to the outside goes through the execution, whose verbs are of one kind: give back what is recorded under the key, or
// do it and record it. Steps are leaves: nothing recorded may be used inside one.
//
// Two rules keep it true on an engine whose journal is ordinal (Restate): the body has a journal of its own, apart from the
// decision about it, because after a crash the decision takes another path; and which verbs are called, in which order, may not
// depend on anything that differs between two executions (`attempt`, `interrupted`) except through that decision.

import type { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import type { AskTerms } from '../store/records/approval-terms.ts'
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
import type { EventBodies, EventType, Told } from '../store/records/event.ts'
import type { CallTimes } from '../store/records/call-times.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { AttachmentRecord, Change, Guard, DocumentName } from '../store/store.ts'

export interface StepSpec {
  /** Its name within the execution. The execution itself is part of the key, so siblings never meet. */
  readonly key: string
  /** Recorded form of the declared input. Another input under a recorded key is replay_mismatch. */
  readonly input: string | null
  /** Make the start durable first; found started and not ended, it throws step_unknown instead of running. */
  readonly once: boolean
}

/** What is on record together with the end of a step, and with nothing else. */
export interface StepBeside {
  readonly documents: NonNullable<Change['documents']>
  readonly tells: readonly Told[]
}

/** How a step ended: recorded form of its value, or of its error. */
export type StepEnd = { readonly done: string; readonly beside?: StepBeside } | { readonly failed: string }

export interface WaitSpec {
  readonly name: string
  readonly deadlineMs: number
  /** Those of the first who opens it hold. */
  readonly terms: WaitTerms
  /** What is kept beside a wait that asks somebody: on record with it, and gone with its answer. */
  readonly item?: Omit<AskItem, 'createdAt' | 'deadline'>
}

export interface Wait {
  readonly id: string
  readonly name: string
  /** The secret that answers it. */
  readonly key: string
  /** An instant. */
  readonly deadline: number
  readonly terms: WaitTerms
}

/** A wait by which the call asked somebody, as far as this execution knows. */
export interface AskedWait {
  readonly id: string
  readonly asks: AskTerms
  readonly createdAt: number
  readonly deadline: number
  readonly resolution: Resolution | null
}

/** What the call has asked of people. Until it first asks, nothing is looked up. */
export interface AsksOfCall {
  /** Whether it has asked for anything, in an earlier execution too. */
  readonly any: boolean
  /** What was asked under this name. */
  found(name: string): AskedWait | null
  /** Nobody's answer is wanted any more: what would have run has changed. False if one came first; then it is found. */
  callOff(name: string, why: string): Promise<boolean>
  /** A person changed the arguments, or there is more to know of it. On record with what is written next. */
  amend(args: string | null, terms: Pick<CallTerms, 'edited' | 'prepared' | 'version' | 'cost'>): void
  /** A fact for the feed, on record with what is written next. */
  tell<T extends EventType>(type: T, body: EventBodies[T]): void
  /** How long people have been deciding about it (TIME-2). */
  readonly decidingMs: number
}

/** Why an execution is no longer wanted here: somebody cancelled the call, or this execution of it no longer counts. */
export type Stop = { readonly cancel: string; readonly by: string | null } | { readonly over: PawlError }

/** No place was free in the whole fleet: nothing was begun. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom'
  /** Where it has to wait. */
  readonly place: string

  constructor(place: string) {
    super(`There is no room under '${place}'`)
    this.place = place
  }
}

/** A place among those that run, counted across all workers (SCHED-2, SCHED-3). One with `lastsMs` is free again after that time. */
export interface FleetPlace {
  readonly name: string
  readonly capacity: number
  readonly lastsMs?: number
}

export interface PlacesOfCall {
  /** Gives them back while the body waits for the outside. Its end gives them back by itself. */
  leave(): void
  /** Takes them again; NoRoom if one is not to be had. */
  take(places: readonly FleetPlace[]): Promise<void>
  /** In line for them, resolves when there may be room, or as soon as the signal says that it is no longer wanted. Throws would_deadlock. */
  awaitRoom(places: readonly FleetPlace[], lacks: NoRoom, signal: AbortSignal): Promise<void>
}

/** A change of what is kept by name that belongs to an execution: it is made with a mark on it, and so once (POL-8). */
export interface CounterUpdate {
  /** Of the mark: a name within the execution. */
  readonly key: string
  /** The widest first: who waits for the same one is written together. */
  readonly names: readonly DocumentName[]
  /** What is kept under each name now (null: nothing), what is to be kept instead (likewise), and the mark. Asked again whenever somebody else was first. */
  count(kept: readonly (string | null)[]): { readonly documents: readonly (string | null)[]; readonly mark: string }
  /** What is kept is sealed at rest, whatever else is. */
  readonly secret?: true
  /** A fact for the feed, where what is kept is changed by it. */
  readonly tells?: Told
}

/** What is kept by name and belongs to an execution: written by its holder alone, together with what happens to the call (TASK-3). */
export interface AttachedWritesPort {
  /** What is kept there now, or is about to be. */
  read(name: DocumentName): Promise<string | null>
  /** On record with what is written next: the outcome at the latest. */
  keep(...rows: NonNullable<Change['documents']>): void
  /** A call that whoever can will run, likewise; one at a time. Where its place is taken, nothing of the write happens. */
  put(asked: Asked): void
  /** A fact for the feed, likewise. */
  tell<T extends EventType>(type: T, body: EventBodies[T]): void
  /** What is kept, put and told from now on belongs to the end: on record with the outcome, or not at all. */
  ends(): void
  /** What must hold for a write of this execution to count; for those who write to the same store themselves. */
  fence(): readonly Guard[]
  /** On record with what is written next: until its body begins again, the call only waits, and who dies does not die of it. */
  rests(): void
  /** Writes now what waits to be written; durable when it resolves. Throws if this execution no longer counts. */
  flush(): Promise<void>
}

export interface Execution {
  readonly request: CallRequest
  /** What came with the call. */
  readonly options: CallOptions
  /** The model's id of it. */
  readonly callId: string
  /** The arguments, once accepted: a later execution uses the recorded ones. */
  readonly args: string | null
  /** What the tool was when they were accepted. */
  readonly terms: CallTerms | null
  /** Set when an earlier worker died after it had begun the body. */
  readonly interrupted: Interruption | null
  /** It was taken from the record, not begun where it was asked for: others may have died over it before. */
  readonly claimed: boolean
  /** How many workers have died over it since it last got anywhere. */
  readonly deaths: number
  /** A wait of it is open, or a sleep not over: then the next worker to die may only have been there. */
  readonly resting: boolean
  /** Set when a parked execution has its answer: drive lands it instead of running the body. */
  readonly landed: Resolution | null
  /** How many executions of the body have begun. */
  readonly attempt: number
  /** How many attempts have ended in a failure that is tried again. */
  readonly retries: number
  /** Set when the execution is no longer wanted; from the beginning, if a cancel is on record. */
  readonly stopped: Stop | null
  /** Hears of it, at once if it has happened. What it gives back stops listening. */
  onStop(listener: (why: Stop) => void): () => void
  /** What this execution builds on was lost, so it no longer counts: it records nothing more, and the call is taken up again. */
  end(over: PawlError): void

  /** Runs what the host does before the body. Of a call that was claimed from another worker it counts as a death until it ends. */
  atRisk<T>(run: () => Promise<T>): Promise<T>
  /** Records the accepted arguments and terms (CallTerms as JSON), once; gives back the recorded arguments, which the body sees. */
  accept(args: string, terms: string): MaybePromise<string>
  /**
   * Records that an execution of the body begins, then runs it, with no gap between the last look at the lease and the first
   * line of the body. With `durable` the record is on disk before the body starts; an engine may always do so. `places` are taken in the
   * same write: if one is not to be had, it throws NoRoom and nothing has begun. Gives what the body gave, or throws what it threw: at once
   * if there was nothing to wait for.
   */
  begin<T>(how: { durable: boolean; places: readonly FleetPlace[] }, body: () => T): T | Promise<Awaited<T>>
  readonly places: PlacesOfCall
  readonly asks: AsksOfCall
  readonly attached: AttachedWritesPort
  /** How a step ended by the record, without running it; null if it did not, or if this engine learns it only by running. */
  recorded(key: string): StepEnd | null
  /** What is recorded under the key, or runs and records. Resolves when the end is durable. */
  run(spec: StepSpec, body: () => Promise<StepEnd>): Promise<StepEnd>
  /**
   * The recorded mark; or counts and records it, all or nothing, against whatever others do at the same moment. Durable when this resolves. Throws
   * store_unavailable, and nothing is counted, if others were always first.
   */
  tally(tally: CounterUpdate): Promise<string>
  /** Opens a wait, or gives back the one of that name. Durable when this resolves: its key may be handed out. */
  wait(spec: WaitSpec): Promise<Wait>
  /** The answer, whenever it comes; the deadline is an answer too. What was to be announced with the wait goes on record first (WAIT-5). */
  answer(wait: Wait, signal: AbortSignal): Promise<Resolution>
  /**
   * For a call that was cancelled: its open waits are answered with the cancellation, unless somebody was first. Gives those that ended so,
   * in an earlier execution too.
   */
  abandon(): Promise<readonly Wait[]>
  /** Waits for something that is on record elsewhere: meanwhile the call may be let go, and taken up again. */
  aside<T>(wait: () => Promise<T>): Promise<T>
  /** Sleeps until an instant recorded at the first call. */
  sleep(key: string, ms: number, signal: AbortSignal): Promise<void>
  /** A recorded instant. */
  now(key: string): Promise<number>
  /** Records that the attempt ended and the next one follows at an instant; resolves then, or as soon as the execution is stopped. */
  again(delayMs: number, code: string): Promise<void>
  /** Waits out what is left of a recorded delay, after a recovery. */
  delayed(): MaybePromise<void>
  /** Keeps what an attempt that was given up returned in the end. */
  late(attempt: number, end: StepEnd): Promise<void>
  /** Keeps what went wrong inside, for operators alone: on record with what is written next, the outcome at the latest (VAL-4). */
  recordDiagnostics(text: string): void
  /** Bytes that every execution of this execution gets again, and nobody can guess: HMAC of the host's secret. */
  derive(purpose: string): Uint8Array
  /** Keeps bytes; durable no later than the next thing recorded. */
  attach(attachment: AttachmentRecord): void
  attachment(id: string): Promise<AttachmentRecord | undefined>
}

/** The pipeline's answer: the outcome to settle with, or the wait to park on. */
export type Driven = ToSettle | { readonly park: Wait }
export type ToSettle = {
  readonly settle: Outcome
  /** The recorded form of it, where it was made already. */
  readonly text?: string
}

export type Drive = (execution: Execution) => Promise<Driven>

export interface Asked {
  readonly position: CallPosition
  readonly principal: string | null
  readonly tool: string
  readonly input: string
  readonly hash: string
  readonly options: CallOptions | null
  readonly line: string | null
  /** Its payloads are sealed at rest (DUR-12). */
  readonly sealed?: boolean
}

export interface Settled {
  readonly request: CallRequest
  readonly attempts: number
  readonly outcome: Outcome
  /** The recorded form of the outcome. */
  readonly text: string
  readonly times: CallTimes
}

export type Started =
  /** On its way, or already there: the same call asked again gets the same answer. */
  | {
      readonly as: 'accepted'
      readonly uid: string
      readonly settled: Promise<Settled>
      /** It waits for the outside, and nobody drives it. */
      readonly parked?: boolean
      /** It had ended before it was asked for. */
      readonly ended?: boolean
    }
  /** Something else is on record at this position. */
  | { readonly as: 'conflict'; readonly recorded: { readonly tool: string; readonly input: string } }

export type ResolveAnswer =
  | { readonly answer: 'accepted' }
  | { readonly answer: 'already_resolved'; readonly terminal: Resolution }
  /** Wrong, foreign, expired and unknown keys look the same. */
  | { readonly answer: 'unknown_or_revoked' }
  /** Nothing was written; the wait is still open. */
  | { readonly answer: 'invalid'; readonly problems: readonly string[] }

export type AlsoWritten = Pick<Change, 'documents' | 'events'> & Partial<Pick<Change, 'guards'>>

/** `there`: a call stands at that place, this one or another. `refused`: a guard of it is not true; nothing was written. */
export type Put = { readonly as: 'put' | 'there'; readonly uid: string } | { readonly as: 'refused' }

export interface Engine {
  /** Starts the call at this position, or joins the one that is there. */
  start(asked: Asked): MaybePromise<Started>
  /** Puts a call on record that whoever has its tool will run, in one write with what else that means. Durable when it resolves. */
  put(asked: Asked, also: (uid: string) => AlsoWritten): Promise<Put>
  /** The call at this place as it is on record. One that is on its way here is put there first. */
  recorded(position: CallPosition): Promise<CallRecord | undefined>
  /** How the call at this place ends, whenever it does; undefined if there is none. */
  settled(position: CallPosition): Promise<Settled | undefined>
  resolve(key: string, resolution: Resolution): Promise<ResolveAnswer>
  /** Answers a wait that asks somebody, in one write with what else it means. False: another answer, or a guard, was first. */
  answer(wait: WaitRecord, call: CallRecord, resolution: Resolution, also: AlsoWritten): Promise<boolean>
  /** A value, or the failure, of a tool that the caller runs: checked like any answer to a parked call. */
  answerClient(wait: WaitRecord, call: CallRecord, resolution: Resolution): Promise<ResolveAnswer>
  /** Asks a call to stop. False if it is settled, or not on record. */
  cancel(uid: string, why: { reason: string; by: string | null }): Promise<boolean>
  /** Takes no more work, lets bodies finish for a while, hands the rest back. */
  close(graceMs: number): Promise<void>
}
