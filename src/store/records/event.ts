// JOURNAL: the facts of the feed, one union. An event is small: who, what, when. The payloads (arguments, values, outcomes)
// live once, in the state rows; the feed reads the outcome of a settled call from its row when it hands the event out.
// The words here are persisted: test/project/public-surface.test.ts pins them.

import type { OutcomeStatus } from '../../core/outcome.ts'
import type { AskKind } from './approval-terms.ts'

export interface EventBodies {
  'call.received': { readonly tool: string }
  'call.started': { readonly attempt: number }
  'call.queued': { readonly attempt: number; readonly until: number; readonly code: string }
  'call.cancelling': { readonly reason: string; readonly by: string | null }
  'call.late': { readonly attempt: number; readonly status: 'success' | 'failure' }
  'call.parked': { readonly wait: string; readonly deadline: number }
  'call.settled': { readonly status: OutcomeStatus; readonly attempts: number }
  'step.started': { readonly step: string }
  'step.done': { readonly step: string }
  'step.failed': { readonly step: string }
  'wait.opened': { readonly wait: string; readonly name: string; readonly deadline: number; readonly asks?: AskKind }
  /** Handed with the wait's key to the runtime's `announce`; the key itself is in no event. */
  'wait.announced': { readonly wait: string; readonly type: string; readonly payload: unknown }
  /** A person's word on what was asked: who, through which door, on what exactly. It decides at once, or is one of several that it takes. */
  'decision.made': {
    readonly wait: string
    readonly asks: AskKind
    readonly decision: 'approve' | 'deny' | 'edit' | 'answer'
    readonly by: string
    readonly door: string
    readonly fingerprint: string
    readonly reason?: string
    /** How many have approved, of how many it takes. */
    readonly votes?: { readonly have: number; readonly need: number }
    /** The rule that was made of it. */
    readonly remembered?: string
  }
  /** Somebody tried who may not. */
  'decision.refused': {
    readonly wait: string
    readonly asks: AskKind
    readonly by: string
    readonly door: string
    readonly why: string
  }
  /** A rule that a person made answers instead of one: nobody was asked. */
  'decision.remembered': {
    readonly rule: string
    readonly decision: 'approve' | 'deny'
    readonly by: string
    readonly fingerprint: string
  }
  'rule.revoked': { readonly rule: string; readonly by: string; readonly door: string }
  'task.created': { readonly task: string; readonly kind: string; readonly tool: string }
  /** Its runner told what it does, or how far it is. */
  'task.updated': { readonly task: string; readonly attempt: number }
  /** Its log has so many characters now. */
  'task.output': { readonly task: string; readonly characters: number }
  'task.artifact': { readonly task: string; readonly artifacts: number }
  /** `in`: to the task. `out`: of it; with `asks` it waits for a reply. */
  'task.message': {
    readonly task: string
    readonly message: string
    readonly direction: 'in' | 'out'
    readonly asks?: true
  }
  'task.signal': { readonly task: string; readonly name: string }
  /** What a body told with ctx.emit; the payload is kept under its number. */
  'task.event': { readonly task: string; readonly type: string; readonly number: number }
  /** Of a task that is no call (a monitor); others end with their `call.settled`. */
  'task.ended': { readonly task: string; readonly state: 'succeeded' | 'cancelled' }
  'schedule.created': { readonly schedule: string }
  'schedule.paused': { readonly schedule: string }
  'schedule.resumed': { readonly schedule: string }
  /** There is no slot left. */
  'schedule.ended': { readonly schedule: string }
  'schedule.cancelled': { readonly schedule: string }
  /** A slot, or somebody who asked for a run (`byHand`), has started a task; a message starts none, and is a notice. */
  'schedule.fired': {
    readonly schedule: string
    readonly slot: number
    readonly task: string | null
    readonly byHand?: true
  }
  /** A slot that started nothing, as its history says why. */
  'schedule.missed': {
    readonly schedule: string
    readonly slot: number
    readonly outcome: 'missed' | 'overlap' | 'failed'
  }
  'trigger.subscribed': { readonly trigger: string; readonly event: string }
  'trigger.unsubscribed': { readonly trigger: string }
  'trigger.paused': { readonly trigger: string }
  'trigger.resumed': { readonly trigger: string }
  /** In the one session that hears it, else where it was emitted: by the runtime, in no session (''). */
  'trigger.emitted': { readonly event: string; readonly key: string; readonly deliveries: number }
  'trigger.delivered': {
    readonly trigger: string
    readonly event: string
    readonly key: string
    readonly task: string | null
  }
  /** The session is to be told something: `session.notices` lists it under this id. The end of a task is listed without one of these. */
  'notice.added': { readonly notice: string; readonly about: string; readonly task: string | null }
  /** It has been told: by a turn, or by the program. */
  'notice.acknowledged': { readonly notice: string }
  /** Its tasks are cancelled, or left to go on; each as it was started, where nothing is said. */
  'session.ended': { readonly by: string | null }
  'capability.switched': { readonly name: string; readonly on: boolean }
  /** A body lets an agent work, in a session of its own. */
  'agent.started': { readonly session: string }
  'file.changed':
    | { readonly path: string; readonly change: 'written' | 'made' | 'removed' }
    | { readonly path: string; readonly change: 'moved'; readonly to: string }
  'value.changed': { readonly key: string; readonly change: 'set' | 'deleted' }
  'secret.changed': { readonly name: string; readonly change: 'set' | 'deleted' }
  /** Of a tenant, in no session (''). Whose it is, and the token, is in no event. */
  'connection.changed': { readonly provider: string; readonly change: 'set' | 'removed' }
  /** A user has said something that the next, or the open, turn will read: `message.added` then. */
  'message.sent': { readonly message: string; readonly when: 'next' | 'after' }
  /** Something was said in the conversation; what, is kept under its number. */
  'message.added': {
    readonly message: number
    readonly role: string
    readonly turn: string | null
    /** Of results: calls that wanted to steer the turn as well, and were not heard. */
    readonly unheard?: readonly string[]
  }
  /** A model has answered: on record, and never asked for again. */
  'turn.answered': {
    readonly turn: string
    readonly step: number
    readonly message: number
    readonly finish: string
    readonly usage: { readonly inputTokens: number; readonly outputTokens: number }
  }
  'wait.resolved': { readonly wait: string; readonly by: 'value' | 'failure' | 'cancelled' | 'timeout' }
}

