// What people can do, in one place: the inbox, decisions, and the rules they made. Every door comes through here.

import type { RememberedRule } from '../policy/match-remembered.ts'
import type { Engine } from '../engine/engine.ts'
import type { Redactor } from '../security/redact.ts'
import { decode, type Json } from '../core/value.ts'
import { type Clients, openClients } from './client-calls.ts'
import { connectionFor, type Connections, openConnections } from './connections.ts'
import { decide, type DecideAnswer, type DecideHost, secretPlace } from './decide.ts'
import { inbox, type InboxItem, type InboxQuery } from './inbox.ts'
import { type RememberedRules, rememberedRules, rulesFor } from './remembered-rules.ts'
import type { InboxDecision } from './decision-input.ts'

export interface People {
  inbox(query?: InboxQuery): Promise<InboxItem[]>
  decide(id: string, decision: InboxDecision): Promise<DecideAnswer>
  readonly rules: RememberedRules
  readonly connections: Connections
  readonly clients: Clients
  /** What answers in a session instead of somebody. */
  remembered(of: { tenant: string; session: string }): Promise<readonly RememberedRule[]>
  connection(of: { tenant: string; principal: string | null }, provider: string): ReturnType<typeof connectionFor>
  /** What a person answered to a secret question. */
  openSecret(wait: string, sealed: string): Json
}

export function openPeople(
  host: DecideHost & { readonly redact: Redactor; readonly engine: () => Pick<Engine, 'answer' | 'answerClient'> },
): People {
  const { store, clock } = host
  return {
    inbox: (query) => inbox(host, query),
    async decide(id, decision) {
      const said = await decide(host, id, decision)
      // What is wrong may be told with what there is to choose from.
      return said.answer === 'invalid' ? { ...said, problems: host.redact.deep(said.problems) } : said
    },
    rules: rememberedRules(store, clock),
    connections: openConnections(host),
    clients: openClients(host),
    remembered: (of) => rulesFor(store, of),
    connection: (of, provider) => connectionFor(host, of, provider),
    openSecret: (wait, sealed) => decode(host.seal.openText(sealed, secretPlace(wait))),
  }
}
