// The approvals feature: inbox, decisions, remembered rules, connections and client calls. The runtime and the session
// use it.

import type { RememberedRule } from '../policy/match-remembered-rules.ts'
import { createAnswerValidator, createEditValidator } from '../calls/authorization/validate-external-input.ts'
import type { Foundation } from '../engine/foundation.ts'
import { decode, type Json } from '../core/tool-value.ts'
import type { Scope } from '../core/scope.ts'
import { type ClientCalls, openClientCalls } from './pending-client-calls.ts'
import { connectionFor, type Connections, openConnections } from './account-connections.ts'
import {
  decide,
  type DecideAnswer,
  type DecideHost,
  type EndedItem,
  endedItem,
  secretAnswerPosition,
} from './decide.ts'
import { inbox, type InboxItem, type InboxQuery } from './inbox.ts'
import { type RememberedRules, openRememberedRules, rulesFor } from './remembered-rules.ts'
import type { InboxDecision } from './decision-input.ts'

export interface Approvals {
  inbox(query?: InboxQuery): Promise<InboxItem[]>
  decide(id: string, decision: InboxDecision): Promise<DecideAnswer>
  ended(id: string, tenant?: string): Promise<EndedItem | undefined>
  readonly rules: RememberedRules
  readonly connections: Connections
  readonly clients: ClientCalls
  /** Remembered rules that apply in a session. */
  remembered(of: Scope): Promise<readonly RememberedRule[]>
  connection(of: { tenant: string; principal: string | null }, provider: string): ReturnType<typeof connectionFor>
  /** Decrypts a person's answer to a secret question. */
  openSecret(wait: string, sealed: string): Json
  /** Checks an answer from outside against the output schema of the tool. */
  readonly validateAnswer: ReturnType<typeof createAnswerValidator>
}

type ApprovalsHost = Omit<DecideHost, 'validateAnswer' | 'validateEdit'> &
  Pick<Foundation, 'redact' | 'knownSecrets'> &
  Parameters<typeof createEditValidator>[0]

export function openApprovals(parts: ApprovalsHost): Approvals {
  const validateAnswer = createAnswerValidator(parts)
  const host = { ...parts, validateAnswer, validateEdit: createEditValidator(parts) }
  const { store } = host
  return {
    validateAnswer,
    inbox: (query) => inbox(host, query),
    async decide(id, decision) {
      const answer = await decide(host, id, decision)
      // A problem text may contain the choices of the question, and people may have written a secret in a reason.
      if (answer.answer === 'invalid') return { ...answer, problems: host.redact.deep(answer.problems) }
      return answer.answer === 'already_decided' ? { ...answer, by: host.redact.deep(answer.by) } : answer
    },
    async ended(id, tenant) {
      const item = await endedItem(host, id, tenant)
      if (!item) return undefined
      await host.knownSecrets.refresh(item)
      return host.redact.deep(item)
    },
    rules: openRememberedRules(host),
    connections: openConnections(host),
    clients: openClientCalls(host),
    remembered: (of) => rulesFor(store, of),
    connection: (of, provider) => connectionFor(host, of, provider),
    openSecret: (wait, sealed) => decode(host.seal.openText(sealed, secretAnswerPosition(wait))),
  }
}
