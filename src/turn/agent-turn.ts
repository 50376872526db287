// An agent that a body lets work (SESS-6): a turn in a session of its own, which knows whose it is. What it asks of people is found in the inbox of the
// session above it, too. Cancelled with the call that waits for it.

import type { Invocation } from '../engine/engine.ts'
import { eventOf } from '../journal/event.ts'
import { agentName, parentName, type ParentRow, workingName } from '../journal/message.ts'
import { PawlError } from '../kernel/errors.ts'
import type { Clock } from '../kernel/time.ts'
import type { Model } from '../model/model.ts'
import type { StartTurn, Turn } from '../model/turn.ts'
import { askingOf, type Place } from '../session/asked.ts'
import type { Switches } from '../session/switches.ts'
import type { Store } from '../store/store.ts'
import type { AgentOutcome, AgentTurn } from '../tool/context.ts'

/** Agents that let agents work that let agents work. */
const deepest = 4

export interface AgentsHost {
  readonly store: Store
  readonly clock: Clock
  readonly switches: Switches
  start(place: Place, turn: StartTurn): Turn
  /** The one that is there, as it was asked for; else it is started. */
  again(place: Place, turn: StartTurn & { readonly id: string }): Promise<Turn>
}

export async function agentTurn(
  { store, clock, switches, start, again }: AgentsHost,
  invocation: Invocation,
  session: string,
  agent: AgentTurn,
  signal: AbortSignal,
): Promise<AgentOutcome> {
  const { position, principal, uid } = invocation.request
  const { tenant } = position
  const above = await store.kept(parentName(position))
  const depth = above ? (JSON.parse(above.value) as ParentRow).depth + 1 : 1
  if (depth > deepest) throw new PawlError('agents_too_deep', `${deepest} agents are above it already.`)
  // A body that runs again finds its agent at work: that it began has been told.
  const before = await store.kept(agentName(position, session))
  const on = await switches.on(position)
  const row: ParentRow = { session: position.session, call: uid, depth }
  const kept = await store.commit({
    guards: [...invocation.beside.fence()],
    keep: [
      { ...parentName({ tenant, session }), value: JSON.stringify(row) },
      { ...agentName(position, session), value: '1' },
      { ...workingName(position, session), value: '1' },
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
  const { model, message, frame, instructions, tools, limits } = agent
  const asked = { model: model as Model | string | undefined, frame, instructions, tools, limits }
  const place = { tenant, session, principal, ...askingOf(invocation.options) }
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined)) as Partial<StartTurn>
  const work = { ...given, message, id: 'turn' }
  const turn = before ? await again(place, work) : start(place, work)
  const cancelled = (): void => {
    const { stopped } = invocation
    // An execution that no longer counts is taken up again, and finds the agent at work.
    if (stopped && 'over' in stopped) return
    turn.cancel(stopped?.cancel ?? 'What it was asked by has ended', stopped?.by ?? undefined).catch(() => {})
  }
  if (signal.aborted) cancelled()
  signal.addEventListener('abort', cancelled, { once: true })
  try {
    const outcome = await turn.outcome
    // On record with what is written next: nothing of it waits for people any more.
    invocation.beside.keep({ ...workingName(position, session), value: null })
    return outcome
  } finally {
    signal.removeEventListener('abort', cancelled)
  }
}
