// Which sessions' secrets the redactor of this process knows. Everything that shows, logs or records text of a session
// asks it first, so a secret that another process has set is redacted too. A session costs one read per process.

import { lengthPrefixed } from '../../core/ids.ts'
import { type MaybePromise, chain } from '../../core/maybe-promise.ts'
import type { Scope } from '../../core/scope.ts'
import type { Foundation, KnownSecrets } from '../../engine/foundation.ts'
import { collections } from '../../store/collections.ts'
import { parseRow } from './value-rows.ts'

/** Older sessions are read again when they are used again. */
const maxSessions = 10_000

/** What was current when the secrets of a session were read. If either changed, they are read again. */
interface ReadState {
  readonly remoteWrites: number
  readonly dropped: number
}

export interface OpenKnownSecrets extends KnownSecrets {
  close(): void
}

export function openKnownSecrets({ store, redact }: Pick<Foundation, 'store' | 'redact'>): OpenKnownSecrets {
  const sessions = new Map<string, ReadState>()
  /** Reads in progress, shared by all that ask meanwhile. */
  const reads = new Map<string, Promise<void>>()
  /** Counts hints about writes of other processes: one of them may have set a secret. */
  let remoteWrites = 0
  const stopListening = store.onHint(({ outside }) => void (outside && remoteWrites++))

  const { secret, sessionParent, sessionAgent, sessionWorking } = collections
  const learnOwn = async (of: Scope): Promise<void> => {
    for await (const { value } of secret.iterate(store, of)) redact.learn(parseRow(value).text)
  }
  /** Agents that have ended and whose secrets are known, with `redact.dropped` of that time. */
  const endedAgents = new Map<string, number>()
  /** Learns the secrets of the agents that were started from the session, and of their agents. */
  const learnAgents = async (of: Scope, visited: Set<string>): Promise<void> => {
    const agents = await keysOf(sessionAgent.iterate(store, of))
    // Read after the agents: one that is not listed has ended, so the secrets read next are all it has set.
    const working = agents.size === 0 ? agents : await keysOf(sessionWorking.iterate(store, of))
    for (const session of agents) {
      const agent: Scope = { tenant: of.tenant, session }
      const key = lengthPrefixed(of.tenant, session)
      const isKnown = !working.has(session) && endedAgents.get(key) === redact.dropped
      if (isKnown || visited.has(session)) continue
      visited.add(session)
      await learnOwn(agent)
      await learnAgents(agent, visited)
      if (!working.has(session)) setBounded(endedAgents, key, redact.dropped)
    }
  }
  /**
   * Learns the secrets of the session, of its parents and of its agents: an agent reads what its parent passes on, and
   * the parent reads what the agent returns.
   */
  const learn = async ({ tenant, session }: Scope): Promise<void> => {
    const visited = new Set<string>()
    for (let next: string | undefined = session; next !== undefined && !visited.has(next);) {
      visited.add(next)
      const of: Scope = { tenant, session: next }
      await learnOwn(of)
      next = (await sessionParent.read(store, of))?.session
    }
    await learnAgents({ tenant, session }, visited)
  }
  /** Synchronous if the store is and the session has no secrets, no parent and no agents. */
  const read = ({ tenant, session }: Scope): MaybePromise<void> =>
    chain(store.nonEmptyCollections([secret.of, sessionParent.of, sessionAgent.of], { tenant, session }), (found) =>
      found.length === 0 ? undefined : learn({ tenant, session }),
    )

  const ensure = ({ tenant, session }: Scope): MaybePromise<void> => {
    if (session === '') return
    const key = lengthPrefixed(tenant, session)
    const known = sessions.get(key)
    if (known && known.remoteWrites === remoteWrites && known.dropped === redact.dropped) return
    const current = reads.get(key)
    if (current) return current
    // Taken before the read: a write during it causes another read.
    const before = remoteWrites
    const reading = chain(read({ tenant, session }), () => {
      setBounded(sessions, key, { remoteWrites: before, dropped: redact.dropped })
    })
    if (!reading) return
    const shared = reading.finally(() => reads.delete(key))
    reads.set(key, shared)
    return shared
  }
  return { ensure, refresh: async (of) => read(of), close: stopListening }
}

async function keysOf(documents: AsyncIterable<{ readonly key: string }>): Promise<Set<string>> {
  const keys = new Set<string>()
  for await (const { key } of documents) keys.add(key)
  return keys
}

function setBounded<T>(sessions: Map<string, T>, key: string, value: T): void {
  sessions.delete(key)
  sessions.set(key, value)
  const [oldest] = sessions.keys()
  if (sessions.size > maxSessions && oldest !== undefined) sessions.delete(oldest)
}
