// Emits an event (CRON-4): one change puts it on record and reserves its deliveries, one for each who has subscribed. What starts of them is the
// scheduler's affair, on whatever worker: emitting never fails because something could not start.

import { PawlError } from '../kernel/errors.ts'
import { isName } from '../kernel/id.ts'
import { bytesIn, fits } from '../kernel/sizes.ts'
import { canonical } from '../kernel/canonical.ts'
import { encode, type Json } from '../kernel/value.ts'
import { everyKept } from '../store/every-kept.ts'
import type { Change } from '../store/store.ts'
import type { BackgroundHost } from './host.ts'
import { dueDelivery } from './deliver.ts'
import {
  type Delivery,
  deliveryTask,
  occurrenceKey,
  occurrenceName,
  type OccurrenceRow,
  readSubscription,
  subscriptionName,
} from './trigger-row.ts'
import { refusing } from './what-starts.ts'

/** An event that was emitted. */
export interface Occurrence {
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
    return refuse(`The event is ${JSON.stringify(event)?.slice(0, 200)}; its name must be 1 to 128 of a-z 0-9 _ . -.`)
  if (event.startsWith(reserved)) refuse(`Names of events that begin with '${reserved}' are the runtime's.`)
  return event
}

/** `session`: only subscriptions of that one hear it. */
export async function emit(
  host: EmitHost,
  { tenant, session }: { tenant: string; session?: string | undefined },
  event: string,
  payload: unknown,
  key: string,
): Promise<Occurrence> {
  const { store, clock } = host
  checkEvent(event)
  if (!isName(tenant)) refuse('The tenant must be a name.')
  if (!isName(key))
    refuse(`The key is ${JSON.stringify(key)?.slice(0, 200)}; an event needs one, so that emitted twice it has happened once.`)
  if (session !== undefined && !isName(session)) refuse('The session must be the id of one.')
  const text = encode(payload ?? null)
  if (!fits(text, host.mostBytes)) refuse(`The payload has ${bytesIn(text)} bytes; at most ${host.mostBytes} are kept.`)
  const name = occurrenceName(tenant, occurrenceKey(event, key))
  for (;;) {
    const there = await store.kept(name)
    if (there) return sameOccurrence(JSON.parse(there.value) as OccurrenceRow, text, session)
    const at = clock.now()
    const { deliveries, keep } = await heardBy(host, { tenant, session }, event, { occurrence: name.key, at })
    const row: OccurrenceRow = { event, key, payload: text, only: session ?? null, at, deliveries }
    const guards = [{ kind: 'kept', ...name, revision: 0 }] as const
    // What it carries may be for a tool whose payloads are sealed.
    const committed = await store.commit({ guards, keep: [{ ...name, secret: true, value: JSON.stringify(row) }, ...keep], events: [] })
    if (!committed.ok) continue
    if (deliveries.length > 0) host.due(at)
    return { event, key, at, deliveries, again: false }
  }
}

function sameOccurrence(
  { event, key, payload, only, at, deliveries }: OccurrenceRow,
  text: string,
  session: string | undefined,
): Occurrence {
  const same = canonical(JSON.parse(payload) as Json) === canonical(JSON.parse(text) as Json) && only === (session ?? null)
  if (!same)
    throw new PawlError('trigger_conflict', `The event '${event}' is on record under the key ${JSON.stringify(key)} with other content.`)
  return { event, key, at, deliveries, again: true }
}

/** Who hears it, and the rows of their deliveries. */
async function heardBy(
  { store }: EmitHost,
  { tenant, session }: { tenant: string; session?: string | undefined },
  event: string,
  { occurrence, at }: { occurrence: string; at: number },
): Promise<{ deliveries: Delivery[]; keep: NonNullable<Change['keep']>[number][] }> {
  const deliveries: Delivery[] = []
  const keep: NonNullable<Change['keep']>[number][] = []
  const query = { of: 'subscribed', tenant, ...(session === undefined ? {} : { session }) }
  for await (const { key, session: of, value: id } of everyKept(store, query, `${event}:`)) {
    if (!key.startsWith(`${event}:`)) break
    const scope = { tenant, session: of }
    const kept = await store.kept(subscriptionName(scope, id))
    const row = kept && readSubscription(kept)
    if (!row || !row.enabled || row.event !== event) continue
    const { born } = row
    deliveries.push({ session: of, subscription: id, task: row.message === null ? deliveryTask(occurrence, id, born) : null })
    keep.push(dueDelivery(scope, { delivery: { occurrence, subscription: id, born, tries: 0 } }, at))
  }
  return { deliveries, keep }
}
