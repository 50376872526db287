// A server whose runtime has tools of every kind and two tenants with data in every collection, with a token for every
// role. For the tests of the server's routes, fuzzing and attacks.

import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, createRuntime, type Role, type Runtime } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import { createServer, type Server, type ServerOptions } from 'pawl/server'
import { memoryStore, scriptedModel } from 'pawl/testing'
import { vi } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { ignoreResult } from '../interrupted-calls.ts'
import { quiet } from '../stores/fresh-store.ts'
import { mortal } from '../stores/killable-store.ts'
import type { Connection } from '../stores/postgres-server.ts'
import { type LedgerEntry, serverTools, type ToolLedger } from './server-tools.ts'
import { canaryOf, callerOfTenant, SeededTenant, type TenantData } from './tenant-data.ts'

export const roleNames = ['viewer', 'caller', 'approver', 'operator', 'admin'] as const satisfies readonly Role[]
export const tenantNames = ['acme', 'rival'] as const
export type TenantName = (typeof tenantNames)[number]
/** Tokens that prove nothing. */
export const badTokens = ['none', 'revoked', 'expired', 'garbage'] as const
export type BadToken = (typeof badTokens)[number]
export type StoreKind = 'memory' | 'sqlite' | 'postgres'

/** A secret of the host that every tool may print by mistake. */
export const hostCanary = 'canary-host-77aa31c0d'
export const tokenOf = (tenant: TenantName | 'all', role: Role): string => `${tenant}-${role}-token-0123456789`

export interface ServerAppOptions {
  readonly kind?: StoreKind
  /** For 'postgres'. */
  readonly connection?: Connection
  readonly clock?: Clock
  readonly server?: ServerOptions
  /** False: no tenant has data. Default: true. */
  readonly data?: boolean
}

export interface ServerApp {
  readonly runtime: Runtime
  readonly server: Server
  readonly store: Store
  readonly ledger: readonly LedgerEntry[]
  readonly keys: ReadonlyMap<string, string>
  readonly data: Readonly<Record<TenantName, TenantData>>
  /** Errors that the server logged. */
  readonly logged: unknown[]
  /** The `Authorization` header of a token; undefined for 'none'. */
  authorization(token: string): string | undefined
  readonly tokens: Readonly<Record<BadToken, string>>
  close(): Promise<void>
}

let schemas = 0

export async function openServerStore({ kind = 'memory', connection, clock = systemClock }: ServerAppOptions) {
  if (kind === 'memory') return memoryStore({ clock })
  if (kind === 'postgres') {
    const schema = `server_${process.pid}_${++schemas}`
    return postgresStore({ connection: { ...(connection as Connection) }, schema, clock, commit: 'process' })
  }
  const dir = mkdtempSync(join(tmpdir(), 'pawl-server-'))
  return sqliteStore({ file: join(dir, 'a.db'), clock, commit: 'process' })
}

/** A worker dies during a call of each tenant, so that a person has to find out what happened. */
async function leaveFindings(store: Store, secret: Uint8Array, clock: Clock): Promise<void> {
  const ledger: ToolLedger = { entries: [], keys: new Map() }
  const ids: string[] = []
  const { store: own, die } = mortal({ ...store, renew: (id, ms) => (ids.push(id), store.renew(id, ms)) })
  const runtime = await createRuntime({
    store: own,
    clock,
    logger: quiet,
    keys: { secret },
    lease: '30d',
    tools: serverTools(ledger, true),
    policy: { rules: [{ tool: 'charge', then: 'allow' }] },
  })
  for (const tenant of tenantNames)
    ignoreResult(
      runtime
        .session(`chat-${tenant}`, { tenant, principal: callerOfTenant(tenant) })
        .run([{ id: 'charge', name: 'charge' }]),
    )
  await vi.waitUntil(() => ledger.entries.length === tenantNames.length, { interval: 1, timeout: 20_000 })
  die()
  await store.commit({ guards: [], events: [] })
  await store.leave(ids[0] as string)
}

export async function openServerApp(options: ServerAppOptions = {}): Promise<ServerApp> {
  const { clock = systemClock, data: withData = true } = options
  const store = await openServerStore(options)
  const secret = randomBytes(32)
  if (withData) await leaveFindings(store, secret, clock)
  const ledger: ToolLedger = { entries: [], keys: new Map() }
  const runtime = await createRuntime({
    store,
    clock,
    logger: quiet,
    keys: { secret },
    lease: '30d',
    secrets: [hostCanary, ...tenantNames.map((tenant) => `${canaryOf(tenant)}-host`)],
    tools: serverTools(ledger),
    policy: { rules: [{ tool: 'charge', then: 'allow' }] },
    models: [scriptedModel([{ when: /^/, say: 'Certainly' }], { name: 'scripted' })],
    limits: { perSession: 5_000 },
    schedules: { active: 10_000 },
  })
  const logged: unknown[] = []
  const log = (...given: unknown[]): void => void logged.push(given)
  const server = createServer(runtime, {
    clock,
    logger: { debug() {}, info() {}, warn: log, error: log },
    turn: { model: 'scripted' },
    // Whether dist has a console depends on what was built before.
    console: false,
    ...options.server,
    limits: { requestsPerSecond: 1e9, refusalsPerMinute: 1e9, ...options.server?.limits },
    tokens: [
      ...roleNames.flatMap((role) => [
        ...tenantNames.map((tenant) => ({
          token: tokenOf(tenant, role),
          roles: [role],
          tenant,
          principal: `user:${tenant}-${role}`,
        })),
        { token: tokenOf('all', role), roles: [role], tenant: null, principal: `user:all-${role}` },
      ]),
      ...(options.server?.tokens ?? []),
    ],
  })
  const data = {} as Record<TenantName, TenantData>
  if (withData) for (const tenant of tenantNames) data[tenant] = await new SeededTenant(runtime, tenant, ledger).data()
  const made = { roles: ['admin'], tenant: 'acme', principal: 'user:gone' } as const
  const revoked = await runtime.tokens.create({ name: 'revoked', ...made })
  await runtime.tokens.revoke(revoked.id, { by: 'user:root' })
  const expired = await runtime.tokens.create({ name: 'expired', ...made, expiresIn: 1 })
  if (clock === systemClock) await vi.waitUntil(() => clock.now() > (expired.expiresAt as number), { interval: 1 })
  return {
    runtime,
    server,
    store,
    ledger: ledger.entries,
    keys: ledger.keys,
    data,
    logged,
    tokens: { none: '', revoked: revoked.token, expired: expired.token, garbage: `pawl_${'x'.repeat(43)}` },
    authorization: (token) => (token === '' ? undefined : `Bearer ${token}`),
    async close() {
      server.close()
      await runtime.close({ grace: 0 })
      await store.close()
    },
  }
}
