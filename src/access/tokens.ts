// API tokens: who may use a server on this runtime, with which roles and in which tenant. The store has only the
// SHA-256 of a token, which is also its key, so checking a token reads one document. Used by the runtime's public API.

import { randomBytes } from 'node:crypto'
import { isPerson } from '../approvals/decision-input.ts'
import { checkOptions, checkRequiredOptions, option, type OptionTable } from '../core/check-options.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import type { Scope } from '../core/scope.ts'
import type { Foundation } from '../engine/foundation.ts'
import { hashKey, sameHash } from '../engine/wait-key.ts'
import { collections } from '../store/collections.ts'
import type { Role, TokenFacts, TokenRow } from '../store/records/access-token.ts'
import { type EventSubject, eventOf, sessionSubject, storeSubject } from '../store/records/event.ts'
import type { StoredDocument } from '../store/store.ts'

/** A token to create. */
export interface CreateToken {
  /** Name of the token, such as the program that uses it. */
  readonly name: string
  /** The roles that it has; at least one. */
  readonly roles: readonly Role[]
  /** The tenant it is limited to; null: all tenants. Default: 'default'. */
  readonly tenant?: string | null
  /** The person or service that acts with it: the `by` of its decisions. Default: `token:<name>`. */
  readonly principal?: string
  /** Default: it does not expire. */
  readonly expiresIn?: Duration
  /** The person who creates it, for the audit. */
  readonly by?: string
}

/** A new token. Its text is shown only here: the store has its hash. */
export interface CreatedToken extends TokenFacts {
  /** The secret text: `pawl_` and 43 characters. */
  readonly token: string
}

/** API tokens for servers on this store: random, hashed at rest, with roles, a tenant and an expiry. */
export interface Tokens {
  /**
   * Creates a token.
   *
   * @example
   * const { token } = await runtime.tokens.create({ name: 'ci', roles: ['caller'], tenant: 'acme', expiresIn: '90d' })
   */
  create(token: CreateToken): Promise<CreatedToken>
  /** The facts of a valid token; undefined for one that is unknown, malformed, revoked or expired. */
  verify(token: string): Promise<TokenFacts | undefined>
  /** Tokens, oldest first, with the revoked and expired ones until they are pruned. `tenant`: only those of it. */
  list(of?: { readonly tenant?: string }): Promise<TokenFacts[]>
  /**
   * The token is not valid any more. Returns false if it does not exist, is not of `tenant`, or was already revoked.
   */
  revoke(id: string, how: { readonly by: string; readonly tenant?: string }): Promise<boolean>
}

const roles: readonly Role[] = ['viewer', 'caller', 'approver', 'operator', 'admin']
const listOfRoles = option.listOf(option.oneOf(...roles))
const person = {
  expected: 'a string of 1 to 512 characters without surrounding whitespace or invisible characters',
  valid: isPerson,
}
const maxTokenName = 200

export const createTokenOptions = {
  name: option.required({
    expected: `a string of 1 to ${maxTokenName} characters without surrounding whitespace or invisible characters`,
    valid: (name) => isPerson(name) && name.length <= maxTokenName,
  }),
  roles: option.required({
    expected: `a list of at least one of ${roles.map((role) => `'${role}'`).join(', ')}`,
    valid: (list) => listOfRoles.valid(list) && (list as readonly Role[]).length > 0,
    part: (list, path) => (Array.isArray(list) && list.length > 0 ? listOfRoles.part?.(list, path) : undefined),
  }),
  tenant: option.either(option.identifier, option.oneOf(null)),
  principal: person,
  expiresIn: option.positiveDuration,
  by: person,
} satisfies OptionTable<CreateToken>

export const listTokensOptions = {
  tenant: option.identifier,
} satisfies OptionTable<NonNullable<Parameters<Tokens['list']>[0]>>

export const revokeTokenOptions = {
  by: option.required(person),
  tenant: option.identifier,
} satisfies OptionTable<Parameters<Tokens['revoke']>[1]>

type TokensHost = Pick<Foundation, 'store' | 'clock' | 'ids'>

