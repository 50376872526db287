// ctx.turn: runs an agent as a turn in a session of its own, linked to the session of the calling body. Approval
// requests of the agent also appear in that session's inbox. The agent is cancelled with the call that waits for it.

import type { Execution } from '../../engine/engine.ts'
import { eventOf } from '../../store/records/event.ts'
import { agentWorking, agentLeftWork, type ParentRow } from '../../store/records/conversation.ts'
import { PawlError } from '../../core/errors.ts'
import { failure } from '../../core/outcome.ts'
import type { Scope } from '../../core/scope.ts'
import type { Model } from '../../models/model.ts'
import { defined } from '../../core/tool-value.ts'
import { inheritedOptions } from '../../sessions/build-call-request.ts'
import { endLateAgent } from '../../sessions/session-end.ts'
import type { Store, DocumentWrite } from '../../store/store.ts'
import { isBusy } from '../../store/iterate-agent-sessions.ts'
import type { AgentOutcome, AgentTurn } from '../../tools/context/tool-context.ts'
import { collections } from '../../store/collections.ts'
import type { TurnHost } from '../ports.ts'
import { resumeTurn, startTurn } from '../start-turn.ts'

/** Maximum nesting of agents. */
const maxDepth = 4

export async function agentTurn(
  host: TurnHost,
  execution: Execution,
  session: string,
  agent: AgentTurn,
  signal: AbortSignal,
): Promise<AgentOutcome> {
  const { store, clock, switches } = host
  const { position, principal, uid } = execution.request
  const { tenant } = position
  const parent = await store.document(collections.sessionParent.name(position))
  const depth = parent ? collections.sessionParent.parse(parent.value).depth + 1 : 1
  if (depth > maxDepth)
    return failure({
      class: 'resource_limit',
      code: 'agents_too_deep',
      message: `Agents are already nested ${maxDepth} levels deep, which is the limit. Do this without another agent.`,
    })
  // After a rerun of the body the agent exists and `agent.started` has been recorded.
  const existing = await store.document(collections.sessionAgent.name(position, session))
  const enabled = await switches.enabledIn(position)
  const row: ParentRow = { session: position.session, call: uid, depth }
  const committed = await store.commit({
    guards: [...execution.attached.fence()],
    documents: [
      collections.sessionParent.write(row, { tenant, session }),
      { ...collections.sessionAgent.name(position, session), value: '1' },
      { ...collections.sessionWorking.name(position, session), value: agentWorking },
      // The agent's session has the capabilities of the parent session.
      ...switches.documents({ tenant, session }, enabled),
    ],
    events: existing
      ? []
      : [
          eventOf({ tenant, session: position.session, call: uid }, 'agent.started', clock.now(), { session }),
          ...switches.events({ tenant, session }, enabled, true),
        ],
  })
  if (!committed.ok) throw new PawlError('lease_lost')
  await endLateAgent(host, position, session) // the parent session may have ended before this commit
  const { model, message, frame, instructions, tools, limits } = agent
  const options = { model: model as Model | string | undefined, frame, instructions, tools, limits }
  const caller = { tenant, session, principal, ...inheritedOptions(execution.options) }
  const request = { ...defined(options), message, id: 'turn' }
  const turn = existing ? await resumeTurn(host, caller, request) : startTurn(host, caller, request)
  const cancelTurn = (): void => {
    const { stopped } = execution
    // A lost execution is resumed by another worker, which joins the agent's turn, so the turn is not cancelled.
    if (stopped && 'over' in stopped) return
    turn.cancel(stopped?.cancel ?? 'What it was asked by has ended', stopped?.by ?? undefined).catch(() => {})
  }
  if (signal.aborted) cancelTurn()
  signal.addEventListener('abort', cancelTurn, { once: true })
  try {
    const outcome = await turn.outcome
    execution.attached.writeDocuments(...(await workingRows(store, position, session))) // written with the next commit
    return outcome
  } finally {
    signal.removeEventListener('abort', cancelTurn)
  }
}

/**
 * Updates the `working` rows after an agent has answered: an agent that left open work stays listed, because that work
 * may still ask for approval. Agents whose open work has ended are removed.
 */
async function workingRows(store: Store, { tenant, session }: Scope, agent: string): Promise<readonly DocumentWrite[]> {
  const of = { tenant, session }
  const rows: DocumentWrite[] = [{ ...collections.sessionWorking.name(of, agent), value: agentLeftWork }]
  try {
    if (!(await isBusy(store, { tenant, session: agent }))) rows[0] = collections.sessionWorking.remove(of, agent)
    for await (const { key, value } of collections.sessionWorking.iterate(store, of))
      if (key !== agent && value === agentLeftWork && !(await isBusy(store, { tenant, session: key })))
        rows.push(collections.sessionWorking.remove(of, key))
  } catch {} // a stale row only costs an extra lookup
  return rows
}
