// The triggers of one session: an emitted event starts a task or delivers a message for every subscription to its name.
// A subscription belongs to its session; an event reaches all sessions of the tenant.

import { checkOptions, checkRequiredOptions, option, type OptionTable } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import { canonicalText } from '../core/canonical-json.ts'
import { lengthPrefixed } from '../core/ids.ts'
import { formatValue } from '../core/format-value.ts'
import { decode } from '../core/tool-value.ts'
import { eventOf, sessionSubject, type EventBodies, type EventType, type NewEvent } from '../store/records/event.ts'
import type { Guard, DocumentWrite } from '../store/store.ts'
import { emitOptions, checkEvent, emit, type EmittedEvent } from './emit-event.ts'
import type { Owner } from '../tasks/ports.ts'
import {
  subscriptionIndexName,
  readSubscription,
  toSubscription,
  type Subscription,
  type SubscriptionRow,
} from './trigger-row.ts'
import type { SchedulesHost } from './ports.ts'
import { checkStartId, checkStart, rejectWith, startOptions, type StartSpec } from './start-target.ts'
import { collections } from '../store/collections.ts'

/** A subscription to create: which event, and what to start. */
export interface Subscribe extends StartSpec {
  /** The name of the event. */
  readonly event: string
  /** The tool argument that receives the payload of the event. */
  readonly payloadTo?: string
}

/** Options of emit(). */
export interface Emit {
  /** Idempotency key: emitting the same event again under the same key has no further effect. */
  readonly key: string
  /** Deliver only to subscriptions of this session; default: all sessions of the tenant. */
  readonly session?: string
}

/** Creates and manages the subscriptions of a session. */
export interface Triggers {
  /** Durable when it resolves. Idempotent: the same `id` with the same content returns the existing subscription. */
  subscribe(subscription: Subscribe): Promise<Subscription>
  /** Removes the subscription and its pending deliveries. Tasks it started continue. False if there was none. */
  unsubscribe(id: string): Promise<boolean>
  /** The subscription with this id; undefined if there is none. */
  get(id: string): Promise<Subscription | undefined>
  /** In order of creation. */
  list(): Promise<Subscription[]>
  /** Events emitted until `resume` are not delivered, not even later. */
  pause(id: string): Promise<Subscription>
  /** Delivers events again after `pause`. Events in between are not delivered. */
  resume(id: string): Promise<Subscription>
  /**
   * Emits an event to all subscriptions of the tenant. Durable when it resolves; the tasks are started by any worker
   * that has the tool.
   */
  emit(event: string, payload: unknown, how: Emit): Promise<EmittedEvent>
}

const maxSubscriptions = 100
const maxAttempts = 1_000
export const subscribeOptions = {
  ...startOptions,
  event: option.anything,
  payloadTo: option.string,
} satisfies OptionTable<Subscribe>
const refuse = rejectWith('trigger_invalid')

