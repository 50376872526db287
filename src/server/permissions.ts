// The rights of roles. A route needs one right; a token has the rights of all its roles.

import type { Role } from '../index.ts'

/**
 * `read`: see everything of the tenant, except secrets. `call`: run tools, turns and tasks and change a session's data.
 * `decide`: decide about inbox items. `operate`: look inside (diagnostics, health, audit), cancel, revoke. `admin`:
 * tokens, erasure.
 */
export type Permission = 'read' | 'call' | 'decide' | 'operate' | 'admin'

export const permissionsOf: Readonly<Record<Role, readonly Permission[]>> = {
  viewer: ['read'],
  caller: ['read', 'call'],
  approver: ['read', 'decide'],
  operator: ['read', 'call', 'decide', 'operate'],
  admin: ['read', 'call', 'decide', 'operate', 'admin'],
}

/** The sender of a request: known from its token alone, never from fields of the request. */
export interface Caller {
  /** The tenant of the token, or the one that a token for all tenants selected. */
  readonly tenant: string
  /** The person or service: the principal of calls and the `by` of decisions. */
  readonly principal: string
  readonly permissions: ReadonlySet<Permission>
  /** The token is for all tenants. */
  readonly wholeStore: boolean
  /** Recorded with decisions: 'http', 'cli'. */
  readonly door: string
}

export const permissionsOfRoles = (roles: readonly Role[]): ReadonlySet<Permission> =>
  new Set(roles.flatMap((role) => permissionsOf[role]))
