// Attached writes: documents, events and a call that wait for the holder's next write.

import { lengthPrefixed } from '../../../core/ids.ts'
import type { AttachmentRecord, Change, DocumentName } from '../../../store/store.ts'

export type PendingWrites = Required<Pick<Change, 'documents' | 'events'>> &
  Partial<Pick<Change, 'guards' | 'insertCall'>>

/** Attached writes contained in a change; re-queued if it is rejected while the lease is still ours. */
export interface AttachedToCommit {
  readonly pending: PendingWrites | null
  readonly attachments: AttachmentRecord[] | null
}

export const nothingAttached: AttachedToCommit = { pending: null, attachments: null }

export const documentKey = ({ of, tenant, session, key }: DocumentName): string =>
  lengthPrefixed(of, tenant, session, key)

/** Merges two sets of writes; the later value of a document wins. */
export function mergeWrites(first: PendingWrites, then: PendingWrites): PendingWrites {
  const replaced = new Set(then.documents.map(documentKey))
  return {
    ...first,
    ...then,
    documents: [...first.documents.filter((row) => !replaced.has(documentKey(row))), ...then.documents],
    events: [...first.events, ...then.events],
  }
}

/**
 * For attached writes that the store rejected: the call among them, with its own documents and events. They are written
 * again, because that call must still run on some worker.
 */
export function submittedCallOf({ pending }: AttachedToCommit): PendingWrites | null {
  if (!pending?.insertCall) return null
  const { guards = [], insertCall, events } = pending
  const documents = pending.documents.filter(({ key }) => key === insertCall.position.id)
  return { documents, guards, insertCall, events: events.filter(({ call }) => call === insertCall.uid) }
}
