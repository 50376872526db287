// A session and the sessions of the agents that worked for it, and of theirs.

import { agentName, workingName } from './records/conversation.ts'
import { iterateDocuments } from './iterate-documents.ts'
import type { Store } from './store.ts'

interface OfSession {
  readonly tenant: string
  readonly session: string
}

/**
 * Those above first. The agents of one are looked up when its reader comes back for more: who has seen to it that nothing is open there misses none, as
 * only what is open lets agents work.
 */
export async function* withAgents(
  store: Pick<Store, 'documentsOf'>,
  { tenant, session }: OfSession,
): AsyncGenerator<OfSession, void> {
  const found = new Set([session]) // what is added is come to
  for (const each of found) {
    yield { tenant, session: each }
    for await (const { key } of iterateDocuments(store, {
      of: agentName({ tenant, session: each }, '').of,
      tenant,
      session: each,
    }))
      found.add(key)
  }
}

/** Whether something is open in a session, or begins there by itself, or an agent of its has left such behind. */
export async function isBusy(
  store: Pick<Store, 'unsettled' | 'keptIn'>,
  { tenant, session }: OfSession,
): Promise<boolean> {
  const of = { tenant, session }
  const kept = await store.keptIn(['schedule', 'subscription', workingName(of, '').of], of)
  return kept.length > 0 || (await store.unsettled({ of, after: '', limit: 1 })).length > 0
}
