// Tokens of providers that people connected, per tenant and principal. Tokens are always sealed and handed only to tool
// bodies. Storing a token resumes the calls that wait for it.

import { checkOptions, checkRequiredOptions, option, type OptionTable } from '../core/check-options.ts'
import { hash } from 'node:crypto'
import type { Vote } from '../store/records/approval-request.ts'
import { type EventBodies, eventOf, sessionSubject, type NewEvent } from '../store/records/event.ts'
import { PawlError } from '../core/errors.ts'
import { defined } from '../core/tool-value.ts'
import { lengthPrefixed, type Ids } from '../core/ids.ts'
import type { Clock } from '../core/clock.ts'
import type { Engine } from '../engine/engine.ts'
import type { KnownSecrets } from '../engine/foundation.ts'
import type { DocumentName, Store } from '../store/store.ts'
import { parseItem } from './inbox.ts'
import { isPerson } from './decision-input.ts'
import { collections } from '../store/collections.ts'

/** Names a connected account. */
export interface ConnectionOf {
  /** Name of the provider, such as 'github'. */
  readonly provider: string
  /** Default: 'default'. */
  readonly tenant?: string
  /** Principal that owns the token; without it the token belongs to the whole tenant. */
  readonly principal?: string
}

/** A connected account, without its token. */
export interface ConnectionListed {
  /** Name of the provider. */
  readonly provider: string
  /** The tenant it belongs to. */
  readonly tenant: string
  /** The person it belongs to; null if all of the tenant use it. */
  readonly principal: string | null
  /** When the token expires, in milliseconds since 1970; null if it does not. */
  readonly expiresAt: number | null
  /** When it was set, in milliseconds since 1970. */
  readonly setAt: number
  /** Who set it. */
  readonly by: string
}

/** Connected accounts: tokens of providers per tenant and person. Tool bodies read them with ctx.connection(). */
export interface Connections {
  /** Stores a token, replacing an earlier one, and resumes waiting calls. Returns how many were resumed. */
  set(
    of: ConnectionOf,
    given: { readonly token: string; readonly by: string; readonly expiresAt?: number; readonly door?: string },
  ): Promise<{ resumed: number }>
  /** Returns false if there was none. `by`: who removes it, for the audit. */
  remove(of: ConnectionOf, how?: { readonly by?: string }): Promise<boolean>
  /** Lists connections without their tokens. */
  list(of?: { readonly tenant?: string }): Promise<ConnectionListed[]>
}

interface StoredConnection extends ConnectionListed {
  readonly token: string
  readonly mark: string
}

export interface ConnectionsHost {
  readonly store: Store
  readonly engine: Pick<Engine, 'answer'>
  readonly clock: Clock
  readonly ids: Ids
  readonly knownSecrets: Pick<KnownSecrets, 'learn'>
}

/** The key is a digest, because names may be long and may identify a person. */
const connectionName = (tenant: string, principal: string | null, provider: string): DocumentName =>
  collections.connection.name(
    { tenant, session: '' },
    hash('sha256', lengthPrefixed(principal === null ? 'tenant' : 'person', principal ?? '', provider), 'base64url'),
  )

/** The principal's own connection, else the tenant's. An expired one is ignored. */
export async function connectionFor(
  { store, clock }: Pick<ConnectionsHost, 'store' | 'clock'>,
  { tenant, principal }: { tenant: string; principal: string | null },
  provider: string,
): Promise<StoredConnection | null> {
  for (const owner of principal === null ? [null] : [principal, null]) {
    const document = await store.document(connectionName(tenant, owner, provider))
    const found = document && (collections.connection.parse(document.value) as StoredConnection)
    if (found && (found.expiresAt === null || found.expiresAt > clock.now())) return found
  }
  return null
}

