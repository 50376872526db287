// The stored form of an API token. Read by access/tokens.ts and by retention.

/**
 * A role of a token. `viewer` reads; `caller` starts calls, turns and tasks; `approver` decides inbox items;
 * `operator` runs the store (prune, health, policy); `admin` manages tokens.
 */
export type Role = 'viewer' | 'caller' | 'approver' | 'operator' | 'admin'

/** The facts about a token; never the token itself. */
export interface TokenFacts {
  /** For tokens.revoke() and the audit. */
  readonly id: string
  /** Name of the token. */
  readonly name: string
  /** The roles that it has. */
  readonly roles: readonly Role[]
  /** The tenant it is limited to; null: all tenants. */
  readonly tenant: string | null
  /** The person or service that acts with it: the `by` of its decisions. */
  readonly principal: string
  /** When it was created, in milliseconds since 1970. */
  readonly createdAt: number
  /** When it expires, in milliseconds since 1970; null: never. */
  readonly expiresAt: number | null
  /** When it was revoked, in milliseconds since 1970; null if it was not. */
  readonly revokedAt: number | null
  /** Who created it, if they were named. */
  readonly createdBy: string | null
}

/** The key of the document is the SHA-256 of the token. */
export interface TokenRow extends TokenFacts {
  readonly v: 1
}
