// What waits to be written beside a held call, with whatever its holder writes next.

import { frame } from '../../../core/ids.ts'
import type { AttachmentRecord, Change, DocumentName } from '../../../store/store.ts'

export type PendingWrites = Required<Pick<Change, 'documents' | 'events'>> &
  Partial<Pick<Change, 'guards' | 'insertCall'>>

/** What a change of the holder took along: it waits again if that was refused while the call stays ours. */
export interface AttachedToCommit {
  readonly beside: PendingWrites | null
  readonly attachments: AttachmentRecord[] | null
}

export const nothingAlong: AttachedToCommit = { beside: null, attachments: null }

export const placeOf = ({ of, tenant, session, key }: DocumentName): string => frame(of, tenant, session, key)

/** The last word on a name is enough. */
export function joined(first: PendingWrites, then: PendingWrites): PendingWrites {
  const places = new Set(then.documents.map(placeOf))
  return {
    ...first,
    ...then,
    documents: [...first.documents.filter((row) => !places.has(placeOf(row))), ...then.documents],
    events: [...first.events, ...then.events],
  }
}

/** Of what could not be written: the call that somebody must see to all the same, and what is kept under its name. */
export function callIn({ beside }: AttachedToCommit): PendingWrites | null {
  if (!beside?.insertCall) return null
  const { guards = [], insertCall, events } = beside
  const documents = beside.documents.filter(({ key }) => key === insertCall.position.id)
  return { documents: documents, guards, insertCall, events: events.filter(({ call }) => call === insertCall.uid) }
}