export function openConnections(host: ConnectionsHost): Connections {
  const { store, clock, ids, knownSecrets } = host
  return {
    async set(of, given) {
      checkRequiredOptions(given, connectOptions, 'connections.set()')
      const { token, by, expiresAt, door = 'library' } = given
      const { tenant, principal, provider } = checkConnection(of)
      if (!isPerson(by))
        throw new PawlError(
          'config_invalid',
          '`by` must name the person who connects, as a string without surrounding whitespace.',
        )
      knownSecrets.learn({ tenant, session: '' }, token)
      const setAt = clock.now()
      const value: StoredConnection = {
        provider,
        tenant,
        principal,
        token,
        mark: ids.next(),
        expiresAt: expiresAt ?? null,
        setAt,
        by,
      }
      await store.commit({
        guards: [],
        documents: [{ ...connectionName(tenant, principal, provider), value: JSON.stringify(value), secret: true }],
        events: [changeEvent(tenant, setAt, { provider, change: 'set', by })],
      })
      return { resumed: await resumeWaitingCalls(host, { tenant, principal, provider }, { by, door, at: setAt }) }
    },
    async remove(of, how) {
      const { tenant, principal, provider } = checkConnection(of)
      checkOptions(how, removeOptions, 'connections.remove()')
      const name = connectionName(tenant, principal, provider)
      if (!(await store.document(name))) return false
      const change = { provider, change: 'removed' as const, ...defined({ by: how?.by }) }
      const events = [changeEvent(tenant, clock.now(), change)]
      await store.commit({ guards: [], documents: [{ ...name, value: null }], events })
      return true
    },
    async list(of) {
      checkOptions(of, listConnectionsOptions, 'connections.list()')
      const { tenant = 'default' } = of ?? {}
      const found: ConnectionListed[] = []
      for await (const { value } of collections.connection.iterate(store, { tenant, session: '' })) {
        const { token: _, mark: __, ...listed } = collections.connection.parse(value) as StoredConnection
        found.push(listed)
      }
      return found.toSorted((a, b) => (a.provider < b.provider ? -1 : 1))
    },
  }
}

/** The event belongs to the tenant, not to a session. */
const changeEvent = (tenant: string, at: number, body: EventBodies['connection.changed']): NewEvent =>
  eventOf(sessionSubject({ tenant, session: '' }), 'connection.changed', at, body)

export const connectionOptions = {
  provider: option.required(option.identifier),
  tenant: option.identifier,
  principal: option.either(option.identifier, option.oneOf(null)),
} satisfies OptionTable<ConnectionOf>

export const listConnectionsOptions = {
  tenant: option.identifier,
} satisfies OptionTable<NonNullable<Parameters<Connections['list']>[0]>>

export const connectOptions = {
  token: option.required(option.hidden(option.nonEmptyString)),
  by: option.anything,
  expiresAt: option.finiteNumber,
  door: option.string,
} satisfies OptionTable<Parameters<Connections['set']>[1]>

export const removeOptions = {
  by: option.identifier,
} satisfies OptionTable<NonNullable<Parameters<Connections['remove']>[1]>>

function checkConnection(of: ConnectionOf): { tenant: string; principal: string | null; provider: string } {
  checkRequiredOptions(of, connectionOptions, 'connections')
  const { tenant = 'default', principal = null, provider } = of
  return { tenant, principal, provider }
}

/** Resumes the calls that wait for this connection. */
async function resumeWaitingCalls(
  { store, engine }: ConnectionsHost,
  { tenant, principal, provider }: { tenant: string; principal: string | null; provider: string },
  vote: Vote,
): Promise<number> {
  let resumed = 0
  for await (const document of collections.inbox.iterate(store, { tenant })) {
    const item = parseItem(document)
    if (
      item.kind !== 'connection' ||
      item.provider !== provider ||
      (principal !== null && item.principal !== principal)
    )
      continue
    const wait = await store.wait(document.key)
    const call = wait && (await store.call(wait.call))
    if (!wait || !call || wait.resolution !== null) continue
    const { position, uid } = call
    const { by, door } = vote
    const body = {
      wait: wait.id,
      asks: item.kind,
      decision: 'approve' as const,
      by,
      door,
      fingerprint: item.fingerprint,
    }
    const event = eventOf(
      { tenant: position.tenant, session: position.session, call: uid },
      'decision.made',
      vote.at,
      body,
    )
    const decided = { decision: 'approve', at: vote.at, votes: [vote] }
    if (await engine.answer(wait, call, { value: decided }, { events: [event] })) resumed++
  }
  return resumed
}
