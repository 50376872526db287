// What a turn has cost that ends without having been driven to its end: its model is gone, or too many workers died over it.

import type { CallPosition } from '../journal/call-state.ts'
import type { Change, Store } from '../store/store.ts'
import { readMessage } from './history.ts'
import { usageRow } from './usage.ts'

/** By the last thing that is on record of it. */
export async function rowOfLost(store: Store, { tenant, session, id }: CallPosition, uid: string): Promise<NonNullable<Change['keep']>> {
  const of = { tenant, session }
  const [last] = await store.keptOf({ of: 'message', ...of, after: '~', limit: 1, newest: true })
  const { turn, account = {} } = last ? readMessage(last) : {}
  return turn === id && Object.keys(account).length > 0 ? [usageRow(of, uid, { models: account, tool: null })] : []
}
