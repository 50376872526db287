// Emits an event (CRON-4): one change puts it on record and reserves its deliveries, one for each who has subscribed. What starts of them is the
// scheduler's affair, on whatever worker: emitting never fails because something could not start.

import { PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import { formatValue } from '../core/format-value.ts'
import { bytesIn, fits } from '../core/size-limits.ts'
import { canonical } from '../core/canonical-json.ts'
import { encode, holdsAttachment, type Json } from '../core/value.ts'
import { eventOf, type EventSubject } from '../store/records/event.ts'
import type { Execution } from '../engine/engine.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { Change, Guard } from '../store/store.ts'
import type { BackgroundHost } from '../tasks/ports.ts'
import { dueDelivery } from './deliver-event.ts'
import { isRefusal } from './fire-schedule.ts'
import { longPast, type Scope } from './schedule-row.ts'
import {
  type Delivery,
  deliveryTask,
  occurrenceKey,
  occurrenceName,
  type OccurrenceRow,
  readSubscription,
  subscriptionName,
  type SubscriptionRow,
} from './trigger-row.ts'
import { checkFields, refusing } from './start-spec.ts'

/** An event that was emitted. */
export interface EmittedEvent {
  readonly event: string
  readonly key: string
  readonly at: number
  /** To whom it goes. */
  readonly deliveries: readonly Delivery[]
  /** It was on record already. */
  readonly again: boolean
}

export interface EmitHost extends BackgroundHost {
  /** Something will be due at this instant. */
  due(at: number): void
}

const refuse = refusing('trigger_invalid')
const eventShape = /^[a-z0-9_.-]{1,128}$/
const reserved = 'pawl.'

export function checkEvent(event: unknown): string {
  if (typeof event !== 'string' || !eventShape.test(event))
    return refuse(`The event is ${formatValue(event)}; its name must be 1 to 128 of a-z 0-9 _ . -.`)
  if (event.startsWith(reserved)) refuse(`Names of events that begin with '${reserved}' are the runtime's.`)
  return event
}

export interface Emitting {
  readonly tenant: string
  /** Only subscriptions of this one hear it. */
  readonly session?: string | undefined
  /** Whose program emits it; no session's if left out. */
  readonly from?: string
  /** The body that emits it. */
  readonly by?: {
    readonly call: string
    readonly session: string
    /** What must hold for it to count. */
    fence(): readonly Guard[]
    /** Its place in the body names it: should it say something else when the body runs again, it has said the first. */
    readonly placed: boolean
  }
}

const emitFields = ['key', 'session'] as const

/** What comes with an event, from whoever may have misspelt it. */
export function checkEmit(how: unknown, fields: readonly string[] = emitFields): void {
  if (how !== undefined) checkFields(how, fields, 'trigger_invalid')
}

export async function emit(
  host: EmitHost,
  of: Emitting,
  event: string,
  payload: unknown,
  key: string,
): Promise<EmittedEvent> {
  const { store, clock } = host
  const { tenant, session, by } = of
  checkEvent(event)
  if (!isName(tenant)) refuse('The tenant must be a name.')
  if (!isName(key))
    refuse(`The key is ${formatValue(key)}; an event needs one, so that emitted twice it has happened once.`)
  if (session !== undefined && !isName(session)) refuse('The session must be the id of one.')
  const text = encode(payload ?? null)
  if (holdsAttachment(payload))
    refuse('The payload holds an attachment, which belongs to its call. Keep its bytes as a file of the session.')
  if (!fits(text, host.mostBytes)) refuse(`The payload has ${bytesIn(text)} bytes; at most ${host.mostBytes} are kept.`)
  const name = occurrenceName(tenant, occurrenceKey(event, key))
  for (;;) {
    const there = await store.document(name)
    if (there) return sameOccurrence(JSON.parse(there.value) as OccurrenceRow, by?.placed ? null : text, session)
    const at = clock.now()
    const { deliveries, documents } = await heardBy(host, { tenant, session }, event, { occurrence: name.key, at })
    const row: OccurrenceRow = {
      event,
      key,
      payload: text,
      only: session ?? null,
      at,
      deliveries,
      ...(by ? { call: by.call } : {}),
    }
    const guards: Guard[] = [{ kind: 'kept', ...name, revision: 0 }, ...(by?.fence() ?? [])]
    // What it carries may be for a tool whose payloads are sealed.
    const kept = { ...name, secret: true as const, value: JSON.stringify(row) }
    const events = [eventOf(subjectOf(of), 'trigger.emitted', at, { event, key, deliveries: deliveries.length })]
    const committed = await store.commit({ guards, documents: [kept, ...documents], events })
    if (!committed.ok && committed.refused.kind === 'holds') throw new PawlError('lease_lost')
    if (!committed.ok) continue
    if (deliveries.length > 0) host.due(0)
    return { event, key, at, deliveries, again: false }
  }
}

/** Where it is told: with the body, in the one session that hears it, so that it is erased with that, or where it was emitted. */
const subjectOf = ({ tenant, session, from = '', by }: Emitting): EventSubject => ({
  tenant,
  session: by?.session ?? session ?? from,
  call: by?.call ?? '',
})

/** From a body: fenced as all that it writes. */
export async function emitInBody(
  host: EmitHost,
  { request, attached: beside }: Pick<Execution, 'request' | 'attached'>,
  event: string,
  payload: unknown,
  { placed, ...how }: { key: string; session: string | undefined; placed: boolean },
): Promise<EmittedEvent> {
  checkEmit(how)
  const by = { call: request.uid, session: request.position.session, fence: () => beside.fence(), placed }
  return emit(host, { tenant: request.position.tenant, session: how.session, by }, event, payload, how.key)
}

function sameOccurrence(
  { event, key, payload, only, at, deliveries }: OccurrenceRow,
  text: string | null,
  session: string | undefined,
): EmittedEvent {
  const same =
    text === null ||
    (canonical(JSON.parse(payload) as Json) === canonical(JSON.parse(text) as Json) && only === (session ?? null))
  if (!same)
    throw new PawlError(
      'trigger_conflict',
      `The event '${event}' is on record under the key ${JSON.stringify(key)} with other content.`,
    )
  return { event, key, at, deliveries, again: true }
}

/** Who hears it, and the rows of their deliveries. */
async function heardBy(
  host: EmitHost,
  { tenant, session }: { tenant: string; session?: string | undefined },
  event: string,
  { occurrence, at }: { occurrence: string; at: number },
): Promise<{ deliveries: Delivery[]; documents: NonNullable<Change['documents']>[number][] }> {
  const deliveries: Delivery[] = []
  const documents: NonNullable<Change['documents']>[number][] = []
  const query = { of: 'subscribed', tenant, ...(session === undefined ? {} : { session }) }
  for await (const { key, session: of, value: id } of iterateDocuments(host.store, query, `${event}:`)) {
    if (!key.startsWith(`${event}:`)) break
    const scope = { tenant, session: of }
    const row = await subscribed(host, scope, id)
    if (!row || !row.enabled || row.event !== event) continue
    const { born } = row
    deliveries.push({
      session: of,
      subscription: id,
      task: row.message === null ? deliveryTask(occurrence, id, born) : null,
    })
    documents.push(dueDelivery(scope, { delivery: { occurrence, subscription: id, born, tries: 0 } }, longPast(at)))
  }
  return { deliveries, documents }
}

/** One that cannot be read hears nothing, and keeps nobody else from hearing. */
async function subscribed({ store, logger }: EmitHost, of: Scope, id: string): Promise<SubscriptionRow | undefined> {
  try {
    const kept = await store.document(subscriptionName(of, id))
    return kept && readSubscription(kept)
  } catch (error) {
    if (!isRefusal(error) && !(error instanceof SyntaxError)) throw error
    logger.warn('A subscription cannot be read; it does not hear the event', {
      subscription: id,
      session: of.session,
      error,
    })
    return undefined
  }
}
