// Operations of the inbox, policy, connections and waits.

import { PawlError } from '../../core/errors.ts'
import type { Answer, InboxDecision } from '../../index.ts'
import { found, type Operation, type OperationContext, without } from './context.ts'

const list: Operation<'inbox.list'> = ({ runtime, caller }, input) => runtime.inbox({ tenant: caller.tenant, ...input })

const get: Operation<'inbox.get'> = async ({ runtime, caller }, { item }) => {
  const [open] = await runtime.inbox({ tenant: caller.tenant, id: item })
  return found(open, 'open inbox item')
}

const decided: Operation<'inbox.decided'> = async ({ runtime, caller }, { item }) => {
  const { call, session, status, by } = found(
    await runtime.decided(item, { tenant: caller.tenant }),
    'ended inbox item',
  )
  return { call, session, status, by: [...by] }
}

const decide: Operation<'inbox.decide'> = ({ runtime, caller }, { item, ...decision }) =>
  runtime.decide(item, {
    ...decision,
    by: caller.principal,
    tenant: caller.tenant,
    door: caller.door,
  } as InboxDecision)

const listRules: Operation<'rules.list'> = ({ runtime, caller }, input) =>
  runtime.rules.list({ tenant: caller.tenant, ...input })

const revokeRule: Operation<'rules.revoke'> = async ({ runtime, caller }, { rule, ...how }) => {
  const { principal: by, tenant, door } = caller
  return { changed: await runtime.rules.revoke(rule, { by, tenant, door, ...how }) }
}

const policyRules: Operation<'policy.rules'> = ({ runtime, caller: { tenant } }) => [...runtime.policyRules({ tenant })]

const explain: Operation<'policy.explain'> = ({ runtime, caller }, input) =>
  runtime.explain({ ...input, tenant: caller.tenant, principal: caller.principal })

const listConnections: Operation<'connections.list'> = ({ runtime, caller }) =>
  runtime.connections.list({ tenant: caller.tenant })

/** An account is the caller's own; one for the whole tenant needs a further right. */
function accountOf({ caller }: OperationContext, provider: string, shared: boolean | undefined) {
  const { tenant, principal, permissions } = caller
  if (shared !== true) return { provider, tenant, principal }
  if (!permissions.has('operate')) throw new PawlError('forbidden', 'An account of the whole tenant needs `operate`.')
  return { provider, tenant }
}

const setConnection: Operation<'connections.set'> = (context, { provider, shared, ...given }) => {
  const { principal: by, door } = context.caller
  return context.runtime.connections.set(accountOf(context, provider, shared), { ...given, by, door })
}

const removeConnection: Operation<'connections.remove'> = async (context, { provider, shared }) => ({
  changed: await context.runtime.connections.remove(accountOf(context, provider, shared), {
    by: context.caller.principal,
  }),
})

const resolve: Operation<'waits.resolve'> = ({ runtime }, input) =>
  runtime.resolve(input.key, without(input, 'key') as Answer)

/** Loaded when it is asked for: a list on a local store starts without it. */
const context: Operation<'inbox.context'> = async (operation, input) => {
  const { inboxContext } = await import('./inbox-context.ts')
  return inboxContext(operation, input)
}

export const people = {
  'inbox.list': list,
  'inbox.get': get,
  'inbox.decided': decided,
  'inbox.context': context,
  'inbox.decide': decide,
  'rules.list': listRules,
  'rules.revoke': revokeRule,
  'policy.rules': policyRules,
  'policy.explain': explain,
  'connections.list': listConnections,
  'connections.set': setConnection,
  'connections.remove': removeConnection,
  'waits.resolve': resolve,
}
