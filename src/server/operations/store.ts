// Operations of events, the audit, workers, health, retention and tokens.

import { PawlError } from '../../core/errors.ts'
import type { EventType, FeedEvent, LiveEvent } from '../../index.ts'
import type { Input } from '../routes/routes.ts'
import { type Operation, type OperationContext, sessionOf, without } from './context.ts'

/** The events of all sessions of the caller's tenant. */
export function tenantEvents(
  { runtime, caller, signal }: OperationContext,
  input: Input<'events.stream'>,
): AsyncIterable<FeedEvent | LiveEvent> {
  return runtime.events({ ...input, live: (input.live ?? false) as true, tenant: caller.tenant, signal })
}

export function sessionEvents(
  context: OperationContext,
  input: Input<'sessions.events'>,
): AsyncIterable<FeedEvent | LiveEvent> {
  const options = { ...without(input, 'session'), live: (input.live ?? false) as true, signal: context.signal }
  return sessionOf(context, input).events(options)
}

/** Events that record an act of a person or an operator. */
const auditTypes: readonly EventType[] = [
  'call.cancelling',
  'decision.made',
  'decision.refused',
  'decision.remembered',
  'rule.revoked',
  'connection.changed',
  'secret.changed',
  'definition.changed',
  'records.deleted',
  'session.ended',
  'token.created',
  'token.revoked',
]

/** Events of the store itself, such as those about tokens for all tenants, are in tenant ''. */
const audit: Operation<'audit.list'> = async ({ runtime, caller: { tenant, wholeStore } }, input) => {
  const tenants = wholeStore ? [tenant, ''] : [tenant]
  const { events, next } = await runtime.recentEvents({ ...input, types: auditTypes, tenants })
  return { events: [...events], next }
}

const workers: Operation<'workers.list'> = async ({ runtime }) => {
  const { store } = await runtime.health()
  return store.workers.map(({ id, leaseMs }) => ({ id, leaseMs }))
}

const health: Operation<'health.get'> = ({ runtime }) => runtime.health()

const prune: Operation<'store.prune'> = ({ runtime }, input) => runtime.prune(input)

/** A token for all tenants lists and revokes those of all; the others those of their tenant. */
const ownTokens = ({ caller }: OperationContext): { tenant?: string } =>
  caller.wholeStore ? {} : { tenant: caller.tenant }

const listTokens: Operation<'tokens.list'> = async (context) =>
  (await context.runtime.tokens.list(ownTokens(context))).map((token) => ({ ...token, roles: [...token.roles] }))

const createToken: Operation<'tokens.create'> = async ({ runtime, caller }, { allTenants = false, ...token }) => {
  if (allTenants && !caller.wholeStore)
    throw new PawlError('forbidden', 'A token for all tenants can be created only with such a token.')
  const tenant = allTenants ? null : caller.tenant
  const created = await runtime.tokens.create({ ...token, tenant, by: caller.principal })
  return { ...created, roles: [...created.roles] }
}

const revokeToken: Operation<'tokens.revoke'> = async (context, { token }) => ({
  changed: await context.runtime.tokens.revoke(token, { by: context.caller.principal, ...ownTokens(context) }),
})

/** A checkout has no `pawl` on its path. */
const cliCommand = import.meta.url.endsWith('.ts') ? 'npm run -s pawl --' : 'npx pawl'

const me: Operation<'me.get'> = ({ caller: { tenant, principal, permissions, wholeStore } }) => ({
  tenant,
  principal,
  permissions: [...permissions],
  allTenants: wholeStore,
  command: cliCommand,
})

export const store = {
  'events.stream': tenantEvents,
  'sessions.events': sessionEvents,
  'audit.list': audit,
  'workers.list': workers,
  'health.get': health,
  'store.prune': prune,
  'tokens.list': listTokens,
  'tokens.create': createToken,
  'tokens.revoke': revokeToken,
  'me.get': me,
}
