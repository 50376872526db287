// A session and the sessions of the agents that worked for it, and of theirs: those above first. The agents of one are looked up when its reader comes back for
// more: who has seen to it that nothing is open there misses none, as only what is open lets agents work.

import { agentName } from '../journal/message.ts'
import { everyKept } from './every-kept.ts'
import type { Store } from './store.ts'

interface OfSession {
  readonly tenant: string
  readonly session: string
}

export async function* withAgents(store: Pick<Store, 'keptOf'>, { tenant, session }: OfSession): AsyncGenerator<OfSession, void> {
  const found = new Set([session]) // what is added is come to
  for (const each of found) {
    yield { tenant, session: each }
    for await (const { key } of everyKept(store, { of: agentName({ tenant, session: each }, '').of, tenant, session: each })) found.add(key)
  }
}