export function openTriggers(host: SchedulesHost, owner: Owner): Triggers {
  const { store, clock, ids } = host
  const of = { tenant: owner.tenant, session: owner.session }
  /** Every change compares and sets this document, so that the limit is counted exactly. */
  const gate = collections.triggerGate.name(of)
  const bump = { ...gate, value: '1' }

  const sessionEvent = <T extends EventType>(type: T, body: EventBodies[T]): NewEvent =>
    eventOf(sessionSubject(of), type, clock.now(), body)
  const all = async (): Promise<{ id: string; row: SubscriptionRow }[]> => {
    const found: { id: string; row: SubscriptionRow }[] = []
    for await (const stored of collections.subscription.iterate(store, of))
      found.push({ id: stored.key, row: readSubscription(stored) })
    return found.toSorted((a, b) => a.row.createdAt - b.row.createdAt || (a.row.born < b.row.born ? -1 : 1))
  }
  /** Repeats an attempt until its commit is not rejected by a concurrent change. */
  const retryUntilCommitted = <T>(attempt: (guards: Guard[]) => Promise<T | undefined>): Promise<T> =>
    host.mutex.run(lengthPrefixed('triggers', of.tenant, of.session), async () => {
      for (let tries = 0; tries < maxAttempts; tries++) {
        const gateRow = await store.document(gate)
        const result = await attempt([{ kind: 'kept', ...gate, revision: gateRow?.revision ?? 0 }])
        if (result !== undefined) return result
      }
      throw new PawlError(
        'store_unavailable',
        'Too many concurrent changes to the subscriptions; nothing was written. Try again.',
      )
    })
  const subscriptionRows = (id: string, row: SubscriptionRow): readonly DocumentWrite[] => {
    const sealed = row.secret ? { secret: true as const } : {}
    return [
      { ...collections.subscription.name(of, id), ...sealed, value: JSON.stringify(row) },
      { ...subscriptionIndexName(of, id, row.event), value: id },
      bump,
    ]
  }
  const enable = (id: string, enabled: boolean): Promise<Subscription> =>
    retryUntilCommitted(async (guards) => {
      const stored =
        typeof id === 'string' && id !== '' ? await store.document(collections.subscription.name(of, id)) : undefined
      if (!stored) throw new PawlError('trigger_unknown', `The id is ${formatValue(id)}.`)
      const before = readSubscription(stored)
      if (before.enabled === enabled) return toSubscription(id, before)
      const row = { ...before, enabled }
      const events = [sessionEvent(enabled ? 'trigger.resumed' : 'trigger.paused', { trigger: id })]
      return (await store.commit({ guards, documents: subscriptionRows(id, row), events })).ok
        ? toSubscription(id, row)
        : undefined
    })

  return {
    async subscribe(request) {
      checkRequiredOptions(request, subscribeOptions, 'triggers.subscribe()', 'trigger_invalid')
      const event = checkEvent(request.event)
      const payloadTo = payloadArgument(request)
      const { secret, ...start } = await checkStart(host, owner, request, {
        code: 'trigger_invalid',
        partial: payloadTo !== null,
      })
      if (payloadTo !== null && start.input !== null && !isObject(decode(start.input)))
        refuse('`input` must be an object if `payloadTo` is given.')
      const id = checkStartId(request.id ?? `trigger_${ids.next()}`, 'trigger_invalid')
      const { principal, policy, unattended } = owner
      const row: SubscriptionRow = {
        ...start,
        event,
        payloadTo,
        born: ids.next(),
        behalf: { principal, ...(policy === undefined ? {} : { policy }), ...(unattended ? { unattended } : {}) },
        ...(secret ? { secret: true as const } : {}),
        enabled: true,
        createdAt: clock.now(),
      }
      return retryUntilCommitted(async (guards) => {
        const existing = await all()
        const same = existing.find((each) => each.id === id)
        if (same) {
          if (subscriptionContent(same.row) !== subscriptionContent(row))
            throw new PawlError('trigger_conflict', `The id is '${id}'.`)
          return toSubscription(id, same.row)
        }
        if (existing.length >= maxSubscriptions)
          throw new PawlError('triggers_full', `The session has ${existing.length} subscriptions.`)
        const ended = { kind: 'kept', ...collections.sessionEnd.name(of), revision: 0 } as const
        const events = [sessionEvent('trigger.subscribed', { trigger: id, event })]
        const written = await store.commit({ guards: [...guards, ended], documents: subscriptionRows(id, row), events })
        if (!written.ok && written.refused.kind === 'kept' && written.refused.of === ended.of)
          throw new PawlError('session_ended')
        return written.ok ? toSubscription(id, row) : undefined
      })
    },
    unsubscribe: (id) =>
      retryUntilCommitted(async (guards) => {
        const stored =
          typeof id === 'string' && id !== '' ? await store.document(collections.subscription.name(of, id)) : undefined
        if (!stored) return false
        const names = [
          collections.subscription.name(of, id),
          subscriptionIndexName(of, id, readSubscription(stored).event),
        ]
        const removed = names.map((name) => ({
          ...name,
          value: null,
        }))
        const events = [sessionEvent('trigger.unsubscribed', { trigger: id })]
        return (await store.commit({ guards, documents: [...removed, bump], events })).ok ? true : undefined
      }),
    async get(id) {
      const stored =
        typeof id === 'string' && id !== '' ? await store.document(collections.subscription.name(of, id)) : undefined
      return stored && toSubscription(id, readSubscription(stored))
    },
    list: async () => (await all()).map(({ id, row }) => toSubscription(id, row)),
    pause: (id) => enable(id, false),
    resume: (id) => enable(id, true),
    async emit(event, payload, options) {
      checkOptions(options, emitOptions, 'triggers.emit()', 'trigger_invalid')
      const source = { tenant: of.tenant, session: options?.session, from: of.session }
      return emit(host, source, event, payload, options?.key)
    },
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

function payloadArgument({ payloadTo, message }: Subscribe): string | null {
  if (payloadTo === undefined) return null
  if (message !== undefined) refuse('`payloadTo` is for a tool; a message always includes the payload.')
  if (typeof payloadTo !== 'string' || payloadTo === '' || !payloadTo.isWellFormed() || payloadTo === '__proto__')
    refuse('`payloadTo` must be the name of an argument.')
  return payloadTo
}

/** The request in canonical form, to compare two subscriptions. */
function subscriptionContent({ event, tool, input, payloadTo, message, title, wake }: SubscriptionRow): string {
  const content = input === null ? null : canonicalText(input)
  return JSON.stringify([event, tool, content, payloadTo, message, title, wake])
}
