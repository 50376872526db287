// What waits to be written beside a held call, with whatever its holder writes next.

import { frame } from '../../../core/ids.ts'
import type { AttachmentRecord, Change, KeptName } from '../../../store/store.ts'

export type Besides = Required<Pick<Change, 'keep' | 'events'>> & Partial<Pick<Change, 'guards' | 'insertCall'>>

/** What a change of the holder took along: it waits again if that was refused while the call stays ours. */
export interface Along {
  readonly beside: Besides | null
  readonly attachments: AttachmentRecord[] | null
}

export const nothingAlong: Along = { beside: null, attachments: null }

export const placeOf = ({ of, tenant, session, key }: KeptName): string => frame(of, tenant, session, key)

/** The last word on a name is enough. */
export function joined(first: Besides, then: Besides): Besides {
  const places = new Set(then.keep.map(placeOf))
  return {
    ...first,
    ...then,
    keep: [...first.keep.filter((row) => !places.has(placeOf(row))), ...then.keep],
    events: [...first.events, ...then.events],
  }
}

/** Of what could not be written: the call that somebody must see to all the same, and what is kept under its name. */
export function callIn({ beside }: Along): Besides | null {
  if (!beside?.insertCall) return null
  const { guards = [], insertCall, events } = beside
  const keep = beside.keep.filter(({ key }) => key === insertCall.position.id)
  return { keep, guards, insertCall, events: events.filter(({ call }) => call === insertCall.uid) }
}
