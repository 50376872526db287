// Notices of a call that was moved to the background or has a placeholder. The move may have been made by another
// process, so the task row is read from the store.

import type { Execution } from '../../engine/engine.ts'
import { owedKey } from '../../store/records/conversation.ts'
import { noticeOf } from '../../store/records/notice.ts'
import { movedId, noticeKey, type TaskRow } from '../../store/records/task-record.ts'
import type { CallHost } from '../ports.ts'
import { collections } from '../../store/collections.ts'

async function movedTask({ attached, request, options }: Execution): Promise<{ id: string; row: TaskRow } | null> {
  if (options.task || options.root !== undefined) return null
  const id = movedId(request.uid)
  const row = await attached.read(collections.task.name(request.position, id))
  return row === null ? null : { id, row: collections.task.parse(row) }
}

/**
 * Wakes the session when a call ends that was moved to the background, or whose result is owed to the model behind a
 * placeholder. Written together with the outcome.
 */
export async function wakeAtEnd(execution: Execution, host: CallHost): Promise<void> {
  if (!host.wakes.maxConsecutive) return
  const moved = await movedTask(execution)
  const { position, uid } = execution.request
  const isMoved = moved && moved.row.wake !== 'silent'
  if (!isMoved && !(await mayBeOwed(execution))) return
  execution.attached.deferToOutcome()
  execution.attached.writeDocuments(...host.wakes.rows(position, isMoved ? moved.id : uid))
}

/**
 * True if the model may have read a placeholder for this call. The turn may be about to record that for a call that
 * waited, so such a call always counts; a wake without a notice starts nothing.
 */
async function mayBeOwed({ attached, request: { position }, options, hasWaits }: Execution): Promise<boolean> {
  if (options.turn === undefined || options.root !== undefined) return false
  return hasWaits || (await attached.read(collections.resultOwed.name(position, owedKey(position)))) !== null
}

/**
 * For a call that was moved to the background: adds a notice that it continues after a worker death, if its wake policy
 * is `on_activity`. Returns false if the call was not moved.
 */
export async function noteMovedRecovery(execution: Execution, host: CallHost, attempt: number): Promise<boolean> {
  const moved = await movedTask(execution)
  if (!moved) return false
  const { position, uid } = execution.request
  if (moved.row.wake !== 'on_activity') return true
  const at = host.clock.now()
  const text = `It continues where it stopped (attempt ${attempt}).`
  const { row, added } = noticeOf(position, noticeKey(at, `${uid}:${attempt}`, 0), {
    at,
    about: 'lost',
    task: moved.id,
    title: moved.row.title,
    text,
  })
  execution.attached.writeDocuments(row, ...host.wakes.rows(position, row.key))
  execution.attached.appendEvent('notice.added', added)
  return true
}
