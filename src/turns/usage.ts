// What models have cost (SESS-11): per answer with its message, per turn in its outcome, per call with its record, and per session, model and tool here. A turn
// has one row, written with its end; a completion has one, written with its step. So each is counted once, whatever crashes.

import type { CallPosition } from '../store/records/call-record.ts'
import { agentName, usageName } from '../store/records/conversation.ts'
import { failure, type Outcome } from '../core/outcome.ts'
import { type Account, added, sumOf, together, type UsageRow } from '../models/cost-ledger.ts'
import type { Model } from '../models/model.ts'
import type { SessionUsage } from '../models/turn-interface.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { Change, Store } from '../store/store.ts'
import { headOf, readMessage } from './conversation/history.ts'
import type { Scope } from './ports.ts'

/** `key` names the turn or the completion in the whole store. */
export const usageRow = (of: Scope, key: string, row: UsageRow): NonNullable<Change['documents']>[number] => ({
  ...usageName(of, key),
  value: JSON.stringify(row),
})

/** How a turn ends that has cost what it may (POL-8): looked at before its model is asked. */
export function overCost(account: Account, most: number, { name, price }: Model): Outcome | null {
  if (most === Infinity) return null
  const { cost } = sumOf(account)
  if (price && cost !== null && cost < most) return null
  const message =
    price && cost !== null
      ? `The turn ended after its models had cost ${cost}; it may cost ${most}.`
      : `The turn may cost ${most}, and what its models cost is not known; '${name}' was not asked.`
  return failure({ class: 'resource_limit', code: 'turn_limit', message })
}

/** What the last turn that said something has cost so far. */
async function lastAccount(
  store: Store,
  { tenant, session }: Scope,
): Promise<{ turn: string | null; account: Account }> {
  const [last] = await store.documentsOf({ of: 'message', tenant, session, after: '~', limit: 1, newest: true })
  const { turn = null, account = {} } = last ? readMessage(last) : {}
  return { turn, account }
}

/** Of a turn that ends without having been driven to its end: its model is gone, or too many workers died over it. */
export async function rowOfLost(
  store: Store,
  position: CallPosition,
  uid: string,
): Promise<NonNullable<Change['documents']>> {
  const { turn, account } = await lastAccount(store, position)
  return turn === position.id && Object.keys(account).length > 0
    ? [usageRow(position, uid, { models: account, tool: null })]
    : []
}

/** With what its agents cost, and what the turn that is open has cost so far. Costs what there is: a row for each turn, and for each time that a body asked. */
export async function usageOf(store: Store, of: Scope): Promise<SessionUsage> {
  let models: Account = {}
  let tools: Account = {}
  const { tenant, session } = of
  // First: what ends meanwhile is in its row.
  const [{ row: head }, open] = await Promise.all([headOf(store, of), lastAccount(store, of)])
  const openTurn = head?.turn ? await store.call(head.turn) : undefined
  let isCounted = openTurn?.position.id !== open.turn
  for await (const { key, value } of iterateDocuments(store, { of: usageName(of, '').of, tenant, session })) {
    const { models: more, tool } = JSON.parse(value) as UsageRow
    models = together(models, more)
    if (tool !== null) tools = added(tools, tool, sumOf(more))
    isCounted ||= key === head?.turn
  }
  if (!isCounted) models = together(models, open.account)
  for await (const { key: agent } of iterateDocuments(store, { of: agentName(of, '').of, tenant, session })) {
    const theirs = await usageOf(store, { tenant, session: agent })
    models = together(models, theirs.models)
    tools = together(tools, theirs.tools)
  }
  return { total: sumOf(models), models, tools }
}
