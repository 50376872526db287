// Every document collection: its persisted name, the type of its value, its scope, what erases it, and how its key is
// made. Where the type is `unknown`, the value belongs to a feature above this ring, which casts it where it parses.
// test/maintenance/collections.test.ts checks erasure against this list, test/journals checks every write.

import type { Json } from '../core/tool-value.ts'
import { Collection, type CollectionTerms } from './collection.ts'
import type { AskKind } from './records/approval-wait-terms.ts'
import type { TokenRow } from './records/access-token.ts'
import type { AskItem } from './records/approval-request.ts'
import {
  type HeadRow,
  type LastTurnRow,
  messageKey,
  type OwedRow,
  type ParentRow,
  type SentRow,
} from './records/conversation.ts'
import type { Signals } from './records/signals.ts'
import {
  childrenOf,
  type EndRow,
  type NoticeRow,
  signalsOf,
  type TaskRow,
  type TaskRun,
} from './records/task-record.ts'

const inSession: CollectionTerms = { scope: 'session', erasedBy: ['session', 'tenant'] }
/** Deleted by its feature, at the latest with the session. */
const whileNeeded: CollectionTerms = { scope: 'session', erasedBy: ['session', 'tenant', 'end'] }
/** Deleted when retention deletes its task. */
const withTask: CollectionTerms = { scope: 'session', erasedBy: ['session', 'tenant', 'prune'] }
const inTenant: CollectionTerms = { scope: 'tenant', erasedBy: ['tenant', 'end'] }
/** Belongs to no tenant, so no erasure reaches it. */
const inStore: CollectionTerms = { scope: 'store', erasedBy: ['end'] }

/** The key is an id. */
const byId = <T>(of: string, terms: CollectionTerms): Collection<T> => new Collection<T>(of, terms, (id) => id)
/** One document for each session. */
const single = <T>(of: string, terms: CollectionTerms, key = ''): Collection<T, []> =>
  new Collection(of, terms, () => key)
const keyed = <T, K extends readonly unknown[]>(
  of: string,
  terms: CollectionTerms,
  key: (...parts: K) => string,
): Collection<T, K> => new Collection<T, K>(of, terms, key)

const padded = (number: number, digits: number): string => String(number).padStart(digits, '0')

