// Emits an event: one commit records it together with a pending delivery for each subscription. The scheduler of any
// worker makes the deliveries, so emitting never fails because a task could not start.

import { checkOptions, option } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import { formatValue } from '../core/format-value.ts'
import { utf8Bytes, fits } from '../core/size-limits.ts'
import { canonicalText } from '../core/canonical-json.ts'
import { encode, containsAttachment } from '../core/tool-value.ts'
import type { Scope } from '../core/scope.ts'
import { eventOf, type EventSubject } from '../store/records/event.ts'
import type { Execution } from '../engine/engine.ts'
import type { Guard, DocumentWrite } from '../store/store.ts'
import { dueDelivery } from './deliver-event.ts'
import { isStartError } from './fire-schedule.ts'
import { overdueTime } from './schedule-row.ts'
import {
  type Delivery,
  deliveryTask,
  occurrenceKey,
  occurrenceName,
  type OccurrenceRow,
  readSubscription,
  type SubscriptionRow,
} from './trigger-row.ts'
import type { SchedulesHost } from './ports.ts'
import { rejectWith } from './start-target.ts'
import { collections } from '../store/collections.ts'

/** A recorded event. */
export interface EmittedEvent {
  /** Name of the event. */
  readonly event: string
  /** The idempotency key it was emitted with. */
  readonly key: string
  /** When, in milliseconds since 1970. */
  readonly at: number
  /** The subscriptions that receive it. */
  readonly deliveries: readonly Delivery[]
  /** True if it was emitted before under this key; nothing new was written. */
  readonly again: boolean
}

const refuse = rejectWith('trigger_invalid')
const eventShape = /^[a-z0-9_.-]{1,128}$/
const reserved = 'pawl.'

export function checkEvent(event: unknown): string {
  if (typeof event !== 'string' || !eventShape.test(event))
    return refuse(`The event is ${formatValue(event)}; its name must be 1 to 128 characters of a-z 0-9 _ . -.`)
  if (event.startsWith(reserved)) refuse(`Event names that begin with '${reserved}' are reserved for the runtime.`)
  return event
}

export interface EmitSource {
  readonly tenant: string
  /** Deliver only to subscriptions of this session. */
  readonly session?: string | undefined
  /** The session through which the host program emits; absent: none. */
  readonly from?: string
  /** The body that emits it. */
  readonly by?: {
    readonly call: string
    readonly session: string
    /** Guards of the commit: the body still holds the lease of its call. */
    fence(): readonly Guard[]
    /** The key was derived from the position in the body: a rerun with another payload returns the first event. */
    readonly placed: boolean
  }
}

export const emitOptions = { key: option.string, session: option.string }
export const runtimeEmitOptions = { ...emitOptions, tenant: option.string }

export async function emit(
  host: SchedulesHost,
  of: EmitSource,
  event: string,
  payload: unknown,
  key: string,
): Promise<EmittedEvent> {
  const { store, clock } = host
  const { tenant, session, by } = of
  checkEvent(event)
  if (!isName(tenant)) refuse('`tenant` must be a non-empty string of at most 512 characters.')
  if (!isName(key))
    refuse(`The key is ${formatValue(key)}; an event needs a key, by which repeated emits are deduplicated.`)
  if (session !== undefined && !isName(session)) refuse('`session` must be the id of a session.')
  const text = encode(payload ?? null)
  if (containsAttachment(payload))
    refuse('The payload contains an attachment, which belongs to its call. Store its bytes as a session file instead.')
  if (!fits(text, host.sizes.arguments))
    refuse(`The payload has ${utf8Bytes(text)} bytes; at most ${host.sizes.arguments} are accepted.`)
  const name = occurrenceName(tenant, occurrenceKey(event, key))
  for (;;) {
    const stored = await store.document(name)
    if (stored)
      return sameOccurrence(
        collections.occurrence.parse(stored.value) as OccurrenceRow,
        by?.placed ? null : text,
        session,
      )
    const at = clock.now()
    const { deliveries, documents } = await planDeliveries(host, { tenant, session }, event, {
      occurrence: name.key,
      at,
    })
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
    // The payload may be meant for a sensitive tool, so it is sealed at rest.
    const occurrence = { ...name, secret: true as const, value: JSON.stringify(row) }
    const events = [eventOf(subjectOf(of), 'trigger.emitted', at, { event, key, deliveries: deliveries.length })]
    const committed = await store.commit({ guards, documents: [occurrence, ...documents], events })
    if (!committed.ok && committed.refused.kind === 'holds') throw new PawlError('lease_lost')
    if (!committed.ok) continue
    if (deliveries.length > 0) host.due.dueAt(0)
    return { event, key, at, deliveries, again: false }
  }
}

