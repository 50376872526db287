// JOURNAL: what is kept about a call, its steps and its waits, and which moves are legal. Pure: no store, no engine.
//
// The life of a call. It is `received` when it is on record. Once its arguments are accepted it is `queued`; a worker that
// starts the body makes it `running`. A body that returned a later leaves it `parked`: nobody owns it, it costs nothing,
// and its answer makes it `queued` again, this time to land the answer. One that has to ask somebody before its body is parked as well.
// `settled` is the end, written once.
// An attempt whose failure may be tried again makes it `queued` until the next one begins.
// A worker that dies leaves `received`, `queued` or `running` behind; whoever claims the call next reads from the state how
// far it had come.

import type { AskTerms } from './approval-terms.ts'
import type { TaskTerms } from './task-terms.ts'

export type CallState = 'received' | 'queued' | 'running' | 'parked' | 'settled'

/** Which state may follow which. `running` follows itself when a recovery starts the body again. */
export const legalMoves: Readonly<Record<CallState, readonly CallState[]>> = {
  received: ['queued', 'running', 'parked', 'settled'],
  queued: ['running', 'parked', 'settled'],
  running: ['running', 'queued', 'parked', 'settled'],
  parked: ['queued', 'settled'],
  settled: [],
}

/** Guards the table: a move that it does not hold is a defect of ours, and is stopped before it is written. */
export function checkMove(from: CallState, to: CallState): void {
  if (!legalMoves[from].includes(to)) throw new Error(`A call that is ${from} cannot become ${to}.`)
}

/** What records call a tool that there is none of: whichever worker takes the call up can say so. Its name is in the options. */
export const absentTool = 'pawl:absent'

/** CALL-6: a call is its place. `occurrence` tells equal ids of one batch apart. */
export interface CallPosition {
  readonly tenant: string
  readonly session: string
  readonly batch: string
  readonly id: string
  readonly occurrence: number
}

/** What never changes about a call once it is on record. */
export interface CallRequest {
  /** Time-ordered and unique; what rows refer to. The position is what people mean. */
  readonly uid: string
  readonly position: CallPosition
  readonly principal: string | null
  /** What the record calls it, and claims go by: its id, and whose tool it is where that is not the runtime. */
  readonly tool: string
  /** Verbatim, as asked. */
  readonly input: string
  /** Of tool and input: the same call asked again has the same hash. */
  readonly hash: string
  /** CallOptions as JSON; null if nothing was said. */
  readonly options: string | null
  /** The line in which its turn matters: all of it that is open goes to one worker. Null if it stands in none. */
  readonly line: string | null
  readonly createdAt: number
}

/** What came with a call besides its content. Recorded, so that a recovery keeps to it. */
export interface CallOptions {
  /** The model's own argument text, when the input came as text. */
  readonly raw?: string
  /** The input could not be read; this says why. */
  readonly unreadable?: string
  /** The model's id, when the place is named by an idempotency key instead. */
  readonly callId?: string
  /** What the model called the tool, where the record calls it something else. */
  readonly name?: string
  /** Opaque to us; comes back on the outcome. */
  readonly meta?: unknown
  /** Milliseconds per clock. */
  readonly timeout?: {
    readonly attempt?: number
    readonly idle?: number
    readonly total?: number
    readonly queue?: number
  }
  /** An instant after which it is too late. */
  readonly deadline?: number
  /** A failure before it in its batch keeps it from starting. */
  readonly stop?: true
  /** Its place in the order of its batch. */
  readonly order?: number
  /** The batch it was asked in, when the place is named by an idempotency key instead. */
  readonly batch?: string
  /** The turn it belongs to, by the name that the caller gave. */
  readonly turn?: string
  /** The frame that its turn worked in, by name. */
  readonly frame?: string
  /** Which tools its turn has, by name, where that is not all: what tool_search looks through, and what may be meant by a name that nothing goes by. */
  readonly within?: readonly string[]
  /** The outermost call it runs under, whose place in the queue it borrows. */
  readonly root?: string
  /** The host asked for an internal tool. */
  readonly internal?: boolean
  /** No tool went by that name where and when it was asked. */
  readonly absent?: true
  /** The calls between the outermost and this one. */
  readonly above?: readonly string[]
  /** Nobody is there who could approve, connect or answer: what would ask is refused. */
  readonly unattended?: true
  /** The rules of its session, which hold on whatever worker it runs. */
  readonly policy?: unknown
  /** The task that it runs under. */
  readonly inTask?: string
  /** It is a task: nobody waits for it where it was asked for. */
  readonly task?: TaskTerms
  /** The id of the host's secret it began under, where that is not the one the store was made with. */
  readonly secret?: string
}

