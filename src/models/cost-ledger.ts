// ACCOUNT: what models have cost (SESS-11), by the name of the model. Pure.

import { addUsage, noUsage } from './model.ts'
import type { TurnUsage, UsageOf } from './turn-interface.ts'

export type Account = { readonly [model: string]: UsageOf }

/** As it is kept. */
export interface UsageRow {
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
const entryOf = (account: Account, name: string): UsageOf =>
  Object.hasOwn(account, name) ? (account[name] as UsageOf) : none

export const added = (account: Account, name: string, more: UsageOf): Account => ({
  ...account,
  [name]: plus(entryOf(account, name), more),
})

export const together = (account: Account, more: Account): Account =>
  Object.entries(more).reduce((sum, [name, usage]) => added(sum, name, usage), account)

export const charged = (account: Account, model: string, usage: TurnUsage): Account =>
  added(account, model, { ...usage, times: 1 })

export const sumOf = (account: Account): UsageOf => Object.values(account).reduce((sum, each) => plus(sum, each), none)

/** What something may cost. */
export const isCost = (given: unknown): given is number =>
  typeof given === 'number' && Number.isFinite(given) && given > 0
