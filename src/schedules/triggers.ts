// TRIGGERS of a session (CRON-4): tasks, or messages, that begin when an event of a name is emitted. A subscription belongs to its session, an event to its tenant.

import { PawlError } from '../core/errors.ts'
import { canonical } from '../core/canonical-json.ts'
import { frame } from '../core/ids.ts'
import { formatValue } from '../core/format-value.ts'
import { decode, type Json } from '../core/value.ts'
import { endName } from '../store/records/task-record.ts'
import { eventOf, ofSession, type EventBodies, type EventType, type NewEvent } from '../store/records/event.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { Change, Guard } from '../store/store.ts'
import { checkEmit, checkEvent, emit, type EmitHost, type EmittedEvent } from './emit-event.ts'
import type { Owner } from '../tasks/ports.ts'
import {
  heardName,
  readSubscription,
  shownSubscription,
  type Subscription,
  subscriptionName,
  type SubscriptionRow,
} from './trigger-row.ts'
import type { KeyedMutex } from '../core/keyed-mutex.ts'
import { checkedId, checkFields, checkStart, refusing, type WhatStarts } from './start-spec.ts'

export interface Subscribe extends WhatStarts {
  /** The name of the event. */
  readonly event: string
  /** The name of the argument that gets the event's payload. */
  readonly payloadTo?: string
}

export interface Emit {
  /** The same event under the same key has happened once, however often it is emitted. */
  readonly key: string
  /** Only subscriptions of this session hear it. */
  readonly session?: string
}

export interface Triggers {
  /** On record when it resolves. The same `id` with the same content is the same subscription. */
  subscribe(subscription: Subscribe): Promise<Subscription>
  /** Removes it, with what has not been delivered yet. Tasks that it started go on. False if there was none. */
  unsubscribe(id: string): Promise<boolean>
  get(id: string): Promise<Subscription | undefined>
  /** In the order in which they were made. */
  list(): Promise<Subscription[]>
  /** It hears no event until it is resumed; those in between are not made up for. */
  pause(id: string): Promise<Subscription>
  resume(id: string): Promise<Subscription>
  /** Tells an event to all who subscribed to it in the tenant. On record when it resolves; what it starts is started by any worker that has the tool. */
  emit(event: string, payload: unknown, how: Emit): Promise<EmittedEvent>
}

export interface TriggersHost extends EmitHost {
  readonly mutex: KeyedMutex
}

const most = 100
const mostTries = 1_000
const fields = ['event', 'tool', 'input', 'payloadTo', 'message', 'title', 'wake', 'id'] as const
const refuse = refusing('trigger_invalid')

