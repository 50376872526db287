// What people have connected (POL-5): tokens of providers, per tenant and person, sealed whatever else is. They are handed to bodies and to
// nobody else. Who connects a provider lets the calls go on that wait for it.

import { createHash } from 'node:crypto'
import type { Vote } from '../store/records/approval-request.ts'
import { eventOf, ofSession, type NewEvent } from '../store/records/event.ts'
import { PawlError } from '../core/errors.ts'
import { frame, isName, type Ids } from '../core/ids.ts'
import type { Clock } from '../core/clock.ts'
import type { Engine } from '../engine/engine.ts'
import type { Redactor } from '../security/redact.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { DocumentName, Store } from '../store/store.ts'
import { itemIn } from './inbox.ts'
import { isPerson } from './decision-input.ts'

export interface ConnectionOf {
  readonly provider: string
  /** 'default' if not said. */
  readonly tenant?: string
  /** Whose it is; without it the whole tenant's. */
  readonly principal?: string
}

export interface ConnectionListed {
  readonly provider: string
  readonly tenant: string
  readonly principal: string | null
  readonly expiresAt: number | null
  readonly setAt: number
  readonly by: string
}

export interface Connections {
  /** Keeps a token, in place of the one before, and lets waiting calls go on; tells how many. */
  set(
    of: ConnectionOf,
    given: { readonly token: string; readonly by: string; readonly expiresAt?: number; readonly door?: string },
  ): Promise<{ resumed: number }>
  /** False if there was none. */
  remove(of: ConnectionOf): Promise<boolean>
  /** Without tokens. */
  list(of?: { readonly tenant?: string }): Promise<ConnectionListed[]>
}

interface ConnectionKept extends ConnectionListed {
  readonly token: string
  readonly mark: string
}

export interface ConnectionsHost {
  readonly store: Store
  readonly engine: () => Pick<Engine, 'answer'>
  readonly clock: Clock
  readonly ids: Ids
  readonly redact: Redactor
}

/** By digest: a name may be long, and says who. */
const nameOf = (tenant: string, principal: string | null, provider: string): DocumentName => ({
  of: 'connection',
  tenant,
  session: '',
  key: createHash('sha256')
    .update(frame(principal === null ? 'tenant' : 'person', principal ?? '', provider))
    .digest('base64url'),
})

/** The person's own, else the tenant's. One that has expired is none. */
export async function connectionFor(
  { store, clock }: Pick<ConnectionsHost, 'store' | 'clock'>,
  { tenant, principal }: { tenant: string; principal: string | null },
  provider: string,
): Promise<ConnectionKept | null> {
  for (const whose of principal === null ? [null] : [principal, null]) {
    const kept = await store.document(nameOf(tenant, whose, provider))
    const found = kept && (JSON.parse(kept.value) as ConnectionKept)
    if (found && (found.expiresAt === null || found.expiresAt > clock.now())) return found
  }
  return null
}

export function openConnections(host: ConnectionsHost): Connections {
  const { store, clock, ids, redact } = host
  return {
    async set(of, { token, by, expiresAt, door = 'library' }) {
      const { tenant, principal, provider } = checked(of)
      if (typeof token !== 'string' || token === '')
        throw new PawlError('config_invalid', 'The token of a connection must be a text.')
      if (!isPerson(by))
        throw new PawlError('config_invalid', 'by must name who connects: a text without blanks around it.')
      if (expiresAt !== undefined && !Number.isFinite(expiresAt))
        throw new PawlError('config_invalid', 'expiresAt must be an instant: milliseconds since 1970.')
      redact.learn(token)
      const setAt = clock.now()
      const value: ConnectionKept = {
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
        documents: [{ ...nameOf(tenant, principal, provider), value: JSON.stringify(value), secret: true }],
        events: [changed(tenant, provider, 'set', setAt)],
      })
      return { resumed: await resume(host, { tenant, principal, provider }, { by, door, at: setAt }) }
    },
    async remove(of) {
      const { tenant, principal, provider } = checked(of)
      const name = nameOf(tenant, principal, provider)
      if (!(await store.document(name))) return false
      const events = [changed(tenant, provider, 'removed', clock.now())]
      await store.commit({ guards: [], documents: [{ ...name, value: null }], events })
      return true
    },
    async list({ tenant = 'default' } = {}) {
      const found: ConnectionListed[] = []
      for await (const { value } of iterateDocuments(store, { of: 'connection', tenant, session: '' })) {
        const { token: _, mark: __, ...listed } = JSON.parse(value) as ConnectionKept
        found.push(listed)
      }
      return found.toSorted((a, b) => (a.provider < b.provider ? -1 : 1))
    },
  }
}

/** It is no session's. */
const changed = (tenant: string, provider: string, change: 'set' | 'removed', at: number): NewEvent =>
  eventOf(ofSession({ tenant, session: '' }), 'connection.changed', at, { provider, change })

function checked({ tenant = 'default', principal, provider }: ConnectionOf): {
  tenant: string
  principal: string | null
  provider: string
} {
  for (const [what, value] of Object.entries({ tenant, principal: principal ?? 'nobody', provider }))
    if (!isName(value)) throw new PawlError('config_invalid', `The ${what} of a connection must be a name.`)
  return { tenant, principal: principal ?? null, provider }
}

/** Calls that wait for this very connection go on. */
async function resume(
  { store, engine }: ConnectionsHost,
  { tenant, principal, provider }: { tenant: string; principal: string | null; provider: string },
  vote: Vote,
): Promise<number> {
  let resumed = 0
  for await (const kept of iterateDocuments(store, { of: 'inbox', tenant })) {
    const item = itemIn(kept)
    if (
      item.kind !== 'connection' ||
      item.provider !== provider ||
      (principal !== null && item.principal !== principal)
    )
      continue
    const wait = await store.wait(kept.key)
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
    const made = eventOf(
      { tenant: position.tenant, session: position.session, call: uid },
      'decision.made',
      vote.at,
      body,
    )
    const decided = { decision: 'approve', at: vote.at, votes: [vote] }
    if (await engine().answer(wait, call, { value: decided }, { events: [made] })) resumed++
  }
  return resumed
}
