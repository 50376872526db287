// Which sessions' secrets the redactor of this process knows. Everything that shows, logs or records text of a session
// asks it first, so a secret that another process has set is redacted too. A session costs one read per process.
//
// Secrets of sessions that are idle here are forgotten when there are many. Those of sessions with a running call, or
// that were used a moment ago, are kept whatever their number is.

import { milliseconds } from '../../core/duration.ts'
import { lengthPrefixed } from '../../core/ids.ts'
import { type MaybePromise, chain } from '../../core/maybe-promise.ts'
import type { Scope } from '../../core/scope.ts'
import type { Foundation, KnownSecrets } from '../../engine/foundation.ts'
import { collections } from '../../store/collections.ts'
import { parseRow } from './value-rows.ts'

/** Above these, idle sessions are forgotten. They are read again when they are used again. */
const most = { sessions: 10_000, secrets: 2_000, characters: 512 * 1024 }
/** Fewer than `most`, so that not every new session has to look for idle ones. */
const keptShare = 0.9
/** A session that was used this recently is not idle: its text may be about to be shown. */
const idleMs = milliseconds('1m', 'idle')
/** If too few sessions were idle, the next look waits this long. */
const lookAgainMs = milliseconds('5s', 'look again')
/** Of the secrets that a session no longer stores (replaced or deleted ones, tokens, answers), this many are kept. */
const maxUnstored = 1_000

/** What this process knows of a session. */
interface KnownSession {
  /** Secrets of the session, its parents and its agents, the last one learned last. */
  readonly texts: Set<string>
  /** The secrets of its agents that have ended, with those of their agents. */
  readonly endedAgents: Map<string, readonly string[]>
  usedAt: number
  /** `remoteWrites` when the secrets were read; if it has changed, they are read again. -1: not read yet. */
  readAt: number
  /** With more texts than this they are read again, to find the ones that are no longer stored. */
  maxTexts: number
}

export interface OpenKnownSecrets extends KnownSecrets {
  close(): void
}

