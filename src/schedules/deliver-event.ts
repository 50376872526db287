// Delivers an occurrence to one who subscribed (CRON-4): one change starts the task, or keeps the notice, and takes the delivery from what is due.
// One that cannot start stays there and is tried again, ever later; none stands in the way of another.

import { decode, encode, type Json } from '../core/value.ts'
import { eventOf, ofSession, type NewEvent } from '../store/records/event.ts'
import { noticeAdded, noticeOf } from '../store/records/notice.ts'
import { endName, noticeKey } from '../store/records/task-record.ts'
import type { Change, Guard, StoredDocument } from '../store/store.ts'
import { type Fired, type FireHost, isRefusal } from './fire-schedule.ts'
import type { Owner } from '../tasks/ports.ts'
import { dueKey, type Scope } from './schedule-row.ts'
import { startTask } from '../tasks/start-task.ts'
import {
  type DeliveryRow,
  deliveryTask,
  occurrenceName,
  type OccurrenceRow,
  readSubscription,
  subscriptionName,
  type SubscriptionRow,
} from './trigger-row.ts'

const nothing = encode(null)
const baseMs = 1_000
const capMs = 5 * 60_000
/** A model reads the payload of a message. */
const mostShown = 2_000

type Keep = NonNullable<Change['documents']>

export async function deliver(
  host: FireHost,
  due: StoredDocument,
  { occurrence, subscription, born, tries }: DeliveryRow['delivery'],
): Promise<Fired> {
  const { store, clock } = host
  const of: Scope = { tenant: due.tenant, session: due.session }
  const name = { of: 'due', ...of, key: due.key }
  const taken = { ...name, value: null }
  const wanted = subscriptionName(of, subscription)
  const [kept, happened, over] = await Promise.all([
    store.document(wanted),
    store.document(occurrenceName(of.tenant, occurrence)),
    store.document(endName(of, '')),
  ])
  const guards: Guard[] = [
    { kind: 'kept', ...name, revision: due.revision },
    // Once it is taken back, nothing is delivered any more.
    { kind: 'kept', ...wanted, revision: kept?.revision ?? 0 },
    ...(over ? [] : [{ kind: 'kept', ...endName(of, ''), revision: 0 } as const]),
  ]
  /** Written, or another was first. */
  const done = async (documents: Keep = [], events: readonly NewEvent[] = []): Promise<Fired> => {
    await store.commit({ guards, documents: [taken, ...documents], events })
    return 'done'
  }
  const row = kept && readSubscription(kept)
  // Nobody wants it any more.
  if (!row || row.born !== born || !happened || over) return done()
  const { event, key, payload } = JSON.parse(happened.value) as OccurrenceRow
  const at = clock.now()
  const delivered = (task: string | null): NewEvent =>
    eventOf(ofSession(of), 'trigger.delivered', at, { trigger: subscription, event, key, task })
  if (row.message !== null) {
    const said = { at, about: 'trigger', title: row.title, text: messageOf(row.message, host.shown(payload)) } as const
    const notice = noticeOf(of, noticeKey(at, deliveryTask(occurrence, subscription, born), 0), said)
    // What it carries may be for a tool whose payloads are sealed.
    const kept = { ...notice.row, ...(payload === nothing ? {} : { secret: true as const }) }
    return done(
      [kept, ...host.wakes.rows(of, due.key)],
      [delivered(null), noticeAdded(ofSession(of), notice.added, at)],
    )
  }
  const owner: Owner = { ...of, ...row.behalf }
  // Whoever has the tool, and can run it so, has the delivery.
  if (!host.tool(owner, row.tool as string)?.background) return 'left'
  try {
    const id = deliveryTask(occurrence, subscription, born)
    const { tool, title, wake } = row
    const spec = { id, tool: tool as string, input: inputOf(row, decode(payload)), title, wake }
    const how = {
      kind: 'triggered',
      links: { trigger: subscription },
      also: { guards, documents: [taken], events: [delivered(id)] },
    }
    const started = await startTask(host, owner, spec, how)
    return started?.there ? await done() : 'done'
  } catch (error) {
    if (!isRefusal(error)) throw error
    if (error.code === 'session_ended') return done()
    host.logger.warn('A trigger could not start its task; it is tried again', {
      subscription,
      session: of.session,
      event,
      key,
      tries,
      error,
    })
    const later = clock.now() + Math.min(capMs, baseMs * 2 ** Math.min(tries, 20))
    const again: DeliveryRow = { delivery: { occurrence, subscription, born, tries: tries + 1 } }
    return done([dueDelivery(of, again, later)])
  }
}

/** Its row among what is due. */
export const dueDelivery = (of: Scope, row: DeliveryRow, at: number): Keep[number] => {
  const { occurrence, subscription, born } = row.delivery
  return {
    of: 'due',
    ...of,
    key: dueKey(at, of.tenant, of.session, occurrence, subscription, born),
    value: JSON.stringify(row),
  }
}

function inputOf({ input, payloadTo }: SubscriptionRow, payload: Json): Json {
  const own = decode(input as string)
  return payloadTo === null ? own : { ...(own as Record<string, Json>), [payloadTo]: payload }
}

function messageOf(message: string, payload: string): string {
  if (payload === nothing) return message
  return `${message}\n- payload: ${payload.length > mostShown ? `${payload.slice(0, mostShown).toWellFormed()}…` : payload}`
}
