// Builds the document and the event of a notice: information that the session's next turn must read.

import { eventOf, type EventBodies, type EventSubject, type NewEvent } from './event.ts'
import { noticeName, type NoticeRow } from './task-record.ts'

/** Prefix of the public notice id. */
export const noticePrefix = 'row:'

/** `key` comes from noticeKey(). */
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
