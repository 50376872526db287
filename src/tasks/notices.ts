// What a session is to be told (TASK-9): tasks that have ended, and what open ones asked or told where their policy says so; what schedules and
// triggers say. For a model it is a notice of the runtime, marked as one: nobody's words, and never the user's.
//
// The end of a task is not written a second time: a task that wakes its session is on a list until somebody has read how it ended.

import { PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import { noticeMark, quotedInNotice } from '../core/notice-text.ts'
import { isTerminal } from '../core/task-state.ts'
import { eventOf, ofSession } from '../store/records/event.ts'
import { noticePrefix } from '../store/records/notice.ts'
import { endName, type EndRow, noticeName, type NoticeRow, wakeName } from '../store/records/task-record.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import { unlessUnreadable } from '../store/read-or-report.ts'
import type { Change, DocumentName } from '../store/store.ts'
import type { Task } from '../tools/context/tasks.ts'
import type { BackgroundHost, Reading } from './ports.ts'
import { readMoved, readTask, resultOf, toldOf } from './read-task.ts'

export interface Notice {
  /** Say it to `acknowledge` when it has been told. */
  readonly id: string
  readonly at: number
  readonly about: 'end' | NoticeRow['about']
  readonly task: string | null
  /** What the model reads. */
  readonly text: string
}

export interface Notices {
  /** What has not been acknowledged, oldest first. */
  list(): Promise<Notice[]>
  /** They are not told again. Tells how many there were. */
  acknowledge(ids: readonly string[]): Promise<number>
}

interface Scope {
  readonly tenant: string
  readonly session: string
}

const endPrefix = 'end:'

export function openNotices(host: Reading & Pick<BackgroundHost, 'clock'>, { tenant, session }: Scope): Notices {
  const { store, clock } = host
  const of = { tenant, session }
  const list = async (): Promise<Notice[]> => {
    const found: Notice[] = []
    await host.learn(of)
    for await (const { key, revision } of iterateDocuments(store, { of: 'task-wake', ...of })) {
      // One that cannot be opened stands in the way of no other.
      const task = await unlessUnreadable(() => readTask(host, of, key))
      if (!task || !isTerminal(task.state)) continue
      if (tellsEnd(task))
        found.push({
          ...endOf(task, await resultOf(host, of, key)),
          ...(task.wake === 'silent' ? { about: 'lost' as const } : {}),
        })
      // One that was moved is on the list whatever its policy, as it may be lost. It was not.
      else
        await store.commit({
          guards: [{ kind: 'kept', ...wakeName(of, key), revision }],
          documents: [{ ...wakeName(of, key), value: null }],
          events: [],
        })
    }
    const end = await store.document(endName(of, ''))
    const until = end ? (JSON.parse(end.value) as EndRow).at : Infinity
    for await (const { key, value } of iterateDocuments(store, { of: 'notice', ...of })) {
      const row = JSON.parse(value) as NoticeRow
      // Of what goes on after its session nobody is told.
      if (row.task === undefined || row.at <= until) found.push(told(key, row))
    }
    return found
      .map((notice) => ({ ...notice, text: host.shown(notice.text) }))
      .toSorted(
        (a, b) => a.at - b.at || Number(a.about === 'end') - Number(b.about === 'end') || (a.id < b.id ? -1 : 1),
      )
  }
  return {
    list,
    async acknowledge(ids) {
      let gone = 0
      if (!Array.isArray(ids)) throw new PawlError('task_invalid', 'A list of ids of notices is needed.')
      const listed = new Set((await list()).map(({ id }) => id))
      for (const id of ids) {
        // What has not been told cannot have been heard.
        const name = listed.has(id) ? nameOf(of, id) : null
        const kept = name && (await store.document(name))
        // Of two who read it one has told it.
        if (
          name &&
          kept &&
          (
            await store.commit({
              guards: [{ kind: 'kept', ...name, revision: kept.revision }],
              documents: [{ ...name, value: null }],
              events: [eventOf(ofSession(of), 'notice.acknowledged', clock.now(), { notice: id })],
            })
          ).ok
        )
          gone++
      }
      return gone
    },
  }
}

function nameOf(of: Scope, id: string): DocumentName | null {
  if (!isName(id)) return null
  if (id.startsWith(endPrefix)) return wakeName(of, id.slice(endPrefix.length))
  return id.startsWith(noticePrefix) ? noticeName(of, id.slice(noticePrefix.length)) : null
}

/**
 * Whether the end of the task that a call has become is told in a notice: 'to come' as long as that is listed, also before it has ended. Null if it is not: then
 * nobody else tells of the call.
 */
export async function noticeOfMoved(
  host: Reading,
  { tenant, session }: Scope,
  uid: string,
): Promise<'to come' | 'told' | null> {
  const of = { tenant, session }
  const task = await unlessUnreadable(() => readMoved(host, of, uid))
  if (!task || !tellsEnd(task)) return null
  return (await unlessUnreadable(() => host.store.document(wakeName(of, task.id)))) ? 'to come' : 'told'
}

const tellsEnd = ({ wake, state }: Task): boolean => wake !== 'silent' || state === 'abandoned'

/** What goes when it has been told. */
export function rowsOfNotice(of: Scope, id: string): NonNullable<Change['documents']> {
  const name = nameOf(of, id)
  return name ? [{ ...name, value: null }] : []
}

/** A title cannot end the mark. */
const named = (title: string): string => JSON.stringify(title.normalize('NFKC').replaceAll(/[[\]]/g, ' '))

function endOf(task: Task, given: string | null): Notice {
  const { id, title, state, resultPath, logPath, finishedAt } = task
  const { summary, result } = toldOf(task, given)
  const lines = [
    noticeMark(`Task ${named(title)} (${id}) finished: ${state}.`),
    `- tool: ${task.tool}`,
    ...(summary === null ? [] : [`- summary: ${quotedInNotice(summary)}`]),
    ...(resultPath === null ? [] : [`- result_path: ${resultPath}`]),
    ...(logPath === null ? [] : [`- log_path: ${logPath}`]),
    ...(result === undefined ? [] : ['- result:', quotedInNotice(result)]),
  ]
  return { id: `${endPrefix}${id}`, at: finishedAt ?? 0, about: 'end', task: id, text: lines.join('\n') }
}

const says: Readonly<Record<NoticeRow['about'], string>> = {
  message: 'sent a message',
  request: 'is awaiting input',
  event: 'told',
  lost: 'lost its worker',
  schedule: 'is due',
  trigger: 'was triggered',
}

function told(key: string, { at, about, task, title, text }: NoticeRow): Notice {
  const who = task === undefined ? named(title ?? about) : `Task ${named(title ?? task)} (${task})`
  return {
    id: `${noticePrefix}${key}`,
    at,
    about,
    task: task ?? null,
    text: `${noticeMark(`${who} ${says[about]}:`)}\n${quotedInNotice(text)}`,
  }
}
