// Whether somebody waits for a call, or it goes on by itself.

import type { CallOptions } from '../store/records/call-record.ts'
import { parentName, type ParentRow } from '../store/records/conversation.ts'
import { movedId, taskName } from '../store/records/task-record.ts'
import { isThere } from '../store/read-or-report.ts'
import type { Store } from '../store/store.ts'

interface Scope {
  readonly tenant: string
  readonly session: string
}

/** Whether a call is a task, runs under one, or has become one, in its own session. */
export async function inBackground(store: Store, of: Scope, uid: string): Promise<boolean> {
  const options = (await store.call(uid))?.options ?? null
  const { task, inTask, root = uid } = options === null ? ({} as CallOptions) : (JSON.parse(options) as CallOptions)
  return task !== undefined || inTask !== undefined || isThere(() => store.document(taskName(of, movedId(root))))
}

/** Likewise, or an agent made it that works for such a one, in whatever session above. */
export async function isUnderTask(store: Store, uid: string): Promise<boolean> {
  for (let call = await store.call(uid); call;) {
    if (await inBackground(store, call.position, call.uid)) return true
    const above = await store.document(parentName(call.position))
    call = above && (await store.call((JSON.parse(above.value) as ParentRow).call))
  }
  return false
}
