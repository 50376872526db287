// Adds up token usage and cost per model; turns and ctx.complete store the sums. Pure.

import { addUsage, noUsage } from './model.ts'
import type { TurnUsage, UsageOf } from './turn-interface.ts'

export type UsageByModel = { readonly [model: string]: UsageOf }

/** The stored row. */
export interface UsageRow {
  readonly models: UsageByModel
  /** The tool whose body called the model; null for a turn. */
  readonly tool: string | null
}

const zeroUsage: UsageOf = { ...noUsage, cost: 0, times: 0 }

const sumEntries = ({ cost, times, ...usage }: UsageOf, more: UsageOf): UsageOf => ({
  ...addUsage(usage, more),
  cost: cost === null || more.cost === null ? null : cost + more.cost,
  times: times + more.times,
})

/** Own properties only: a name may be `constructor`. */
const usageEntry = (usage: UsageByModel, name: string): UsageOf =>
  Object.hasOwn(usage, name) ? (usage[name] as UsageOf) : zeroUsage

export const addEntry = (account: UsageByModel, name: string, more: UsageOf): UsageByModel => ({
  ...account,
  [name]: sumEntries(usageEntry(account, name), more),
})

export const mergeUsage = (account: UsageByModel, more: UsageByModel): UsageByModel =>
  Object.entries(more).reduce((sum, [name, usage]) => addEntry(sum, name, usage), account)

export const chargeModel = (account: UsageByModel, model: string, usage: TurnUsage): UsageByModel =>
  addEntry(account, model, { ...usage, times: 1 })

export const totalUsage = (account: UsageByModel): UsageOf =>
  Object.values(account).reduce((sum, each) => sumEntries(sum, each), zeroUsage)
