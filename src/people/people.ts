// What people can do, in one place: the inbox, decisions, and the rules they made. Every door comes through here.

import type { RememberedRule } from '../policy/remembered.ts'
import type { Redactor } from '../secret/redact.ts'
import { decide, type DecideAnswer, type DecideHost } from './decide.ts'
import { inbox, type InboxItem, type InboxQuery } from './inbox.ts'
import { type RememberedRules, rememberedRules, rulesFor } from './rules.ts'
import type { InboxDecision } from './word.ts'

export interface People {
  inbox(query?: InboxQuery): Promise<InboxItem[]>
  decide(id: string, decision: InboxDecision): Promise<DecideAnswer>
  readonly rules: RememberedRules
  /** What answers in a session instead of somebody. */
  remembered(of: { tenant: string; session: string }): Promise<readonly RememberedRule[]>
}

export function openPeople(host: DecideHost & { readonly redact: Redactor }): People {
  const { store, clock } = host
  return {
    inbox: (query) => inbox(host, query),
    decide: (id, decision) => decide(host, id, decision),
    rules: rememberedRules(store, clock),
    remembered: (of) => rulesFor(store, of),
  }
}
