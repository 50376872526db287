// The event types of the feed. An event is small: which call, what, when. Payloads (arguments, values, outcomes) are
// stored once, in the state rows; the feed reads the outcome of a settled call from its row when it delivers the
// event. Event types and body fields are persisted; test/project/public-surface.test.ts pins them.

import type { Scope } from '../../core/scope.ts'
import type { OutcomeStatus } from '../../core/outcome.ts'
import type { Role } from './access-token.ts'
import type { AskKind } from './approval-wait-terms.ts'

export interface EventBodies {
  /** The call is recorded. */
  'call.received': { readonly tool: string }
  /** The body of its tool starts, for this attempt. */
  'call.started': { readonly attempt: number }
  /** The attempt failed with `code`; the next one starts at `until`. */
  'call.queued': { readonly attempt: number; readonly until: number; readonly code: string }
  /** Its cancellation was requested; it ends within its grace period. */
  'call.cancelling': { readonly reason: string; readonly by: string | null }
  /** A body that had been given up returned after all. The outcome stays as it was recorded. */
  'call.late': { readonly attempt: number; readonly status: 'success' | 'failure' }
  /** It waits for an answer and needs no worker until then. */
  'call.parked': { readonly wait: string; readonly deadline: number }
  /** It has ended; readers get the outcome with the event. */
  'call.settled': { readonly status: OutcomeStatus; readonly attempts: number }
  /** A step that must not run twice has started. */
  'step.started': { readonly step: string }
  /** A step succeeded; its value is recorded. */
  'step.done': { readonly step: string }
  /** A step failed in this attempt. */
  'step.failed': { readonly step: string }
  /** A call waits for an answer; `asks` is set if a person or the client has to give it. */
  'wait.opened': { readonly wait: string; readonly name: string; readonly deadline: number; readonly asks?: AskKind }
  /**
   * Passed to the runtime's `announce`, with the wait's key; no event contains the key itself. For a request to a person
   * the type is its kind, without payload and key.
   */
  'wait.announced': { readonly wait: string; readonly type: string; readonly payload: unknown }
  /**
   * A person's decision: by whom, through which channel, on exactly what. It decides alone or is one vote of a
   * quorum.
   */
  'decision.made': {
    readonly wait: string
    readonly asks: AskKind
    readonly decision: 'approve' | 'deny' | 'edit' | 'answer'
    readonly by: string
    readonly door: string
    readonly fingerprint: string
    readonly reason?: string
    /** Approvals so far, and approvals needed. */
    readonly votes?: { readonly have: number; readonly need: number }
    /** The rule created from the decision. */
    readonly remembered?: string
  }
  /** A person who may not decide tried to. */
  'decision.refused': {
    readonly wait: string
    readonly asks: AskKind
    readonly by: string
    readonly door: string
    readonly why: string
  }
  /** A remembered rule decided, so no person was asked. */
  'decision.remembered': {
    readonly rule: string
    readonly decision: 'approve' | 'deny'
    readonly by: string
    readonly fingerprint: string
  }
  /** A remembered rule no longer applies. */
  'rule.revoked': { readonly rule: string; readonly by: string; readonly door: string }
  /** A task was started. */
  'task.created': { readonly task: string; readonly kind: string; readonly tool: string }
  /** The task reported its status or progress. */
  'task.updated': { readonly task: string; readonly attempt: number }
  /** Total number of characters in the task's log. */
  'task.output': { readonly task: string; readonly characters: number }
  /** Number of artifacts the task has produced so far. */
  'task.artifact': { readonly task: string; readonly artifacts: number }
  /** `in`: sent to the task. `out`: sent by it; with `asks` it waits for a reply. */
  'task.message': {
    readonly task: string
    readonly message: string
    readonly direction: 'in' | 'out'
    readonly asks?: true
  }
  /** A signal was sent to the task. */
  'task.signal': { readonly task: string; readonly name: string }
  /** Emitted by a body with ctx.emit; the payload is stored under `number`. */
  'task.event': { readonly task: string; readonly type: string; readonly number: number }
  /** For a task that is not a call (a monitor). Other tasks end with `call.settled`. */
  'task.ended': { readonly task: string; readonly state: 'succeeded' | 'cancelled' }
  /** A schedule was created. */
  'schedule.created': { readonly schedule: string }
  /** It fires no slots until it is resumed. */
  'schedule.paused': { readonly schedule: string }
  /** It fires its slots again. */
  'schedule.resumed': { readonly schedule: string }
  /** No slot is left. */
  'schedule.ended': { readonly schedule: string }
  /** It was removed. Tasks that it started continue. */
  'schedule.cancelled': { readonly schedule: string }
  /**
   * A slot, or a manual run (`byHand`), started a task. A schedule that sends a message does not start a task; it adds
   * a notice.
   */
  'schedule.fired': {
    readonly schedule: string
    readonly slot: number
    readonly task: string | null
    readonly byHand?: true
  }
  /** A slot that started nothing; the schedule's history says why. */
  'schedule.missed': {
    readonly schedule: string
    readonly slot: number
    readonly outcome: 'missed' | 'overlap' | 'failed'
  }
  /** A subscription to an event was created. */
  'trigger.subscribed': { readonly trigger: string; readonly event: string }
  /** A subscription was removed. */
  'trigger.unsubscribed': { readonly trigger: string }
  /** Events are not delivered to it until it is resumed. */
  'trigger.paused': { readonly trigger: string }
  /** Events are delivered to it again. */
  'trigger.resumed': { readonly trigger: string }
  /**
   * Emitted by a body: recorded in the session of that body. Emitted by the host: recorded in the target session if
   * there is one, otherwise in the session whose API was used ('' for the API of the runtime).
   */
  'trigger.emitted': { readonly event: string; readonly key: string; readonly deliveries: number }
  /** An emitted event started this task, or became a notice. */
  'trigger.delivered': {
    readonly trigger: string
    readonly event: string
    readonly key: string
    readonly task: string | null
  }
  /**
   * The session has a new notice, listed in `session.notices` under this id. The end of a task is listed without this
   * event.
   */
  'notice.added': { readonly notice: string; readonly about: string; readonly task: string | null }
  /** The notice was delivered by a turn, or acknowledged by the program. */
  'notice.acknowledged': { readonly notice: string }
  /**
   * The session's tasks are cancelled or continue, each as configured when it was started unless the call says
   * otherwise.
   */
  'session.ended': { readonly by: string | null }
  /** A capability of the session was switched on or off. */
  'capability.switched': { readonly name: string; readonly on: boolean }
  /** A body started an agent in a session of its own. */
  'agent.started': { readonly session: string }
  /** A file or directory of the session changed. */
  'file.changed':
    | { readonly path: string; readonly change: 'written' | 'made' | 'removed' }
    | { readonly path: string; readonly change: 'moved'; readonly to: string }
  /** A value of the session was set or deleted. The event does not contain it. */
  'value.changed': { readonly key: string; readonly change: 'set' | 'deleted' }
  /** A secret of the session was set or deleted. The event does not contain it. */
  'secret.changed': { readonly name: string; readonly change: 'set' | 'deleted' }
  /** Recorded for the tenant, in session ''. Neither the principal nor the token is in any event. */
  'connection.changed': {
    readonly provider: string
    readonly change: 'set' | 'removed'
    /** Who did it; older events do not say. */
    readonly by?: string
  }
  /**
   * The definition of a provider's tool: `pinned` when first seen, `quarantined` because it differs from the pinned one,
   * `accepted` by a person, `restored` because the provider returned the pinned one again. Recorded for the whole
   * store, in tenant '' and session ''.
   */
  'definition.changed': {
    readonly provider: string
    readonly tool: string
    readonly change: 'pinned' | 'quarantined' | 'accepted' | 'restored'
    readonly fingerprint: string
    /** The person who accepted it. */
    readonly by?: string
  }
  /**
   * An API token was created or revoked. Recorded for the token's tenant, in session ''; in tenant '' if the token is
   * valid for all tenants. No event contains the token.
   */
  'token.created': TokenEvent
  'token.revoked': TokenEvent
  /**
   * Records were deleted: by retention (`prune`), or a session or tenant (`erase`). Written when the deletion is
   * complete, in tenant '' and session ''. It names nothing, because the names were to be deleted.
   */
  'records.deleted': {
    readonly by: 'prune' | 'erase'
    readonly calls: number
    readonly events: number
    readonly attachments: number
    /** Rules, tasks, emitted events and API tokens. */
    readonly documents: number
  }
  /** A user message that the open or next turn will read; `message.added` follows then. */
  'message.sent': { readonly message: string; readonly when: 'next' | 'after' }
  /** A message was added to the conversation; its content is stored under its number. */
  'message.added': {
    readonly message: number
    readonly role: string
    readonly turn: string | null
    /** For results: calls that also tried to control the turn and were ignored. */
    readonly unheard?: readonly string[]
  }
  /** A model answer was recorded; it is never requested again. */
  'turn.answered': {
    readonly turn: string
    readonly step: number
    readonly message: number
    readonly finish: string
    readonly usage: { readonly inputTokens: number; readonly outputTokens: number }
  }
  /** A wait has its answer. */
  'wait.resolved': { readonly wait: string; readonly by: 'value' | 'failure' | 'cancelled' | 'timeout' }
}

