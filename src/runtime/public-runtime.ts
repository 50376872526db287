// The object that createRuntime() returns: the public methods, implemented with the parts that openRuntime() built.

import { openDecisionLinks } from '../access/decision-links.ts'
import { openTokens } from '../access/tokens.ts'
import type { Approvals } from '../approvals/approvals.ts'
import type { PinStore } from '../approvals/definition-pins.ts'
import { explainCall } from '../calls/authorization/explain-decision.ts'
import { type DiagnosedCall, diagnosedCallOptions, parseDiagnostics } from '../calls/record-diagnostics.ts'
import { checkOptions, checkRequiredOptions, option } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import type { DeployPorts } from '../maintenance/deploy-check.ts'
import { checkHealth } from '../maintenance/health.ts'
import { unmatchedPolicyRules } from '../maintenance/unmatched-policy-rules.ts'
import { erase, prune } from '../maintenance/retention.ts'
import { listPolicyRules } from '../policy/list-rules.ts'
import type { Policy } from '../policy/rules.ts'
import type { Runtime } from '../runtime-options.ts'
import { emit, runtimeEmitOptions } from '../schedules/emit-event.ts'
import { schedulesOfAllSessions } from '../schedules/schedules-of-all-sessions.ts'
import { openSession, type SessionHost } from '../sessions/session.ts'
import { parseAnswer } from '../store/records/wait-resolution.ts'

export interface RuntimeParts extends SessionHost, DeployPorts {
  readonly approvals: Approvals
  readonly pins: PinStore
  readonly policies: readonly Policy[]
}

export const decidedOptions = { tenant: option.string }

export function publicRuntime(parts: RuntimeParts, close: Runtime['close']): Runtime {
  const { registry, approvals, pins, store, engine, sizes } = parts
  const callAt = ({ tenant = 'default', session, batch = '', callId: id, occurrence = 0 }: DiagnosedCall) =>
    store.callAt({ tenant, session, batch, id, occurrence })
  const policyProblems = () => (parts.works ? unmatchedPolicyRules(parts.policies, registry) : [])
  for (const problem of policyProblems()) parts.logger.warn(problem)
  return {
    session: (id, about) => openSession(parts, id, about),
    sessions: parts.records.allSessions(),
    calls: parts.records.allCalls(),
    tools: {
      add: (tools) => registry.add(tools),
      remove: (name) => registry.remove(name),
      list: () => registry.list(),
      provide: (provider) => registry.provide(provider),
      withdraw: (provider) => registry.withdraw(provider),
      providers: () => parts.redact.deep(registry.providers()),
      reconnect: (provider) => registry.reconnect(provider),
      onChange: (listener) => registry.onChange(listener),
    },
    quarantine: { list: () => pins.list(), accept: (change) => pins.accept(change) },
    async resolve(key, answer) {
      const checked = parseAnswer(answer, sizes.result)
      return 'problems' in checked ? { answer: 'invalid', problems: checked.problems } : engine.resolve(key, checked)
    },
    async emit(event, payload, how) {
      checkOptions(how, runtimeEmitOptions, 'emit()', 'trigger_invalid')
      return emit(parts, { tenant: how?.tenant ?? 'default', session: how?.session }, event, payload, how?.key)
    },
    inbox: approvals.inbox,
    decide: approvals.decide,
    async decided(id, query) {
      checkOptions(query, decidedOptions, 'decided()')
      return approvals.ended(id, query?.tenant)
    },
    rules: approvals.rules,
    connections: approvals.connections,
    tokens: openTokens(parts),
    links: openDecisionLinks(parts),
    explain: (call) => explainCall(parts, call),
    policyRules: (query) => listPolicyRules(parts.policies, query),
    schedules: schedulesOfAllSessions(parts),
    async diagnostics(call) {
      if (typeof call !== 'string') checkRequiredOptions(call, diagnosedCallOptions, 'diagnostics()', 'call_invalid')
      const { trouble = null } = (await (typeof call === 'string' ? store.call(call) : callAt(call))) ?? {}
      return trouble === null ? undefined : parseDiagnostics(trouble)
    },
    events: parts.feed.readAll(),
    recentEvents: (query) => parts.feed.recent(query),
    cursor: () => parts.feed.cursor(),
    prune: (query) => prune(parts, query),
    erase: (query) => erase(parts, query),
    observe(observer) {
      if (typeof observer !== 'function') throw new PawlError('config_invalid', 'The observer must be a function.')
      return parts.observers.add(observer)
    },
    health: () => checkHealth({ ...parts, policyProblems: policyProblems() }),
    close,
  }
}
