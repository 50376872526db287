// Most calls arrive, begin and settle within one flush. Then their row is written once, as it ends up, instead of inserted and updated: no
// one can see the states in between, because they are in the same transaction. Events and steps are written as they are.

import type { CallRecord } from './records/call-record.ts'
import type { Change } from './store.ts'

export interface Folded {
  /** For a change that inserts a call: the row as the group leaves it. */
  readonly insert: ReadonlyMap<number, CallRecord>
  /** For a change whose guard and update are covered by that insert: the index of it. */
  readonly by: ReadonlyMap<number, number>
}

export function fold(changes: readonly Change[]): Folded {
  const insert = new Map<number, CallRecord>()
  const by = new Map<number, number>()
  /** Calls that can still be folded, and where they were inserted. */
  const open = new Map<string, number>()
  for (const [index, change] of changes.entries()) {
    if (change.insertCall) {
      insert.set(index, change.insertCall)
      open.set(change.insertCall.uid, index)
      continue
    }
    const [guard] = change.guards
    const uid = change.updateCall?.uid ?? (guard?.kind === 'holds' ? guard.call : undefined)
    const at = uid === undefined ? undefined : open.get(uid)
    if (uid === undefined || at === undefined) continue
    const record = insert.get(at) as CallRecord
    // Anything but a plain write of the holder ends the folding of its call: what follows must see the row as it is.
    const plain =
      !change.take &&
      change.guards.length === 1 &&
      guard?.kind === 'holds' &&
      guard.call === uid &&
      guard.fence === record.fence
    if (!plain) {
      open.delete(uid)
      continue
    }
    by.set(index, at)
    if (!change.updateCall) continue
    const { progress, release } = change.updateCall
    insert.set(at, { ...record, ...progress, owner: release ? null : record.owner })
    if (progress.state === 'settled') open.delete(uid)
  }
  return { insert, by }
}
