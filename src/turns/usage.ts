// Model usage: stored per answer with its message, per turn in its outcome, per call with its record, and summed here
// per session, model and tool. A turn writes one row with its end and a completion one with its step, so each is
// counted once even after a crash.

import type { CallPosition } from '../store/records/call-record.ts'
import { failure, type Outcome } from '../core/outcome.ts'
import type { Scope } from '../core/scope.ts'
import { type UsageByModel, addEntry, totalUsage, mergeUsage, type UsageRow } from '../models/cost-ledger.ts'
import type { Model } from '../models/model.ts'
import type { SessionUsage } from '../models/turn-interface.ts'
import type { Store, DocumentWrite } from '../store/store.ts'
import { readHead, readMessage } from './conversation/history.ts'
import { collections } from '../store/collections.ts'

/** `key` identifies the turn or completion in the whole store. */
export const usageRow = (of: Scope, key: string, row: UsageRow): DocumentWrite => ({
  ...collections.modelUsage.name(of, key),
  value: JSON.stringify(row),
})

/** The failure of a turn that reached its cost limit; null if it may continue. Checked before each model request. */
export function costLimitOutcome(account: UsageByModel, maxCost: number, { name, price }: Model): Outcome | null {
  if (maxCost === Infinity) return null
  const { cost } = totalUsage(account)
  if (price && cost !== null && cost < maxCost) return null
  const message =
    price && cost !== null
      ? `The models of the turn have cost ${cost}; the limit is ${maxCost}.`
      : `The turn has a cost limit of ${maxCost}, but the cost of its models is unknown; '${name}' was not called.`
  return failure({ class: 'resource_limit', code: 'turn_limit', message })
}

/** Usage so far of the last turn that wrote a message. */
async function lastAccount(
  store: Store,
  { tenant, session }: Scope,
): Promise<{ turn: string | null; account: UsageByModel }> {
  const [last] = await store.documentsOf({
    of: collections.message.of,
    tenant,
    session,
    after: '~',
    limit: 1,
    newest: true,
  })
  const { turn = null, account = {} } = last ? readMessage(last) : {}
  return { turn, account }
}

/**
 * The usage row of a turn that is ended without being driven: its model is gone, or too many workers died running it.
 */
export async function lostTurnUsage(
  store: Store,
  position: CallPosition,
  uid: string,
): Promise<readonly DocumentWrite[]> {
  const { turn, account } = await lastAccount(store, position)
  return turn === position.id && Object.keys(account).length > 0
    ? [usageRow(position, uid, { models: account, tool: null })]
    : []
}

/** Usage of a session including its agents and the open turn. Reads one row per turn and per completion. */
export async function sessionUsage(store: Store, of: Scope): Promise<SessionUsage> {
  let models: UsageByModel = {}
  let tools: UsageByModel = {}
  const { tenant, session } = of
  // Read this before the usage rows, so that a turn that ends between the two reads is counted by its row.
  const [{ row: head }, open] = await Promise.all([readHead(store, of), lastAccount(store, of)])
  const openTurn = head?.turn ? await store.call(head.turn) : undefined
  let isCounted = openTurn?.position.id !== open.turn
  for await (const { key, value } of collections.modelUsage.iterate(store, { tenant, session })) {
    const { models: more, tool } = collections.modelUsage.parse(value) as UsageRow
    models = mergeUsage(models, more)
    if (tool !== null) tools = addEntry(tools, tool, totalUsage(more))
    isCounted ||= key === head?.turn
  }
  if (!isCounted) models = mergeUsage(models, open.account)
  for await (const { key: agent } of collections.sessionAgent.iterate(store, { tenant, session })) {
    const agentUsage = await sessionUsage(store, { tenant, session: agent })
    models = mergeUsage(models, agentUsage.models)
    tools = mergeUsage(tools, agentUsage.tools)
  }
  return { total: totalUsage(models), models, tools }
}
