// Delivers an emitted event to one subscription: one commit starts the task or writes the notice, and removes the `due`
// row of the delivery. A delivery that cannot start is retried with exponential backoff and does not block the others.

import { backoffMs } from '../core/backoff.ts'
import { decode, encode, type Json } from '../core/tool-value.ts'
import type { Scope } from '../core/scope.ts'
import { eventOf, sessionSubject, type NewEvent } from '../store/records/event.ts'
import { noticeAdded, noticeOf } from '../store/records/notice.ts'
import { noticeKey } from '../store/records/task-record.ts'
import type { Guard, StoredDocument, DocumentWrite } from '../store/store.ts'
import { type FireResult, isStartError } from './fire-schedule.ts'
import type { Owner } from '../tasks/ports.ts'
import { dueKey } from './schedule-row.ts'
import { startTask } from '../tasks/start-task.ts'
import type { SchedulesHost } from './ports.ts'
import {
  type DeliveryRow,
  deliveryTask,
  occurrenceName,
  type OccurrenceRow,
  readSubscription,
  type SubscriptionRow,
} from './trigger-row.ts'
import { collections } from '../store/collections.ts'

const nullPayload = encode(null)
const baseMs = 1_000
const capMs = 5 * 60_000
/** The model reads the payload in the notice, so it is truncated. */
const maxPayloadCharacters = 2_000

export async function deliver(
  host: SchedulesHost,
  due: StoredDocument,
  { occurrence, subscription, born, tries }: DeliveryRow['delivery'],
): Promise<FireResult> {
  const { store, clock } = host
  const of: Scope = { tenant: due.tenant, session: due.session }
  const name = collections.due.name(of, due.key)
  const removed = { ...name, value: null }
  const subscriptionDocument = collections.subscription.name(of, subscription)
  const [stored, occurrenceRow, sessionEnd] = await Promise.all([
    store.document(subscriptionDocument),
    store.document(occurrenceName(of.tenant, occurrence)),
    store.document(collections.sessionEnd.name(of)),
  ])
  const guards: Guard[] = [
    { kind: 'kept', ...name, revision: due.revision },
    // After unsubscribe nothing may be delivered.
    { kind: 'kept', ...subscriptionDocument, revision: stored?.revision ?? 0 },
    ...(sessionEnd ? [] : [{ kind: 'kept', ...collections.sessionEnd.name(of), revision: 0 } as const]),
  ]
  /** A rejected commit means that another worker processed the row. */
  const done = async (
    documents: readonly DocumentWrite[] = [],
    events: readonly NewEvent[] = [],
  ): Promise<FireResult> => {
    await store.commit({ guards, documents: [removed, ...documents], events })
    return 'done'
  }
  const row = stored && readSubscription(stored)
  // The subscription or the session is gone: drop the delivery.
  if (!row || row.born !== born || !occurrenceRow || sessionEnd) return done()
  const { event, key, payload } = collections.occurrence.parse(occurrenceRow.value) as OccurrenceRow
  const at = clock.now()
  const delivered = (task: string | null): NewEvent =>
    eventOf(sessionSubject(of), 'trigger.delivered', at, { trigger: subscription, event, key, task })
  if (row.message !== null) {
    await host.knownSecrets.ensure(of)
    const noticeRow = {
      at,
      about: 'trigger',
      title: row.title,
      text: messageOf(row.message, host.redact.text(payload)),
    } as const
    const notice = noticeOf(of, noticeKey(at, deliveryTask(occurrence, subscription, born), 0), noticeRow)
    // The payload may be meant for a sensitive tool, so it is sealed at rest.
    const sealedRow = { ...notice.row, ...(payload === nullPayload ? {} : { secret: true as const }) }
    return done(
      [sealedRow, ...host.wakes.rows(of, due.key)],
      [delivered(null), noticeAdded(sessionSubject(of), notice.added, at)],
    )
  }
  const owner: Owner = { ...of, ...row.behalf }
  // Leave the delivery to a worker that has the tool with background support.
  if (!host.registry.tool(owner, row.tool as string)?.background) return 'left'
  try {
    const id = deliveryTask(occurrence, subscription, born)
    const { tool, title, wake } = row
    const spec = { id, tool: tool as string, input: inputOf(row, decode(payload)), title, wake }
    const how = {
      kind: 'triggered',
      links: { trigger: subscription },
      also: { guards, documents: [removed], events: [delivered(id)] },
    }
    const started = await startTask(host, owner, spec, how)
    return started?.existed ? await done() : 'done'
  } catch (error) {
    if (!isStartError(error)) throw error
    if (error.code === 'session_ended') return done()
    host.logger.warn('A trigger could not start its task; retrying', {
      subscription,
      session: of.session,
      event,
      key,
      tries,
      error,
    })
    const later = clock.now() + backoffMs(tries, baseMs, capMs)
    const again: DeliveryRow = { delivery: { occurrence, subscription, born, tries: tries + 1 } }
    return done([dueDelivery(of, again, later)])
  }
}

/** The `due` row of a delivery. */
export const dueDelivery = (of: Scope, row: DeliveryRow, at: number): DocumentWrite => {
  const { occurrence, subscription, born } = row.delivery
  return collections.due.write(row, of, dueKey(at, of.tenant, of.session, occurrence, subscription, born))
}

function inputOf({ input, payloadTo }: SubscriptionRow, payload: Json): Json {
  const own = decode(input as string)
  return payloadTo === null ? own : { ...(own as Record<string, Json>), [payloadTo]: payload }
}

function messageOf(message: string, payload: string): string {
  if (payload === nullPayload) return message
  return `${message}\n- payload: ${payload.length > maxPayloadCharacters ? `${payload.slice(0, maxPayloadCharacters).toWellFormed()}…` : payload}`
}