export type EventType = keyof EventBodies

/** A fact, before it is known of whom and when. */
export type Told = { [T in EventType]: { readonly type: T; readonly body: EventBodies[T] } }[EventType]

/** What a change appends; the store adds position and sequence. */
export type NewEvent = {
  [T in EventType]: {
    readonly type: T
    readonly tenant: string
    readonly session: string
    /** The call it is about, or that did it; '' if none. */
    readonly call: string
    readonly at: number
    readonly body: EventBodies[T]
  }
}[EventType]

export type EventRecord = NewEvent & {
  /** Place in the whole store: gap-free for readers, the cursor. */
  readonly position: number
  /** Place in its session, from 1, without gaps. */
  readonly seq: number
}

/** Whose events they are. */
export interface EventSubject {
  readonly tenant: string
  readonly session: string
  /** The uid of the call; '' if it is about none. */
  readonly call: string
}

/** Told of a session, and of no call. */
export const ofSession = ({ tenant, session }: Omit<EventSubject, 'call'>): EventSubject => ({
  tenant,
  session,
  call: '',
})

export function eventOf<T extends EventType>(
  { tenant, session, call }: EventSubject,
  type: T,
  at: number,
  body: EventBodies[T],
): NewEvent {
  return { type, tenant, session, call, at, body } as NewEvent
}

/** The same of what is told. */
export const eventIn = ({ tenant, session, call }: EventSubject, { type, body }: Told, at: number): NewEvent =>
  ({ type, tenant, session, call, at, body }) as NewEvent
