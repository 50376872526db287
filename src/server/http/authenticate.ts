// Finds out who makes a request: by a bearer token, by the cookie of a browser, or by the host's own authentication.

import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import { PawlError } from '../../core/errors.ts'
import type { Role, Runtime } from '../../index.ts'
import { type Caller, permissionsOfRoles } from '../permissions.ts'
import { mayUseCookie } from './security-headers.ts'

/** A token that is configured instead of stored: for tests, containers and the local start. */
export interface FixedToken {
  /** The secret text; at least 20 characters. */
  readonly token: string
  /** The roles that it has. */
  readonly roles: readonly Role[]
  /** The tenant it is limited to; null: all tenants. Default: 'default'. */
  readonly tenant?: string | null
  /** The person or service that acts with it. */
  readonly principal: string
}

/** The sender of a request, as the authentication of a host knows it. */
export interface Identity {
  /** The person or service: the principal of calls and the `by` of decisions. */
  readonly principal: string
  /** The roles that it has. */
  readonly roles: readonly Role[]
  /** The tenant it is limited to; null: all tenants. Default: 'default'. */
  readonly tenant?: string | null
}

/** An authenticated identity. */
export interface Authenticated extends Required<Identity> {
  /** Names the token in limits and logs; never the token itself. */
  readonly holder: string
  /** Equal for requests whose `verify` gives the same answer. */
  readonly credential: string
  /** Whether the token is still valid. */
  verify(): Promise<boolean>
}

export interface Authentication {
  readonly runtime: Pick<Runtime, 'tokens'>
  readonly tokens: readonly FixedToken[]
  /** The host's own authentication; null refuses the request. */
  readonly authenticate?: (request: Request) => Identity | null | Promise<Identity | null>
}

export const cookieName = 'pawl_token'
/** Tokens that a login makes for a browser. */
export const browserTokenName = 'browser'

const digest = (text: string): Buffer => hash('sha256', text, 'buffer')

export function presentedToken(request: Request): string | null {
  const authorization = request.headers.get('authorization')
  if (authorization !== null) return /^Bearer +([\x21-\x7e]{1,512}) *$/i.exec(authorization)?.[1] ?? ''
  const cookies = mayUseCookie(request) ? (request.headers.get('cookie') ?? '') : ''
  return new RegExp(`(?:^|;\\s*)${cookieName}=([\\x21-\\x3a\\x3c-\\x7e]{1,512})`).exec(cookies)?.[1] ?? null
}

/** Null if the request carries no valid token. */
export async function authenticate(
  { runtime, tokens, authenticate: byHost }: Authentication,
  request: Request,
): Promise<Authenticated | null> {
  if (byHost) {
    const identity = await byHost(request)
    // Several sessions of the host may be of one person, and each ends by itself.
    if (identity)
      return identified(identity, 'host', `host:${randomUUID()}`, async () => isSame(identity, await byHost(request)))
  }
  const text = presentedToken(request)
  if (text === null || text === '') return null
  const given = digest(text)
  // Every fixed token is compared, so that the time says nothing about which one is similar.
  let fixed: FixedToken | null = null
  for (const each of tokens) if (timingSafeEqual(digest(each.token), given)) fixed = each
  if (fixed) return identified(fixed, 'fixed', `fixed:${fixed.principal}`, async () => true)
  const stored = await runtime.tokens.verify(text)
  if (!stored) return null
  const isValid = async (): Promise<boolean> => (await runtime.tokens.verify(text)) !== undefined
  return { ...identified(stored, 'token', `token:${stored.id}`, isValid), holder: `token:${stored.id}` }
}

/** Only null means all tenants. A right that was taken away ends what was opened with it; a further one does not. */
function isSame({ principal, roles, tenant = 'default' }: Identity, now: Identity | null): boolean {
  if (now === null || now.principal !== principal || (now.tenant === undefined ? 'default' : now.tenant) !== tenant)
    return false
  const allowed = permissionsOfRoles(now.roles)
  return [...permissionsOfRoles(roles)].every((each) => allowed.has(each))
}

const identified = (
  { principal, roles, tenant = 'default' }: Identity,
  kind: string,
  credential: string,
  verify: () => Promise<boolean>,
): Authenticated => ({
  principal,
  roles,
  tenant,
  // People of two tenants may have the same name.
  holder: `${kind}:${JSON.stringify([tenant, principal])}`,
  credential,
  verify,
})

/** A token of one tenant cannot select another one. */
export function callerOf({ principal, roles, tenant }: Authenticated, wanted: string | null, door: string): Caller {
  if (tenant !== null && wanted !== null && wanted !== tenant)
    throw new PawlError('forbidden', 'It is limited to another tenant.')
  return {
    tenant: tenant ?? wanted ?? 'default',
    principal,
    permissions: permissionsOfRoles(roles),
    wholeStore: tenant === null,
    door,
  }
}
