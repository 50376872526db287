// An agent that a body lets work (SESS-6): a turn in a session of its own, which knows whose it is. What it asks of people is found in the inbox of the
// session above it, too. Cancelled with the call that waits for it.

import type { Execution } from '../../engine/engine.ts'
import { eventOf } from '../../store/records/event.ts'
import {
  agentName,
  atWork,
  leftBehind,
  parentName,
  type ParentRow,
  workingName,
} from '../../store/records/conversation.ts'
import { PawlError } from '../../core/errors.ts'
import type { Clock } from '../../core/clock.ts'
import type { Model } from '../../models/model.ts'
import type { StartTurn, Turn } from '../../models/turn-interface.ts'
import { askingOf, type Place } from '../../sessions/call-record.ts'
import type { CapabilitySwitches } from '../../sessions/capabilities.ts'
import { iterateDocuments } from '../../store/iterate-documents.ts'
import type { Change, Store } from '../../store/store.ts'
import { isBusy } from '../../store/agent-sessions.ts'
import type { AgentOutcome, AgentTurn } from '../../tools/context/context.ts'

/** Agents that let agents work that let agents work. */
const deepest = 4

export interface AgentsHost {
  readonly store: Store
  readonly clock: Clock
  readonly switches: CapabilitySwitches
  start(place: Place, turn: StartTurn): Turn
  /** The one that is there, as it was asked for; else it is started. */
  again(place: Place, turn: StartTurn & { readonly id: string }): Promise<Turn>
  /** Of one whose call ends with a session that has ended: nothing begins for it either. */
  endLate(of: { readonly tenant: string; readonly session: string }, agent: string): Promise<void>
}

export async function agentTurn(
  { store, clock, switches, start, again, endLate }: AgentsHost,
  execution: Execution,
  session: string,
  agent: AgentTurn,
  signal: AbortSignal,
): Promise<AgentOutcome> {
  const { position, principal, uid } = execution.request
  const { tenant } = position
  const above = await store.document(parentName(position))
  const depth = above ? (JSON.parse(above.value) as ParentRow).depth + 1 : 1
  if (depth > deepest) throw new PawlError('agents_too_deep', `${deepest} agents are above it already.`)
  // A body that runs again finds its agent at work: that it began has been told.
  const before = await store.document(agentName(position, session))
  const on = await switches.on(position)
  const row: ParentRow = { session: position.session, call: uid, depth }
  const kept = await store.commit({
    guards: [...execution.attached.fence()],
    documents: [
      { ...parentName({ tenant, session }), value: JSON.stringify(row) },
      { ...agentName(position, session), value: '1' },
      { ...workingName(position, session), value: atWork },
      // What holds in the session above holds in this one.
      ...switches.rows({ tenant, session }, on),
    ],
    events: before
      ? []
      : [
          eventOf({ tenant, session: position.session, call: uid }, 'agent.started', clock.now(), { session }),
          ...switches.told({ tenant, session }, on, true),
        ],
  })
  if (!kept.ok) throw new PawlError('lease_lost')
  await endLate(position, session) // whoever ends what is there may not have found it
  const { model, message, frame, instructions, tools, limits } = agent
  const asked = { model: model as Model | string | undefined, frame, instructions, tools, limits }
  const place = { tenant, session, principal, ...askingOf(execution.options) }
  const given = Object.fromEntries(
    Object.entries(asked).filter(([, value]) => value !== undefined),
  ) as Partial<StartTurn>
  const work = { ...given, message, id: 'turn' }
  const turn = before ? await again(place, work) : start(place, work)
  const cancelled = (): void => {
    const { stopped } = execution
    // An execution that no longer counts is taken up again, and finds the agent at work.
    if (stopped && 'over' in stopped) return
    turn.cancel(stopped?.cancel ?? 'What it was asked by has ended', stopped?.by ?? undefined).catch(() => {})
  }
  if (signal.aborted) cancelled()
  signal.addEventListener('abort', cancelled, { once: true })
  try {
    const outcome = await turn.outcome
    execution.attached.keep(...(await answered(store, position, session))) // on record with what is written next
    return outcome
  } finally {
    signal.removeEventListener('abort', cancelled)
  }
}

type Rows = NonNullable<Change['documents']>

/** What an agent has left behind may ask people later, and is found. Of those before it that left something which is over by now nothing is found. */
async function answered(
  store: Store,
  { tenant, session }: { tenant: string; session: string },
  agent: string,
): Promise<Rows> {
  const of = { tenant, session }
  const rows: Rows[number][] = [{ ...workingName(of, agent), value: leftBehind }]
  try {
    if (!(await isBusy(store, { tenant, session: agent }))) rows[0] = { ...workingName(of, agent), value: null }
    for await (const { key, value } of iterateDocuments(store, { of: workingName(of, '').of, ...of }))
      if (key !== agent && value === leftBehind && !(await isBusy(store, { tenant, session: key })))
        rows.push({ ...workingName(of, key), value: null })
  } catch {} // it has answered: who looks in vain costs little
  return rows
}