export function openKnownSecrets(
  host: Pick<Foundation, 'store' | 'clock' | 'redact'> & { readonly engine: Pick<Foundation['engine'], 'running'> },
): OpenKnownSecrets {
  const { store, clock, redact, engine } = host
  const sessions = new Map<string, KnownSession>()
  /** Reads in progress, shared by all that ask meanwhile. */
  const reads = new Map<string, Promise<void>>()
  /** Counts hints about writes of other processes: one of them may have set a secret. */
  let remoteWrites = 0
  const stopListening = store.onHint(({ outside }) => void (outside && remoteWrites++))

  const exceeds = (share: number): boolean =>
    sessions.size > most.sessions * share ||
    redact.learned > most.secrets * share ||
    redact.learnedCharacters > most.characters * share
  let nextLook = -Infinity
  const forgetIdle = (): void => {
    if (!exceeds(1) || clock.now() < nextLook) return
    const idleSince = clock.now() - idleMs
    const running = new Set(engine.running().map(({ tenant, session }) => lengthPrefixed(tenant, session)))
    for (const [key, { texts, usedAt }] of sessions) {
      if (!exceeds(keptShare)) return
      if (texts.size > 0 && (usedAt > idleSince || running.has(key))) continue
      sessions.delete(key)
      for (const text of texts) redact.forget(text)
    }
    if (exceeds(keptShare)) nextLook = clock.now() + lookAgainMs
  }

  /** Looked up again after each wait, because the session may have been forgotten meanwhile. */
  const knownSession = (key: string): KnownSession => {
    let known = sessions.get(key)
    if (known) return known
    forgetIdle()
    known = { texts: new Set(), endedAgents: new Map(), usedAt: clock.now(), readAt: -1, maxTexts: maxUnstored }
    sessions.set(key, known)
    return known
  }
  const learnFor = (key: string, text: string): void => {
    const known = knownSession(key)
    known.usedAt = clock.now()
    const isNew = !known.texts.delete(text)
    known.texts.add(text)
    if (!isNew) return
    redact.learn(text)
    forgetIdle()
  }

  const { secret, sessionParent, sessionAgent, sessionWorking } = collections
  const readOwn = async (key: string, of: Scope): Promise<string[]> => {
    const found: string[] = []
    for await (const { value } of secret.iterate(store, of)) {
      const { text } = parseRow(value)
      learnFor(key, text)
      found.push(text)
    }
    return found
  }
  /** Reads the secrets of the agents that were started from the session, and of their agents. */
  const readAgents = async (key: string, of: Scope, visited: Set<string>): Promise<string[]> => {
    const agents = await keysOf(sessionAgent.iterate(store, of))
    // Read after the agents: one that is not listed has ended, so the secrets read next are all it has set.
    const working = agents.size === 0 ? agents : await keysOf(sessionWorking.iterate(store, of))
    const found: string[] = []
    for (const session of agents) {
      if (visited.has(session)) continue
      visited.add(session)
      const hasEnded = !working.has(session)
      const agent: Scope = { tenant: of.tenant, session }
      const texts =
        (hasEnded && knownSession(key).endedAgents.get(session)) ||
        (await readOwn(key, agent)).concat(await readAgents(key, agent, visited))
      if (hasEnded) knownSession(key).endedAgents.set(session, texts)
      found.push(...texts)
    }
    return found
  }
  /**
   * Reads the secrets of the session, of its parents and of its agents: an agent reads what its parent passes on, and
   * the parent reads what the agent returns.
   */
  const readAll = async (key: string, { tenant, session }: Scope): Promise<void> => {
    const visited = new Set<string>()
    const stored: string[] = []
    for (let next: string | undefined = session; next !== undefined && !visited.has(next);) {
      visited.add(next)
      const of: Scope = { tenant, session: next }
      stored.push(...(await readOwn(key, of)))
      next = (await sessionParent.read(store, of))?.session
    }
    stored.push(...(await readAgents(key, { tenant, session }, visited)))
    forgetUnstored(key, new Set(stored))
  }
  const forgetUnstored = (key: string, stored: ReadonlySet<string>): void => {
    const known = knownSession(key)
    for (const text of stored) learnFor(key, text) // again, for a session that was forgotten during the read
    let excess = known.texts.size - stored.size - maxUnstored
    for (const text of known.texts) {
      if (excess <= 0) break
      if (stored.has(text)) continue
      known.texts.delete(text)
      redact.forget(text)
      excess--
    }
    known.maxTexts = known.texts.size + maxUnstored
  }
  /** Synchronous if the store is and the session has no secrets, no parent and no agents. */
  const read = (key: string, { tenant, session }: Scope): MaybePromise<void> =>
    chain(store.nonEmptyCollections([secret.of, sessionParent.of, sessionAgent.of], { tenant, session }), (found) =>
      found.length === 0 ? undefined : readAll(key, { tenant, session }),
    )

  const ensure = ({ tenant, session }: Scope): MaybePromise<void> => {
    if (session === '') return
    const key = lengthPrefixed(tenant, session)
    const known = sessions.get(key)
    if (known && known.texts.size > 0) known.usedAt = clock.now()
    if (known && known.readAt === remoteWrites && known.texts.size <= known.maxTexts) return
    const current = reads.get(key)
    if (current) return current
    // Taken before the read: a write during it causes another read.
    const before = remoteWrites
    const reading = chain(read(key, { tenant, session }), () => {
      knownSession(key).readAt = before
    })
    if (!reading) return
    const shared = reading.finally(() => reads.delete(key))
    reads.set(key, shared)
    return shared
  }
  return {
    ensure,
    refresh: async (of) => read(lengthPrefixed(of.tenant, of.session), of),
    learn: ({ tenant, session }, text) => learnFor(lengthPrefixed(tenant, session), text),
    close: stopListening,
  }
}

async function keysOf(documents: AsyncIterable<{ readonly key: string }>): Promise<Set<string>> {
  const keys = new Set<string>()
  for await (const { key } of documents) keys.add(key)
  return keys
}
