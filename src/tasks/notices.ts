// Notices of a session: ended tasks, messages and requests of open tasks (depending on their wake policy), messages of
// schedules and triggers, and results of calls that have a placeholder in the conversation. A notice carries a header that marks it as runtime text, so the model cannot mistake it
// for a user message.
//
// The end of a task has no row of its own: a task that wakes its session stays listed (task-wake) until acknowledged.
// Neither has the end of a call with a placeholder: its result stays owed (result-owed) until acknowledged.

import { PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import { endedCallHeader, noticeHeader, escapeNoticePrefix } from '../core/runtime-notice.ts'
import { isTerminal } from '../core/task-state.ts'
import type { Scope } from '../core/scope.ts'
import { eventOf, sessionSubject } from '../store/records/event.ts'
import type { OwedRow } from '../store/records/conversation.ts'
import { noticePrefix } from '../store/records/notice.ts'
import { type NoticeRow } from '../store/records/task-record.ts'
import { unlessUnreadable } from '../store/skip-unreadable.ts'
import type { DocumentName, DocumentWrite } from '../store/store.ts'
import type { Task } from '../tools/context/task-interfaces.ts'
import type { BackgroundHost, TaskReadPorts } from './ports.ts'
import { readMovedTask, readTask, taskResult, modelSummary } from './read-task.ts'
import { collections } from '../store/collections.ts'

/** Something that happened in the background and that the session's model should know. */
export interface Notice {
  /** Pass it to `acknowledge` after delivery. */
  readonly id: string
  /** When, in milliseconds since 1970. */
  readonly at: number
  /** What happened. `result`: a call ended after the model had read a placeholder for its result. */
  readonly about: 'end' | 'result' | NoticeRow['about']
  /** Id of the task it is about; null if it is about none. */
  readonly task: string | null
  /** The text for the model. */
  readonly text: string
}

/** Reads and acknowledges the notices of a session. */
export interface Notices {
  /** Notices that have not been acknowledged, oldest first. */
  list(): Promise<Notice[]>
  /** Removes notices from the list. Returns how many were removed. */
  acknowledge(ids: readonly string[]): Promise<number>
}

const endPrefix = 'end:'
const resultPrefix = 'result:'
/** Id of the notice that an owed result becomes when its call ends. */
export const resultNoticeId = (key: string): string => `${resultPrefix}${key}`

export function openNotices(host: TaskReadPorts & Pick<BackgroundHost, 'clock'>, { tenant, session }: Scope): Notices {
  const { store, clock } = host
  const of = { tenant, session }
  const list = async (): Promise<Notice[]> => {
    const found: Notice[] = []
    await host.knownSecrets.refresh(of)
    for await (const { key, revision } of collections.taskWake.iterate(store, of)) {
      // One unreadable task must not hide the notices of the others.
      const task = await unlessUnreadable(() => readTask(host, of, key))
      if (!task || !isTerminal(task.state)) continue
      if (announcesEnd(task))
        found.push({
          ...endNotice(task, await taskResult(host, of, key)),
          ...(task.wake === 'silent' ? { about: 'lost' as const } : {}),
        })
      // A moved call is listed whatever its policy, in case its worker is lost. This one was not lost, so remove it.
      else
        await store.commit({
          guards: [{ kind: 'kept', ...collections.taskWake.name(of, key), revision }],
          documents: [collections.taskWake.remove(of, key)],
          events: [],
        })
    }
    const end = await store.document(collections.sessionEnd.name(of))
    const until = end ? collections.sessionEnd.parse(end.value).at : Infinity
    for await (const { key, value } of collections.notice.iterate(store, of)) {
      const row = collections.notice.parse(value)
      // Tasks that outlive their session do not report to it any more.
      if (row.task === undefined || row.at <= until) found.push(noticeFromRow(key, row))
    }
    for await (const { key, value } of collections.resultOwed.iterate(store, of)) {
      const result = await unlessUnreadable(() => resultNotice(host, of, key, collections.resultOwed.parse(value)))
      if (result) found.push(result)
    }
    return found
      .map((notice) => ({ ...notice, text: host.redact.text(notice.text) }))
      .toSorted(
        (a, b) => a.at - b.at || Number(a.about === 'end') - Number(b.about === 'end') || (a.id < b.id ? -1 : 1),
      )
  }
  return {
    list,
    async acknowledge(ids) {
      let removed = 0
      if (!Array.isArray(ids)) throw new PawlError('task_invalid', '`ids` must be an array of notice ids.')
      const listed = new Set((await list()).map(({ id }) => id))
      for (const id of ids) {
        // Only a listed notice can have been delivered, so only those can be acknowledged.
        const name = listed.has(id) ? noticeDocument(of, id) : null
        const stored = name && (await store.document(name))
        // If two readers acknowledge the same notice, the revision guard lets one of them succeed.
        if (
          name &&
          stored &&
          (
            await store.commit({
              guards: [{ kind: 'kept', ...name, revision: stored.revision }],
              documents: [{ ...name, value: null }],
              events: [eventOf(sessionSubject(of), 'notice.acknowledged', clock.now(), { notice: id })],
            })
          ).ok
        )
          removed++
      }
      return removed
    },
  }
}

function noticeDocument(of: Scope, id: string): DocumentName | null {
  if (id.startsWith(resultPrefix)) return collections.resultOwed.name(of, id.slice(resultPrefix.length))
  if (!isName(id)) return null
  if (id.startsWith(endPrefix)) return collections.taskWake.name(of, id.slice(endPrefix.length))
  return id.startsWith(noticePrefix) ? collections.notice.name(of, id.slice(noticePrefix.length)) : null
}

/**
 * Whether a notice reports the end of a call that was moved to the background: 'to come' while the task is listed, even
 * before it has ended; 'told' after the notice was acknowledged. Null if no notice reports it.
 */
export async function movedCallNotice(
  host: TaskReadPorts,
  { tenant, session }: Scope,
  uid: string,
): Promise<'to come' | 'told' | null> {
  const of = { tenant, session }
  const task = await unlessUnreadable(() => readMovedTask(host, of, uid))
  if (!task || !announcesEnd(task)) return null
  return (await unlessUnreadable(() => host.store.document(collections.taskWake.name(of, task.id))))
    ? 'to come'
    : 'told'
}

const announcesEnd = ({ wake, state }: Task): boolean => wake !== 'silent' || state === 'abandoned'

/** Document writes that remove a delivered notice. */
export function acknowledgeRows(of: Scope, id: string): readonly DocumentWrite[] {
  const name = noticeDocument(of, id)
  return name ? [{ ...name, value: null }] : []
}

/** Quotes a title and removes brackets, so that it cannot end the notice header. */
const quoteTitle = (title: string): string => JSON.stringify(title.normalize('NFKC').replaceAll(/[[\]]/g, ' '))

function endNotice(task: Task, resultText: string | null): Notice {
  const { id, title, state, resultPath, logPath, finishedAt } = task
  const { summary, result } = modelSummary(task, resultText)
  const lines = [
    noticeHeader(`Task ${quoteTitle(title)} (${id}) finished: ${state}.`),
    `- tool: ${task.tool}`,
    ...(summary === null ? [] : [`- summary: ${escapeNoticePrefix(summary)}`]),
    ...(resultPath === null ? [] : [`- result_path: ${resultPath}`]),
    ...(logPath === null ? [] : [`- log_path: ${logPath}`]),
    ...(result === undefined ? [] : ['- result:', escapeNoticePrefix(result)]),
  ]
  return { id: `${endPrefix}${id}`, at: finishedAt ?? 0, about: 'end', task: id, text: lines.join('\n') }
}

/** Null while the call is open, and for a call in the background, whose task reports the end. */
async function resultNotice(host: TaskReadPorts, of: Scope, key: string, owed: OwedRow): Promise<Notice | null> {
  const { batch, id, occurrence, name, shown = id } = owed
  const call = await host.store.callAt({ ...of, batch, id, occurrence })
  if (call?.state !== 'settled' || (await movedCallNotice(host, of, call.uid))) return null
  const text = `${endedCallHeader(shown, name)}\n${escapeNoticePrefix(await host.renderer.text(call))}`
  return { id: resultNoticeId(key), at: call.settledAt ?? 0, about: 'result', task: null, text }
}

const noticePhrases: Readonly<Record<NoticeRow['about'], string>> = {
  message: 'sent a message',
  request: 'is awaiting input',
  event: 'told',
  lost: 'lost its worker',
  schedule: 'is due',
  trigger: 'was triggered',
}

function noticeFromRow(key: string, { at, about, task, title, text }: NoticeRow): Notice {
  const subject = task === undefined ? quoteTitle(title ?? about) : `Task ${quoteTitle(title ?? task)} (${task})`
  return {
    id: `${noticePrefix}${key}`,
    at,
    about,
    task: task ?? null,
    text: `${noticeHeader(`${subject} ${noticePhrases[about]}:`)}\n${escapeNoticePrefix(text)}`,
  }
}
