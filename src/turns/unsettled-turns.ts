// Lists the turns of a session that are not settled: the open one and those that wait for it. Called by session.turns.

import type { Scope } from '../core/scope.ts'
import { turnBatch } from '../store/journal-keys.ts'
import type { Store, Unsettled } from '../store/store.ts'

const pageSize = 200

/** In the order of their requests. */
export async function* unsettledTurns(store: Store, { tenant, session }: Scope): AsyncGenerator<Unsettled, void, void> {
  for (let after = ''; ;) {
    const open = await store.unsettled({ of: { tenant, session }, after, limit: pageSize })
    yield* open.filter(({ position }) => position.batch === turnBatch)
    const last = open.at(-1)
    if (!last || open.length < pageSize) return
    after = last.uid
  }
}