const storeScope: Scope = { tenant: '', session: '' }
const prefix = 'pawl_'
/** 256 random bits. Anchored, so that a long text costs no more than a short one. */
const pattern = /^pawl_[A-Za-z0-9_-]{43}$/

export function openTokens({ store, clock, ids }: TokensHost): Tokens {
  async function* stored(): AsyncGenerator<{ document: StoredDocument; row: TokenRow }, void> {
    for await (const document of collections.token.iterate(store, storeScope))
      yield { document, row: parseRow(document) }
  }
  return {
    async create(options) {
      checkRequiredOptions(options, createTokenOptions, 'tokens.create()')
      const { name, tenant = 'default', principal = `token:${name}`, expiresIn, by: createdBy = null } = options
      const token = prefix + randomBytes(32).toString('base64url')
      const createdAt = clock.now()
      const facts: TokenFacts = {
        id: ids.next(),
        name,
        roles: roles.filter((role) => options.roles.includes(role)),
        tenant,
        principal,
        createdAt,
        expiresAt: expiresIn === undefined ? null : createdAt + milliseconds(expiresIn, 'expiresIn'),
        revokedAt: null,
        createdBy,
      }
      const document = collections.token.write({ v: 1, ...facts }, storeScope, hashKey(token))
      const about = { token: facts.id, name, roles: facts.roles, principal, by: createdBy }
      await store.commit({
        guards: [],
        documents: [document],
        events: [eventOf(subjectOf(facts), 'token.created', createdAt, about)],
      })
      return { token, ...facts }
    },
    async verify(token) {
      if (typeof token !== 'string' || !pattern.test(token)) return undefined
      const hash = hashKey(token)
      const document = await store.document(collections.token.name(storeScope, hash))
      // Compared again, because an index may ignore case.
      if (!document || !sameHash(document.key, hash)) return undefined
      const row = parseRow(document)
      const isValid = row.revokedAt === null && (row.expiresAt === null || clock.now() < row.expiresAt)
      return isValid ? factsOf(row) : undefined
    },
    async list(of) {
      checkOptions(of, listTokensOptions, 'tokens.list()')
      const found: TokenFacts[] = []
      for await (const { row } of stored())
        if (of?.tenant === undefined || row.tenant === of.tenant) found.push(factsOf(row))
      return found.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
    },
    async revoke(id, how) {
      checkRequiredOptions(how, revokeTokenOptions, 'tokens.revoke()')
      const { by, tenant } = how
      for (;;) {
        let found: { document: StoredDocument; row: TokenRow } | undefined
        for await (const each of stored()) if (each.row.id === id) found = each
        if (!found || found.row.revokedAt !== null) return false
        if (tenant !== undefined && found.row.tenant !== tenant) return false
        const { row, document } = found
        const { value: _, revision, ...name } = document
        const revokedAt = clock.now()
        const about = { token: id, name: row.name, roles: row.roles, principal: row.principal, by }
        const { ok } = await store.commit({
          guards: [{ kind: 'kept', ...name, revision }],
          documents: [{ ...name, value: JSON.stringify({ ...row, revokedAt } satisfies TokenRow) }],
          events: [eventOf(subjectOf(row), 'token.revoked', revokedAt, about)],
        })
        if (ok) return true
      }
    },
  }
}

/** The events belong to the tenant of the token, so that erasing it leaves no name of its tokens behind. */
const subjectOf = ({ tenant }: TokenFacts): EventSubject =>
  tenant === null ? storeSubject : sessionSubject({ tenant, session: '' })

function factsOf(row: TokenRow): TokenFacts {
  const { v: _, ...facts } = row
  return facts
}

/** An unknown version is an error: a newer release may have limited the token in a way that this one ignores. */
function parseRow({ value }: StoredDocument): TokenRow {
  const row = collections.token.parse(value)
  if (row.v !== 1)
    throw new PawlError(
      'store_newer',
      `A stored token has version ${JSON.stringify(row.v)}; this release reads version 1.`,
    )
  return row
}
