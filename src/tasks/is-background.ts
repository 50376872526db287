// Distinguishes background calls from calls whose caller waits for them.

import type { Scope } from '../core/scope.ts'
import { parseCallOptions } from '../store/records/call-record.ts'
import { movedId } from '../store/records/task-record.ts'
import { isThere } from '../store/skip-unreadable.ts'
import type { Store } from '../store/store.ts'
import { collections } from '../store/collections.ts'

/** Whether a call is a task, is nested in one, or was moved to the background, within its own session. */
export async function isInBackground(store: Store, of: Scope, uid: string): Promise<boolean> {
  const options = (await store.call(uid))?.options ?? null
  const { task, inTask, root = uid } = parseCallOptions(options)
  return (
    task !== undefined ||
    inTask !== undefined ||
    isThere(() => store.document(collections.task.name(of, movedId(root))))
  )
}

/** The same across sessions: for a call of an agent, the call that the agent works for is checked too. */
export async function isUnderTask(store: Store, uid: string): Promise<boolean> {
  for (let call = await store.call(uid); call;) {
    if (await isInBackground(store, call.position, call.uid)) return true
    const above = await store.document(collections.sessionParent.name(call.position))
    call = above && (await store.call(collections.sessionParent.parse(above.value).call))
  }
  return false
}
