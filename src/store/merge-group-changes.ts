// Most calls are inserted, started and settled within one flush. Folding writes such a row once, in its final state,
// instead of inserting and then updating it. The intermediate states are never visible, because they belong to the
// same transaction. Events and steps are not folded. Called by the SQLite change writer.

import type { CallRecord } from './records/call-record.ts'
import type { Change } from './store.ts'

export interface FoldedGroup {
  /** By index of the inserting change: the row as the group leaves it. */
  readonly inserts: ReadonlyMap<number, CallRecord>
  /** By index of a change whose guard and update are covered by such an insert: the index of the insert. */
  readonly coveredBy: ReadonlyMap<number, number>
}

export function foldChanges(changes: readonly Change[]): FoldedGroup {
  const inserts = new Map<number, CallRecord>()
  const coveredBy = new Map<number, number>()
  /** Calls that can still be folded, with the index of their insert. */
  const open = new Map<string, number>()
  for (const [index, change] of changes.entries()) {
    if (change.insertCall) {
      // Written by the holder of another call, whose row must be as it was at this change.
      for (const guard of change.guards) if ('call' in guard) open.delete(guard.call)
      inserts.set(index, change.insertCall)
      open.set(change.insertCall.uid, index)
      continue
    }
    const [guard] = change.guards
    const uid = change.updateCall?.uid ?? (guard?.kind === 'holds' ? guard.call : undefined)
    const insertIndex = uid === undefined ? undefined : open.get(uid)
    if (uid === undefined || insertIndex === undefined) continue
    const record = inserts.get(insertIndex) as CallRecord
    // Anything but a plain write by the holder ends folding for its call: later changes must see the real row.
    const plain =
      !change.takeSlots &&
      change.guards.length === 1 &&
      guard?.kind === 'holds' &&
      guard.call === uid &&
      guard.fence === record.fence
    if (!plain) {
      open.delete(uid)
      continue
    }
    coveredBy.set(index, insertIndex)
    if (!change.updateCall) continue
    const { progress, release } = change.updateCall
    inserts.set(insertIndex, { ...record, ...progress, owner: release ? null : record.owner })
    if (progress.state === 'settled') open.delete(uid)
  }
  return { inserts, coveredBy }
}
