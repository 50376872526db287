// A session is erased with the sessions of the agents that worked for it: what they said was said for it (DUR-10).

import { agentName } from '../journal/message.ts'
import { everyKept } from '../store/every-kept.ts'
import { type ErasedWhole, erase, type EraseOptions, type KeepHost } from './retention.ts'

export async function eraseWithAgents(host: KeepHost, options: EraseOptions): Promise<ErasedWhole> {
  const { session, tenant = 'default' } = options
  if (session === undefined) return erase(host, options)
  const agents: string[] = []
  for await (const { key } of everyKept(host.store, { of: agentName({ tenant, session }, '').of, tenant, session })) agents.push(key)
  // Those first: who is told that a session is erased finds nothing of it.
  let all: ErasedWhole | null = null
  for (const agent of agents) all = sum(all, await eraseWithAgents(host, { ...options, tenant, session: agent }))
  return sum(all, await erase(host, options))
}

function sum(a: ErasedWhole | null, b: ErasedWhole): ErasedWhole {
  if (!a) return b
  return { ...b, calls: a.calls + b.calls, events: a.events + b.events, attachments: a.attachments + b.attachments }
}
