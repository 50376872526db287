// The exported form of a session or one call: plain JSON with a version. Read by export-jsonl.ts and export-html.ts.

import type {
  CallDetails,
  FeedEvent,
  InboxItem,
  Schedule,
  StoredMessage,
  Task,
  TaskEventRecord,
  TaskMessage,
} from '../../index.ts'

/** Name and version of the format. The version changes if a field changes its meaning or is removed. */
export const exportFormat = { format: 'pawl-export', version: 1 } as const

/** A request for an export. */
export interface ExportRequest {
  readonly tenant: string
  readonly session: string
  /** The uid of a call: only this call, the calls under it, and their events. Default: the whole session. */
  readonly call?: string
  /** Time of the export, in milliseconds since 1970. Events after it are left out. */
  readonly now: number
  /** Limits, so that it fits in memory. Objects beyond them are left out and counted in `omitted`. */
  readonly limits?: Partial<ExportLimits>
}

/** The most that an export contains: objects of each kind, and characters of JSON in all. */
export interface ExportLimits extends Record<ExportKind, number> {
  readonly characters: number
}

/** A call with what people may see of it: secrets and hidden arguments are replaced. */
export interface ExportedCall extends CallDetails {
  /** Uid of the call or turn that made it; null if there is none, or if it is no longer recorded. */
  readonly parent: string | null
}

/** A task. Its outcome is that of its call. */
export interface ExportedTask extends Omit<Task, 'outcome'> {
  readonly messages: readonly TaskMessage[]
  readonly events: readonly TaskEventRecord[]
}

/** A schedule without the arguments of its tool: some of them may be hidden. */
export type ExportedSchedule = Omit<Schedule, 'input'>

/** An event. The outcome of a settled call is with the call. */
export type ExportedEvent = WithoutOutcome<FeedEvent>
type WithoutOutcome<Event> = Event extends unknown ? Omit<Event, 'outcome'> : never

/** The objects of an export, by kind. */
export interface ExportObjects {
  readonly message: StoredMessage
  readonly call: ExportedCall
  readonly task: ExportedTask
  readonly schedule: ExportedSchedule
  readonly inbox: InboxItem
  readonly event: ExportedEvent
}

export type ExportKind = keyof ExportObjects
export const exportKinds = ['message', 'call', 'task', 'schedule', 'inbox', 'event'] as const satisfies ExportKind[]

/** The subject and the time of an export. */
export interface ExportHeader {
  readonly format: typeof exportFormat.format
  readonly version: typeof exportFormat.version
  readonly tenant: string
  readonly session: string
  /** The uid of the call; null if it is a whole session. */
  readonly call: string | null
  /** In milliseconds since 1970. */
  readonly exportedAt: number
}

/** The last part: an export without it is incomplete. */
export interface ExportEnd {
  /** Objects in the export, by kind. */
  readonly counts: Readonly<Record<ExportKind, number>>
  /** Objects left out because of a limit, by kind. */
  readonly omitted: Readonly<Record<ExportKind, number>>
}

/** A part of an export, in the order: header, objects of each kind, end. */
export type ExportPart =
  | { readonly kind: 'header'; readonly data: ExportHeader }
  | { [K in ExportKind]: { readonly kind: K; readonly data: ExportObjects[K] } }[ExportKind]
  | { readonly kind: 'end'; readonly data: ExportEnd }

/** An export in memory. */
export interface ExportBundle extends ExportHeader {
  /** The conversation; for one call only if it is a turn. */
  readonly messages: readonly StoredMessage[]
  /** Oldest first. */
  readonly calls: readonly ExportedCall[]
  /** Newest first. */
  readonly tasks: readonly ExportedTask[]
  /** Empty for one call. */
  readonly schedules: readonly ExportedSchedule[]
  /** Open requests to people. */
  readonly inbox: readonly InboxItem[]
  /** Oldest first. */
  readonly events: readonly ExportedEvent[]
  /** Objects left out because of a limit, by kind. */
  readonly omitted: ExportEnd['omitted']
}
