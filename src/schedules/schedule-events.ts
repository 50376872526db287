// What becomes of a schedule, as it goes on record: its rows, the monitor that stands for it, and what the feed tells of both. The facts are read from
// what the schedule was and what it is then, so none can be forgotten.

import { eventOf, ofSession, type NewEvent } from '../store/records/event.ts'
import type { Change, Store } from '../store/store.ts'
import { monitorEnds } from './schedule-monitor.ts'
import { keepSchedule, type ScheduleRow, type ScheduleSlot, type Scope } from './schedule-row.ts'

export interface Written {
  readonly documents: NonNullable<Change['documents']>
  readonly events: readonly NewEvent[]
}

/** `after` null: it is removed. */
export async function scheduleMoves(
  store: Store,
  of: Scope,
  id: string,
  { before, after, at }: { before: ScheduleRow; after: ScheduleRow | null; at: number },
): Promise<Written> {
  const ended = await monitorEnds(store, of, before, after, at)
  return {
    documents: [...keepSchedule(of, id, before, after), ...ended.documents],
    events: [...factsOf(of, id, { before, after, at }), ...ended.events],
  }
}

function factsOf(
  of: Scope,
  schedule: string,
  { before, after, at }: { before: ScheduleRow; after: ScheduleRow | null; at: number },
): NewEvent[] {
  const subject = ofSession(of)
  if (!after) return [eventOf(subject, 'schedule.cancelled', at, { schedule })]
  const slots = after.history
    .filter((slot) => !before.history.includes(slot))
    .map((slot) => slotTold(of, schedule, slot, at))
  if (after.state === before.state) return slots
  const type = ({ active: 'schedule.resumed', paused: 'schedule.paused', ended: 'schedule.ended' } as const)[
    after.state
  ]
  return [...slots, eventOf(subject, type, at, { schedule })]
}

function slotTold(of: Scope, schedule: string, { slot, outcome, task, byHand }: ScheduleSlot, at: number): NewEvent {
  if (outcome !== 'started') return eventOf(ofSession(of), 'schedule.missed', at, { schedule, slot, outcome })
  return eventOf(ofSession(of), 'schedule.fired', at, {
    schedule,
    slot,
    task: task ?? null,
    ...(byHand ? { byHand } : {}),
  })
}
