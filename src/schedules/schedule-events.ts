// The writes of a schedule transition: its rows, its monitor and the feed events of both. The events are derived from
// the difference between the old and the new row, so that no caller can forget one.

import type { Scope } from '../core/scope.ts'
import { eventOf, sessionSubject, type NewEvent } from '../store/records/event.ts'
import type { Store, DocumentWrite } from '../store/store.ts'
import { monitorEndWrites } from './monitor-task-writes.ts'
import { scheduleRows, type ScheduleRow, type ScheduleSlot } from './schedule-row.ts'

export interface ScheduleWrites {
  readonly documents: readonly DocumentWrite[]
  readonly events: readonly NewEvent[]
}

/** `after` null: the schedule is removed. */
export async function scheduleTransition(
  store: Store,
  of: Scope,
  id: string,
  { before, after, at }: { before: ScheduleRow; after: ScheduleRow | null; at: number },
): Promise<ScheduleWrites> {
  const ended = await monitorEndWrites(store, of, before, after, at)
  return {
    documents: [...scheduleRows(of, id, before, after), ...ended.documents],
    events: [...transitionEvents(of, id, { before, after, at }), ...ended.events],
  }
}

function transitionEvents(
  of: Scope,
  schedule: string,
  { before, after, at }: { before: ScheduleRow; after: ScheduleRow | null; at: number },
): NewEvent[] {
  const subject = sessionSubject(of)
  if (!after) return [eventOf(subject, 'schedule.cancelled', at, { schedule })]
  const slots = after.history
    .filter((slot) => !before.history.includes(slot))
    .map((slot) => slotEvent(of, schedule, slot, at))
  if (after.state === before.state) return slots
  const type = ({ active: 'schedule.resumed', paused: 'schedule.paused', ended: 'schedule.ended' } as const)[
    after.state
  ]
  return [...slots, eventOf(subject, type, at, { schedule })]
}

function slotEvent(of: Scope, schedule: string, { slot, outcome, task, byHand }: ScheduleSlot, at: number): NewEvent {
  if (outcome !== 'started') return eventOf(sessionSubject(of), 'schedule.missed', at, { schedule, slot, outcome })
  return eventOf(sessionSubject(of), 'schedule.fired', at, {
    schedule,
    slot,
    task: task ?? null,
    ...(byHand ? { byHand } : {}),
  })
}