export const collections = {
  // Requests to people and clients. The id is that of the wait.
  inbox: byId<AskItem>('inbox', whileNeeded),
  client: byId<AskItem>('client', whileNeeded),
  /** RememberedRule. */
  rule: byId<unknown>('rule', { scope: 'any', erasedBy: ['session', 'tenant', 'prune'] }),
  /** StoredConnection; the id is a digest of principal and provider. */
  connection: byId<unknown>('connection', { ...inTenant, sealed: 'always' }),
  /** Pin and QuarantinedDefinition of approvals/definition-pins.ts; the id is a digest of provider and tool. */
  pin: byId<unknown>('pin', inStore),
  quarantine: byId<unknown>('quarantine', inStore),
  /**
   * API tokens; the id is the SHA-256 of the token. Looked up before the tenant is known, so stored for the whole store;
   * maintenance/erase-tokens.ts deletes those of an erased tenant.
   */
  token: byId<TokenRow>('token', { scope: 'store', erasedBy: ['tenant', 'prune'] }),
  /** Usage of a budget (policy/budget-usage.ts); the id is the scope of the budget. */
  usage: byId<unknown>('usage', { scope: 'any', erasedBy: ['session', 'tenant'] }),

  // Files, values and secrets: the rows are in storage/.
  /** The id is the path with a double slash before its last name. */
  file: byId<unknown>('file', { scope: 'session', erasedBy: ['session', 'tenant', 'prune', 'end'] }),
  /** Bytes of a file, as text. */
  filePart: keyed<never, [version: string, part: number]>(
    'file-part',
    { scope: 'session', erasedBy: ['session', 'tenant', 'prune', 'end'] },
    (version, part) => `${version}:${padded(part, 6)}`,
  ),
  fileUsage: single<unknown>('file-usage', inSession),
  /** The lock of a disk folder; the id is a digest of its path. */
  folder: byId<unknown>('folder', { scope: 'store', erasedBy: [] }),
  value: byId<unknown>('value', whileNeeded),
  valueUsage: single<unknown>('value-usage', inSession),
  secret: byId<unknown>('secret', { ...whileNeeded, sealed: 'always' }),
  secretUsage: single<unknown>('secret-usage', { ...inSession, sealed: 'always' }),

  // Sessions.
  /** Capabilities that are switched on. */
  capability: byId<never>('capability', whileNeeded),
  /** Marks a session as ended. */
  sessionEnd: single<EndRow>('session-end', inSession),
  /** Pending work on the tasks of an ended session or task. */
  endChore: byId<unknown>('end-chore', whileNeeded),
  /** The parent of an agent's session. */
  sessionParent: single<ParentRow>('session-parent', inSession),
  /** Sessions of the agents started in this session. */
  sessionAgent: byId<never>('session-agent', inSession),
  /**
   * Agents that are running, or have answered and left open work. Approval requests in their sessions are found from
   * the parent session through these documents.
   */
  sessionWorking: byId<never>('session-working', whileNeeded),
  /** Tools whose schema is included in the session's model requests from now on. */
  toolRevealed: byId<never>('tool-revealed', inSession),

  // Turns.
  /** The head: names the one turn, across all workers, that may append messages. */
  conversation: single<HeadRow>('conversation', inSession),
  message: keyed<never, [number: number]>('message', { ...inSession, sealed: 'sensitive' }, messageKey),
  /** Messages sent but not yet read by a turn, in order of arrival. */
  messageSent: byId<SentRow>('message-sent', whileNeeded),
  /** Turns that wait for the session, by uid. A turn that only waits for people or external systems ends for them. */
  turnQueued: byId<true>('turn-queued', whileNeeded),
  /** Deduplicates messages by the sender's id: the hash of the message, or 1 if an older release wrote it. */
  messageId: byId<string | 1>('message-id', { ...inSession, sealed: 'sensitive' }),
  /** The last turn requested here. A turn that starts by itself copies its settings. */
  turnLast: single<LastTurnRow>('turn-last', { ...inSession, sealed: 'sensitive' }),
  /** UsageRow of models/: one per turn, and one per completion requested by a body. */
  modelUsage: byId<unknown>('model-usage', inSession),
  /** A call represented by a placeholder in the conversation; its result is delivered later. */
  resultOwed: byId<OwedRow>('result-owed', whileNeeded),
  /** Notices that the next turn must read, oldest first. The id is made by noticeKey(). */
  notice: byId<NoticeRow>('notice', { ...whileNeeded, sealed: 'sensitive' }),

  // Tasks. The id is that of the task unless stated otherwise.
  task: byId<TaskRow>('task', withTask),
  taskRun: byId<TaskRun>('task-run', withTask),
  /** Keyed by the call's uid, which is time-ordered; the value is the task id. */
  taskOrder: byId<never>('task-order', withTask),
  taskWake: byId<never>('task-wake', { scope: 'session', erasedBy: ['session', 'tenant', 'prune', 'end'] }),
  taskChild: keyed<never, [parent: string, id: string]>(
    'task-child',
    withTask,
    (parent, id) => childrenOf(parent) + id,
  ),
  taskSignals: keyed<Signals, [task: string, name: string]>(
    'task-signals',
    withTask,
    (task, name) => signalsOf(task) + name,
  ),
  /** TaskMessage of tools/, ordered by time; at the same time, messages from the task come first. */
  taskMessage: keyed<unknown, [task: string, at: number, which: string]>(
    'task-message',
    withTask,
    (task, at, which) => `${task}:${padded(at, 15)}:${which}`,
  ),
  /** Emitted events, in order. */
  taskEvent: keyed<TaskEventRow, [task: string, number: number]>(
    'task-event',
    withTask,
    (task, number) => `${task}:${padded(number, 9)}`,
  ),
  /** Changed by every start that a model requests, with compare-and-set, so that open tasks are counted exactly. */
  taskStarts: single<never>('task-starts', inSession),

  // Schedules and triggers: the rows are in schedules/.
  schedule: byId<unknown>('schedule', { ...whileNeeded, sealed: 'sensitive' }),
  /** Changed by every API change to schedules, with compare-and-set, so that limits are counted exactly. */
  scheduleGate: single<never>('schedule-gate', inSession, 'gate'),
  /** Rows for the scheduler. The id begins with the due time and is unique across all tenants. */
  due: byId<unknown>('due', whileNeeded),
  subscription: byId<unknown>('subscription', { ...whileNeeded, sealed: 'sensitive' }),
  /** Subscriptions by event; the id is the event and a digest. */
  subscribed: byId<never>('subscribed', whileNeeded),
  triggerGate: single<never>('trigger-gate', inSession, 'gate'),
  /** Emitted events; the id is a digest. Those emitted to one session only are erased with it. */
  occurrence: byId<unknown>('occurrence', {
    scope: 'tenant',
    erasedBy: ['session', 'tenant', 'prune'],
    sealed: 'always',
  }),
} satisfies Record<string, { readonly terms: CollectionTerms }>

export interface TaskEventRow {
  readonly type: string
  readonly payload: Json
  readonly at: number
}

/** The collection that holds the item of a request of this kind. */
export const itemsOf = (kind: AskKind): Collection<AskItem> =>
  kind === 'client' ? collections.client : collections.inbox
