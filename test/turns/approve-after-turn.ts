// A call of a turn that is approved only after the turn has ended, so that a notice reports its result.

import type { Model, Runtime, Session } from 'pawl'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { after } from '../kit/stores/fresh-store.ts'

/** A message of the user ends the turn that waits for approval; the next turn begins after the approval. */
export async function approveAfterTurn(runtime: Runtime, clock: ManualClock, model: Model): Promise<Session> {
  const session = runtime.session('s')
  const turn = session.turn({ model, message: 'Go' })
  await clock.advance(1_000)
  await session.messages.send('What now?')
  await after(turn.outcome, clock)
  const [item] = await runtime.inbox()
  await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
  await clock.advance(1_000)
  await after(session.turn({ model, message: 'And?' }).outcome, clock)
  return session
}