/**
 * The subject of the feed event: the session of the emitting body, else the only receiving session (so that the event
 * is erased with it), else the session through which it was emitted.
 */
const subjectOf = ({ tenant, session, from = '', by }: EmitSource): EventSubject => ({
  tenant,
  session: by?.session ?? session ?? from,
  call: by?.call ?? '',
})

/** Emits from a body, fenced like all its writes. */
export async function emitInBody(
  host: SchedulesHost,
  { request, attached }: Pick<Execution, 'request' | 'attached'>,
  event: string,
  payload: unknown,
  { placed, ...options }: { key: string; session: string | undefined; placed: boolean },
): Promise<EmittedEvent> {
  checkOptions(options, emitOptions, 'ctx.trigger()', 'trigger_invalid')
  const by = { call: request.uid, session: request.position.session, fence: () => attached.fence(), placed }
  return emit(host, { tenant: request.position.tenant, session: options.session, by }, event, payload, options.key)
}

function sameOccurrence(
  { event, key, payload, only, at, deliveries }: OccurrenceRow,
  text: string | null,
  session: string | undefined,
): EmittedEvent {
  const same = text === null || (canonicalText(payload) === canonicalText(text) && only === (session ?? null))
  if (!same)
    throw new PawlError(
      'trigger_conflict',
      `The event '${event}' was emitted before under the key ${JSON.stringify(key)} with other content.`,
    )
  return { event, key, at, deliveries, again: true }
}

/** The enabled subscriptions to an event, and the `due` rows of their deliveries. */
async function planDeliveries(
  host: SchedulesHost,
  { tenant, session }: { tenant: string; session?: string | undefined },
  event: string,
  { occurrence, at }: { occurrence: string; at: number },
): Promise<{ deliveries: Delivery[]; documents: DocumentWrite[] }> {
  const deliveries: Delivery[] = []
  const documents: DocumentWrite[] = []
  const receivers = { tenant, ...(session === undefined ? {} : { session }) }
  const subscribed = collections.subscribed.startingWith(host.store, receivers, `${event}:`)
  for await (const { session: of, value: id } of subscribed) {
    const scope = { tenant, session: of }
    const row = await readSubscriber(host, scope, id)
    if (!row || !row.enabled || row.event !== event) continue
    const { born } = row
    deliveries.push({
      session: of,
      subscription: id,
      task: row.message === null ? deliveryTask(occurrence, id, born) : null,
    })
    documents.push(dueDelivery(scope, { delivery: { occurrence, subscription: id, born, tries: 0 } }, overdueTime(at)))
  }
  return { deliveries, documents }
}

/** Undefined for a subscription that cannot be read: it gets no delivery and does not block the others. */
async function readSubscriber(
  { store, logger }: SchedulesHost,
  of: Scope,
  id: string,
): Promise<SubscriptionRow | undefined> {
  try {
    const stored = await store.document(collections.subscription.name(of, id))
    return stored && readSubscription(stored)
  } catch (error) {
    if (!isStartError(error) && !(error instanceof SyntaxError)) throw error
    logger.warn('A subscription cannot be read; the event is not delivered to it', {
      subscription: id,
      session: of.session,
      error,
    })
    return undefined
  }
}
