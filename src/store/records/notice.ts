// JOURNAL: a notice as it is put on record (TASK-9): what a session is to be told, and the fact that there is something to tell.

import { eventOf, type EventBodies, type EventSubject, type NewEvent } from './event.ts'
import { noticeName, type NoticeRow } from './task-record.ts'

/** As it is listed, and acknowledged. */
export const noticePrefix = 'row:'

/** `key`: see noticeKey. */
export function noticeOf(
  of: Omit<EventSubject, 'call'>,
  key: string,
  row: NoticeRow,
): {
  readonly row: ReturnType<typeof noticeName> & { readonly value: string }
  readonly added: EventBodies['notice.added']
} {
  const { about, task = null } = row
  return {
    row: { ...noticeName(of, key), value: JSON.stringify(row) },
    added: { notice: `${noticePrefix}${key}`, about, task },
  }
}

export const noticeAdded = (of: EventSubject, added: EventBodies['notice.added'], at: number): NewEvent =>
  eventOf(of, 'notice.added', at, added)