export function openTriggers(host: TriggersHost, owner: Owner): Triggers {
  const { store, clock, ids } = host
  const of = { tenant: owner.tenant, session: owner.session }
  /** Whatever makes or removes one goes through this by compare-and-set, so they are counted right. */
  const gate = { of: 'trigger-gate', ...of, key: 'gate' }
  const bump = { ...gate, value: '1' }

  const told = <T extends EventType>(type: T, body: EventBodies[T]): NewEvent =>
    eventOf(ofSession(of), type, clock.now(), body)
  const all = async (): Promise<{ id: string; row: SubscriptionRow }[]> => {
    const found: { id: string; row: SubscriptionRow }[] = []
    for await (const kept of iterateDocuments(store, { of: 'subscription', ...of }))
      found.push({ id: kept.key, row: readSubscription(kept) })
    return found.toSorted((a, b) => a.row.createdAt - b.row.createdAt || (a.row.born < b.row.born ? -1 : 1))
  }
  const until = <T>(attempt: (guards: Guard[]) => Promise<T | undefined>): Promise<T> =>
    host.mutex.run(frame('triggers', of.tenant, of.session), async () => {
      for (let tries = 0; tries < mostTries; tries++) {
        const opened = await store.document(gate)
        const ended = await attempt([{ kind: 'kept', ...gate, revision: opened?.revision ?? 0 }])
        if (ended !== undefined) return ended
      }
      throw new PawlError('store_unavailable', 'Others were always first to change these subscriptions.')
    })
  const keepRow = (id: string, row: SubscriptionRow): NonNullable<Change['documents']> => {
    const sealed = row.secret ? { secret: true as const } : {}
    return [
      { ...subscriptionName(of, id), ...sealed, value: JSON.stringify(row) },
      { ...heardName(of, id, row.event), value: id },
      bump,
    ]
  }
  const enable = (id: string, enabled: boolean): Promise<Subscription> =>
    until(async (guards) => {
      const kept = typeof id === 'string' && id !== '' ? await store.document(subscriptionName(of, id)) : undefined
      if (!kept) throw new PawlError('trigger_unknown', `The id is ${formatValue(id)}.`)
      const before = readSubscription(kept)
      if (before.enabled === enabled) return shownSubscription(id, before)
      const row = { ...before, enabled }
      const events = [told(enabled ? 'trigger.resumed' : 'trigger.paused', { trigger: id })]
      return (await store.commit({ guards, documents: keepRow(id, row), events })).ok
        ? shownSubscription(id, row)
        : undefined
    })

  return {
    async subscribe(request) {
      checkFields(request, fields, 'trigger_invalid')
      const event = checkEvent(request.event)
      const payloadTo = payloadArgument(request)
      const { secret, ...what } = await checkStart(host, owner, request, {
        code: 'trigger_invalid',
        partial: payloadTo !== null,
      })
      if (payloadTo !== null && what.input !== null && !isObject(decode(what.input)))
        refuse('With payloadTo the input must be an object.')
      const id = checkedId(request.id ?? `trigger_${ids.next()}`, 'trigger_invalid')
      const { principal, policy, unattended } = owner
      const row: SubscriptionRow = {
        ...what,
        event,
        payloadTo,
        born: ids.next(),
        behalf: { principal, ...(policy === undefined ? {} : { policy }), ...(unattended ? { unattended } : {}) },
        ...(secret ? { secret: true as const } : {}),
        enabled: true,
        createdAt: clock.now(),
      }
      return until(async (guards) => {
        const there = await all()
        const same = there.find((each) => each.id === id)
        if (same) {
          if (contentOf(same.row) !== contentOf(row)) throw new PawlError('trigger_conflict', `The id is '${id}'.`)
          return shownSubscription(id, same.row)
        }
        if (there.length >= most) throw new PawlError('triggers_full', `${there.length} are there.`)
        const ended = { kind: 'kept', ...endName(of, ''), revision: 0 } as const
        const events = [told('trigger.subscribed', { trigger: id, event })]
        const written = await store.commit({ guards: [...guards, ended], documents: keepRow(id, row), events })
        if (!written.ok && written.refused.kind === 'kept' && written.refused.of === ended.of)
          throw new PawlError('session_ended')
        return written.ok ? shownSubscription(id, row) : undefined
      })
    },
    unsubscribe: (id) =>
      until(async (guards) => {
        const kept = typeof id === 'string' && id !== '' ? await store.document(subscriptionName(of, id)) : undefined
        if (!kept) return false
        const gone = [subscriptionName(of, id), heardName(of, id, readSubscription(kept).event)].map((name) => ({
          ...name,
          value: null,
        }))
        const events = [told('trigger.unsubscribed', { trigger: id })]
        return (await store.commit({ guards, documents: [...gone, bump], events })).ok ? true : undefined
      }),
    async get(id) {
      const kept = typeof id === 'string' && id !== '' ? await store.document(subscriptionName(of, id)) : undefined
      return kept && shownSubscription(id, readSubscription(kept))
    },
    list: async () => (await all()).map(({ id, row }) => shownSubscription(id, row)),
    pause: (id) => enable(id, false),
    resume: (id) => enable(id, true),
    async emit(event, payload, how) {
      checkEmit(how)
      return emit(host, { tenant: of.tenant, session: how?.session, from: of.session }, event, payload, how?.key)
    },
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

function payloadArgument({ payloadTo, message }: Subscribe): string | null {
  if (payloadTo === undefined) return null
  if (message !== undefined) refuse('A message is told with its payload; payloadTo is for a tool.')
  if (typeof payloadTo !== 'string' || payloadTo === '' || !payloadTo.isWellFormed() || payloadTo === '__proto__')
    refuse('payloadTo must be the name of an argument.')
  return payloadTo
}

/** What was asked for, as one text. */
function contentOf({ event, tool, input, payloadTo, message, title, wake }: SubscriptionRow): string {
  const content = input === null ? null : canonical(JSON.parse(input) as Json)
  return JSON.stringify([event, tool, content, payloadTo, message, title, wake])
}