/** What moves. Written whole by whoever holds the fence. */
export interface CallProgress {
  readonly state: CallState
  /** The arguments as accepted, recorded form; null until then. */
  readonly args: string | null
  /** CallTerms as JSON: what the tool was when the arguments were accepted; null until then. */
  readonly terms: string | null
  /** How many executions of the body have begun. */
  readonly attempt: number
  /** When the last of them began. */
  readonly startedAt: number | null
  /** The wait it is parked on, or whose answer it lands. */
  readonly wait: string | null
  /** The settled outcome, recorded form. */
  readonly outcome: string | null
  readonly settledAt: number | null
  /** How many workers have died over its body since it last got anywhere; counted by whoever claims it (DUR-8). */
  readonly deaths: number
  /** What went wrong inside, for operators alone, sealed; null if nothing did (VAL-4). */
  readonly trouble: string | null
}

export function progressOf(of: CallProgress): CallProgress {
  const { state, args, terms, attempt, startedAt, wait, outcome, settledAt, deaths, trouble } = of
  return { state, args, terms, attempt, startedAt, wait, outcome, settledAt, deaths, trouble }
}

export interface CallRecord extends CallRequest, CallProgress {
  /** Grows with every acquisition: the token that every write of a holder is checked against. */
  readonly fence: number
  /** The worker that holds it; null when nobody does. */
  readonly owner: string | null
}

/** What a recovery must know of the tool as it was. */
export interface CallTerms {
  readonly version?: string
  readonly onCrash: 'rerun' | 'stop'
  /** Which approval's changes are in the arguments: the number of the last one. */
  readonly edited?: number
  /** What its attempts cost before it came to wait. */
  readonly cost?: number
  /** Its prepare has had its say. One that came later has none in this call. */
  readonly prepared?: true
  /** Its arguments may hold what nobody may read: who does not know the tool shows none of them. */
  readonly untold?: true
  /** Where the time went before what runs now; call-times.ts. */
  readonly spent?: {
    readonly queuedMs: number
    readonly runningMs: number
    readonly waitingMs: number
    readonly until: number
    /** How many attempts are in it. */
    readonly attempts?: number
  }
}

/** A step is a leaf of work with a recorded end. `started` is only written when the start itself must be known. */
export interface StepRecord {
  readonly call: string
  readonly key: string
  readonly state: 'started' | 'done' | 'failed'
  /** Recorded form of its declared input; null if it has none. */
  readonly input: string | null
  /** Recorded form of its value, or of its error. */
  readonly value: string | null
  /** The round it ended in: a value holds for the call, an error for its round. Retries begin rounds, recoveries do not. */
  readonly round: number
  readonly at: number
}

export type Resolution =
  | { readonly value: unknown }
  | { readonly failure: { readonly code: string; readonly message: string } }
  /** `at`: when, where it was called off by its own call. */
  | { readonly cancelled: string; readonly at?: number }
  /** `failsTurn`: the wait was opened so that silence ends more than its call. */
  | { readonly timeout: true; readonly failsTurn?: true }

/** What was said of a wait when it was opened. What is the default is left out. */
export interface WaitTerms {
  readonly onTimeout?: 'fail'
  readonly onCancel?: 'ignore'
  /** Told when the call first waits on it; the payload in its recorded form. */
  readonly announce?: { readonly type: string; readonly payload: string }
  /** What it asks of somebody; then no key answers it. */
  readonly asks?: AskTerms
  /** Its tool has an output schema, so that a value which answers a parked call must be checked before it is taken. */
  readonly checked?: true
}

export const waitTermsOf = ({ terms }: Pick<WaitRecord, 'terms'>): WaitTerms =>
  terms === null ? {} : (JSON.parse(terms) as WaitTerms)

export interface WaitRecord {
  readonly id: string
  readonly call: string
  readonly name: string
  /** With the host's secret it makes the key again after a crash. */
  readonly salt: string
  /** The key itself is never stored. */
  readonly keyHash: string
  readonly deadline: number
  readonly createdAt: number
  /** WaitTerms as JSON; null if nothing was said. */
  readonly terms: string | null
  /** Recorded form of the Resolution; null while open. Written once. */
  readonly resolution: string | null
}

/** How far an earlier worker had come with the body, when one died over it. */
export interface Interruption {
  readonly attempt: number
  readonly startedAt: number
}

export function interruptionOf(record: CallProgress): Interruption | null {
  return record.state === 'running' && record.startedAt !== null
    ? { attempt: record.attempt, startedAt: record.startedAt }
    : null
}
