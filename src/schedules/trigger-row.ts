// Subscriptions and occurrences as they are kept (CRON-4). A subscription has a second row by which it is found: by its event, in the whole tenant.
// An occurrence is an event that was emitted, known by its key; each of its deliveries is a row among what is due, until it is made.

import { hash } from 'node:crypto'
import { frame } from '../core/ids.ts'
import { decode, type Json } from '../core/value.ts'
import type { StoredDocument, DocumentName } from '../store/store.ts'
import type { Behalf, Scope } from './schedule-row.ts'
import type { CheckedStart } from './start-spec.ts'

export interface SubscriptionRow extends Omit<CheckedStart, 'secret'> {
  /** Tells it from one that had its id before. */
  readonly born: string
  readonly event: string
  /** The argument that gets the payload. */
  readonly payloadTo: string | null
  readonly behalf: Behalf
  readonly secret?: true
  readonly enabled: boolean
  readonly createdAt: number
}

/** A subscription as it stands. */
export interface Subscription extends Pick<
  SubscriptionRow,
  'event' | 'tool' | 'payloadTo' | 'message' | 'title' | 'wake' | 'enabled' | 'createdAt'
> {
  readonly id: string
  readonly input: Json
}

/** A subscription that an occurrence is delivered to, and the task of it; null for a message. */
export interface Delivery {
  readonly session: string
  readonly subscription: string
  readonly task: string | null
}

export interface OccurrenceRow {
  readonly event: string
  readonly key: string
  /** In its recorded form. */
  readonly payload: string
  /** The one session it was emitted to. */
  readonly only: string | null
  readonly at: number
  readonly deliveries: readonly Delivery[]
  /** The call whose body emitted it: it is known by its key at least until that has settled. */
  readonly call?: string
}

/** What is kept of a delivery while it is due. */
export interface DeliveryRow {
  readonly delivery: {
    readonly occurrence: string
    readonly subscription: string
    readonly born: string
    /** How often it could not start. */
    readonly tries: number
  }
}

export const subscriptionName = ({ tenant, session }: Scope, id: string): DocumentName => ({
  of: 'subscription',
  tenant,
  session,
  key: id,
})

/** Names of events have no colon, so none is the beginning of another's. */
export const heardName = ({ tenant, session }: Scope, id: string, event: string): DocumentName => ({
  of: 'subscribed',
  tenant,
  session,
  key: `${event}:${digest(session, id)}`,
})

export const occurrenceKey = (event: string, key: string): string => digest(event, key)
export const occurrenceName = (tenant: string, key: string): DocumentName => ({
  of: 'occurrence',
  tenant,
  session: '',
  key,
})

/** The same however often it is delivered. */
export const deliveryTask = (occurrence: string, id: string, born: string): string =>
  `${id}.${digest(occurrence, id, born).slice(0, 32)}`

const digest = (...what: readonly string[]): string => hash('sha256', frame(...what), 'base64url')

export const readSubscription = ({ value }: StoredDocument): SubscriptionRow => JSON.parse(value) as SubscriptionRow

export function shownSubscription(id: string, row: SubscriptionRow): Subscription {
  const { event, tool, input, payloadTo, message, title, wake, enabled, createdAt } = row
  return {
    id,
    event,
    tool,
    input: input === null ? null : decode(input),
    payloadTo,
    message,
    title,
    wake,
    enabled,
    createdAt,
  }
}
