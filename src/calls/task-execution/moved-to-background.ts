// A call that somebody waited for and that was moved to the background: it does not know so itself, as whoever moved it may have been another process.

import type { Execution } from '../../engine/engine.ts'
import { noticeOf } from '../../store/records/notice.ts'
import { movedId, noticeKey, taskName, type TaskRow } from '../../store/records/task-record.ts'
import type { CallHost } from '../ports.ts'

async function movedRow({
  attached: beside,
  request,
  options,
}: Execution): Promise<{ id: string; row: TaskRow } | null> {
  if (options.task || options.root !== undefined) return null
  const id = movedId(request.uid)
  const row = await beside.read(taskName(request.position, id))
  return row === null ? null : { id, row: JSON.parse(row) as TaskRow }
}

/** With its end: its session hears of it soon. */
export async function movedEnds(execution: Execution, host: CallHost): Promise<void> {
  if (!host.wakes.maxConsecutive) return
  const moved = await movedRow(execution)
  if (!moved || moved.row.wake === 'silent') return
  execution.attached.ends()
  execution.attached.keep(...host.wakes.rows(execution.request.position, moved.id))
}

/** It lost its worker and goes on: a session that hears all is told. Whether it was moved. */
export async function movedGoesOn(execution: Execution, host: CallHost, attempt: number): Promise<boolean> {
  const moved = await movedRow(execution)
  if (!moved) return false
  const { position, uid } = execution.request
  if (moved.row.wake !== 'on_activity') return true
  const at = host.clock.now()
  const text = `It goes on where it was (attempt ${attempt}).`
  const { row, added } = noticeOf(position, noticeKey(at, `${uid}:${attempt}`, 0), {
    at,
    about: 'lost',
    task: moved.id,
    title: moved.row.title,
    text,
  })
  execution.attached.keep(row, ...host.wakes.rows(position, row.key))
  execution.attached.tell('notice.added', added)
  return true
}
