// Builds the document and the event of a notice: information that the session's next turn must read.

import { eventOf, type EventBodies, type EventSubject, type NewEvent } from './event.ts'
import type { NoticeRow } from './task-record.ts'
import { collections } from '../collections.ts'
import { type DocumentName } from '../store.ts'

/** Prefix of the public notice id. */
export const noticePrefix = 'row:'

/** `key` comes from noticeKey(). */
export function noticeOf(
  of: Omit<EventSubject, 'call'>,
  key: string,
  row: NoticeRow,
): {
  readonly row: DocumentName & { readonly value: string }
  readonly added: EventBodies['notice.added']
} {
  const { about, task = null } = row
  return {
    row: collections.notice.write(row, of, key),
    added: { notice: `${noticePrefix}${key}`, about, task },
  }
}

export const noticeAdded = (of: EventSubject, added: EventBodies['notice.added'], at: number): NewEvent =>
  eventOf(of, 'notice.added', at, added)
