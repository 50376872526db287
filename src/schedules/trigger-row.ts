// The rows of triggers. A subscription has a second row that indexes it by event name within the tenant. An occurrence
// is an emitted event, identified by its key; each pending delivery of it is a row in the `due` collection.

import { hash } from 'node:crypto'
import { lengthPrefixed } from '../core/ids.ts'
import { decode, type Json } from '../core/tool-value.ts'
import type { Scope } from '../core/scope.ts'
import type { StoredDocument, DocumentName } from '../store/store.ts'
import type { StartIdentity } from './schedule-row.ts'
import type { CheckedStart } from './start-target.ts'
import { collections } from '../store/collections.ts'

export interface SubscriptionRow extends Omit<CheckedStart, 'secret'> {
  /** Unique id of this subscription, to distinguish it from an earlier one with the same id. */
  readonly born: string
  readonly event: string
  /** The tool argument that receives the payload. */
  readonly payloadTo: string | null
  readonly behalf: StartIdentity
  readonly secret?: true
  readonly enabled: boolean
  readonly createdAt: number
}

/** The current state of a subscription. */
export interface Subscription extends Pick<
  SubscriptionRow,
  'event' | 'tool' | 'payloadTo' | 'message' | 'title' | 'wake' | 'enabled' | 'createdAt'
> {
  /** The given or generated id. */
  readonly id: string
  /** Arguments of the tool, without the payload of the event. */
  readonly input: Json
}

/** A subscription that receives an emitted event, and the task it starts; null for a message. */
export interface Delivery {
  /** The session that got it. */
  readonly session: string
  /** Id of the subscription. */
  readonly subscription: string
  /** Id of the task it started; null if it delivered a message. */
  readonly task: string | null
}

export interface OccurrenceRow {
  readonly event: string
  readonly key: string
  /** Encoded as recorded. */
  readonly payload: string
  /** The only session that receives it; null: all sessions of the tenant. */
  readonly only: string | null
  readonly at: number
  readonly deliveries: readonly Delivery[]
  /**
   * The call whose body emitted it: retention keeps this row at least until the call settles, for reruns of the body.
   */
  readonly call?: string
}

/** The value of the `due` row of a pending delivery. */
export interface DeliveryRow {
  readonly delivery: {
    readonly occurrence: string
    readonly subscription: string
    readonly born: string
    /** Number of failed attempts to start the task. */
    readonly tries: number
  }
}

/** Event names contain no colon, so the prefix `event:` matches exactly one event. */
export const subscriptionIndexName = (of: Scope, id: string, event: string): DocumentName =>
  collections.subscribed.name(of, `${event}:${digest(of.session, id)}`)

export const occurrenceKey = (event: string, key: string): string => digest(event, key)
export const occurrenceName = (tenant: string, key: string): DocumentName =>
  collections.occurrence.name({ tenant, session: '' }, key)

/** Deterministic, so that a repeated delivery finds the task it started before. */
export const deliveryTask = (occurrence: string, id: string, born: string): string =>
  `${id}.${digest(occurrence, id, born).slice(0, 32)}`

const digest = (...what: readonly string[]): string => hash('sha256', lengthPrefixed(...what), 'base64url')

export const readSubscription = ({ value }: StoredDocument): SubscriptionRow =>
  collections.subscription.parse(value) as SubscriptionRow

export function toSubscription(id: string, row: SubscriptionRow): Subscription {
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
