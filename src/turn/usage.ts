// What models have cost (SESS-11): per answer with its message, per turn in its outcome, and per session, model and tool here. A turn has one row, written with
// its end; a completion has one, written with its step. So each is counted once, whatever crashes.

import { agentName, usageName } from '../journal/message.ts'
import { addUsage, noUsage } from '../model/model.ts'
import type { SessionUsage, TurnUsage, UsageOf } from '../model/turn.ts'
import { everyKept } from '../store/every-kept.ts'
import type { Change, Store } from '../store/store.ts'
import type { Scope } from './host.ts'

/** By the name of the model. */
export type Account = { readonly [model: string]: UsageOf }

interface UsageRow {
  readonly models: Account
  /** In whose body the model was asked; null for a turn. */
  readonly tool: string | null
}

const none: UsageOf = { ...noUsage, cost: 0, times: 0 }

const plus = ({ cost, times, ...usage }: UsageOf, more: UsageOf): UsageOf => ({
  ...addUsage(usage, more),
  cost: cost === null || more.cost === null ? null : cost + more.cost,
  times: times + more.times,
})

/** A tool may be called `constructor`. */
const entryOf = (account: Account, name: string): UsageOf => (Object.hasOwn(account, name) ? (account[name] as UsageOf) : none)

const added = (account: Account, name: string, more: UsageOf): Account => ({ ...account, [name]: plus(entryOf(account, name), more) })

export const charged = (account: Account, model: string, usage: TurnUsage): Account => added(account, model, { ...usage, times: 1 })

export const sumOf = (account: Account): UsageOf => Object.values(account).reduce((sum, each) => plus(sum, each), none)

/** `key` names the turn or the completion in the whole store. */
export const usageRow = (of: Scope, key: string, row: UsageRow): NonNullable<Change['keep']>[number] => ({
  ...usageName(of, key),
  value: JSON.stringify(row),
})

/** With what its agents cost. Costs what there is: a row for each turn, and for each time that a body asked. */
export async function usageOf(store: Store, of: Scope): Promise<SessionUsage> {
  let models: Account = {}
  let tools: Account = {}
  const { tenant, session } = of
  for await (const { value } of everyKept(store, { of: usageName(of, '').of, tenant, session })) {
    const { models: more, tool } = JSON.parse(value) as UsageRow
    for (const [model, usage] of Object.entries(more)) models = added(models, model, usage)
    if (tool !== null) tools = added(tools, tool, sumOf(more))
  }
  for await (const { key: agent } of everyKept(store, { of: agentName(of, '').of, tenant, session })) {
    const theirs = await usageOf(store, { tenant, session: agent })
    for (const [model, usage] of Object.entries(theirs.models)) models = added(models, model, usage)
    for (const [tool, usage] of Object.entries(theirs.tools)) tools = added(tools, tool, usage)
  }
  return { total: sumOf(models), models, tools }
}
