// Finds the sessions of the agents started from a session, transitively. Called by erasure and by the end of a
// session.

import type { Scope } from '../core/scope.ts'
import type { Store } from './store.ts'
import { collections } from './collections.ts'

/**
 * Yields the session itself, then its agents' sessions, parents before children. Each session's agents are looked up
 * only when the reader asks for the next item. A reader that has first made sure that nothing is open in the yielded
 * session therefore does not miss any agent: only open calls start agents.
 */
export async function* iterateAgentSessions(
  store: Pick<Store, 'documentsOf'>,
  { tenant, session }: Scope,
): AsyncGenerator<Scope, void> {
  const sessions = new Set([session]) // the loop below also visits sessions added while it runs
  for (const each of sessions) {
    yield { tenant, session: each }
    for await (const { key } of collections.sessionAgent.iterate(store, { tenant, session: each })) sessions.add(key)
  }
}

/** True if the session has an open call, a schedule, a trigger subscription, or an agent with work left. */
export async function isBusy(
  store: Pick<Store, 'unsettled' | 'nonEmptyCollections'>,
  { tenant, session }: Scope,
): Promise<boolean> {
  const of = { tenant, session }
  const { schedule, subscription, sessionWorking } = collections
  const found = await store.nonEmptyCollections([schedule.of, subscription.of, sessionWorking.of], of)
  return found.length > 0 || (await store.unsettled({ of, after: '', limit: 1 })).length > 0
}