interface TokenEvent {
  /** Id of the token. */
  readonly token: string
  readonly name: string
  readonly roles: readonly Role[]
  /** The person or service that acts with it. Missing in events of earlier releases. */
  readonly principal?: string
  readonly by: string | null
}

/** The type of a recorded event, such as `call.settled`. The guide page about the feed lists all of them. */
export type EventType = keyof EventBodies

/** An event without subject and time. */
export type EventDraft = { [T in EventType]: { readonly type: T; readonly body: EventBodies[T] } }[EventType]

/** An event as a change appends it; the store adds position and sequence. */
export type NewEvent = {
  [T in EventType]: {
    readonly type: T
    readonly tenant: string
    readonly session: string
    /** The call it is about or that caused it; '' if none. */
    readonly call: string
    readonly at: number
    readonly body: EventBodies[T]
  }
}[EventType]

/** An event as it is stored: its type, the call it is about, when, and a small body. */
export type EventRecord = NewEvent & {
  /** Position in the whole store: the cursor. An event never appears at a position that a reader has already passed. */
  readonly position: number
  /** Sequence number in its session, from 1, without gaps. */
  readonly seq: number
}

/** The subject of an event. */
export interface EventSubject extends Scope {
  /** The uid of the call; '' if it is about none. */
  readonly call: string
}

/** Subject of an event about a session and no call. */
export const sessionSubject = ({ tenant, session }: Scope): EventSubject => ({
  tenant,
  session,
  call: '',
})

/** Subject of an event about the whole store. */
export const storeSubject: EventSubject = { tenant: '', session: '', call: '' }

export function eventOf<T extends EventType>(
  { tenant, session, call }: EventSubject,
  type: T,
  at: number,
  body: EventBodies[T],
): NewEvent {
  return { type, tenant, session, call, at, body } as NewEvent
}

/** Completes a draft. */
export const eventFromDraft = (
  { tenant, session, call }: EventSubject,
  { type, body }: EventDraft,
  at: number,
): NewEvent => ({ type, tenant, session, call, at, body }) as NewEvent
