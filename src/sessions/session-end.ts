// The end of a session, or of a task that started others (TASK-10): their tasks are cancelled, or left to go on. What is to be done is on record with the
// end itself, as a chore that any worker takes up: so it is done after a crash too.

import type { Asked, Drive, Execution, Stop } from '../engine/engine.ts'
import { eventOf, ofSession } from '../store/records/event.ts'
import type { CallOptions, CallRecord } from '../store/records/call-record.ts'
import { agentName, isTurn, parentName, type ParentRow, turnBatch } from '../store/records/conversation.ts'
import {
  childrenOf,
  choreName,
  endName,
  type EndRow,
  movedId,
  type TaskRow,
  wakeName,
} from '../store/records/task-record.ts'
import { PawlError } from '../core/errors.ts'
import type { OnEnd } from '../core/task-state.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import { unlessUnreadable } from '../store/read-or-report.ts'
import type { Change, StoredDocument, Store } from '../store/store.ts'
import { isBusy } from '../store/agent-sessions.ts'
import type { BackgroundHost, Owner } from '../tasks/ports.ts'
import { monitorKind } from '../core/task-state.ts'
import { openTasks, taskRow } from '../tasks/read-task.ts'
import { openSchedules, type SchedulesHost } from '../schedules/schedules.ts'
import { openTriggers } from '../schedules/triggers.ts'
import { whyOf } from '../tasks/cancel-reason.ts'

interface Scope {
  readonly tenant: string
  readonly session: string
}

/** What the record calls the chore. */
export const endTool = 'pawl:end'

export interface SessionEnd {
  /** For all its tasks; each as it was started, if left out. */
  readonly tasks?: OnEnd
  readonly reason?: string
  readonly by?: string
}

/** What the chore is to do: of a whole session, or of the tasks that one started. Kept in the session that it is about, and erased with it. */
interface Chore {
  readonly parent?: string
  readonly tasks?: OnEnd
  readonly reason: string
  readonly by: string | null
}

export interface ChoreToPut {
  readonly asked: Asked
  readonly documents: NonNullable<Change['documents']>
}

/** A call in a session of its own, which is not cancelled with the one that ended, and says nothing of it; and what it is to do. */
function choreOf(of: Scope, name: string, chore: Chore): ChoreToPut {
  const position = { tenant: of.tenant, session: `${endTool}:${name}`, batch: endTool, id: name, occurrence: 0 }
  const asked = { position, principal: null, tool: endTool, input: 'null', hash: name, options: null, line: null }
  return { asked, documents: [{ ...choreName(of, name), value: JSON.stringify(chore) }] }
}

/** Undefined if it was erased with its session. */
async function choreNamed(store: Store, tenant: string, name: string): Promise<StoredDocument | undefined> {
  for await (const kept of iterateDocuments(store, { of: 'end-chore', tenant }, name.slice(0, -1)))
    if (kept.key >= name) return kept.key === name ? kept : undefined
  return undefined
}

/** Ends a session: nothing is started in it any more, and its tasks are dealt with. False if it had ended before. */
export async function endSession(host: BackgroundHost, owner: Owner, how: SessionEnd = {}): Promise<boolean> {
  const { tasks } = how
  const { reason, by } = whyOf(host, how.reason ?? 'The session has ended', how.by)
  if (tasks !== undefined && tasks !== 'cancel' && tasks !== 'abandon')
    throw new PawlError('task_invalid', `tasks is ${JSON.stringify(tasks)}, not 'cancel' or 'abandon'.`)
  const at = host.clock.now()
  const row: EndRow = { at, reason, by, ...(tasks === undefined ? {} : { tasks }) }
  const place = endName(owner, '')
  const chore = choreOf(owner, `s.${host.ids.next()}`, { reason, by, ...(tasks === undefined ? {} : { tasks }) })
  const put = await host.engine().put(chore.asked, () => ({
    guards: [{ kind: 'kept', ...place, revision: 0 }],
    documents: [{ ...place, value: JSON.stringify(row) }, ...chore.documents],
    events: [eventOf(ofSession(owner), 'session.ended', at, { by })],
  }))
  return put.as === 'put'
}

/** Of a task that has started others, on record with its end. Null: it has not, nor has anything that it called, on whatever worker. */
export async function endOfTask(
  store: Store,
  { request: { position, uid }, options }: Execution,
): Promise<ChoreToPut | null> {
  const parent = options.task?.id as string
  const { tenant, session } = position
  const [first] = await store.documentsOf({ of: 'task-child', tenant, session, after: childrenOf(parent), limit: 1 })
  if (!first?.key.startsWith(childrenOf(parent))) return null
  return choreOf(position, `t.${uid}`, { parent, reason: 'The task that started it has ended', by: null })
}

/** Drives the chore: until all of it is done it is tried again. */
export const ending =
  (host: SchedulesHost): Drive =>
  async (execution) => {
    const { tenant, id } = execution.request.position
    for (;;) {
      await execution.delayed()
      if (execution.stopped) return stoppedBy(execution.stopped)
      try {
        const ended = await execution.begin({ durable: false, places: [] }, () => endAll(host, tenant, id))
        const { of, session, key } = ended.chore ?? {}
        if (of !== undefined && session !== undefined && key !== undefined)
          execution.attached.keep({ of, tenant, session, key, value: null })
        return { settle: { status: 'success', value: ended.count } }
      } catch (error) {
        const stopped = execution.stopped as Stop | null // meanwhile
        if (stopped && 'over' in stopped) throw stopped.over
        host.logger.warn('Tasks of what has ended could not all be ended; it is tried again', { chore: id, error })
        await execution.again(Math.min(capMs, baseMs * 2 ** Math.min(execution.retries, 16)), 'end_failed')
      }
    }
  }

const baseMs = 1_000
const capMs = 60_000

function stoppedBy(stopped: Stop): {
  settle: { status: 'cancelled'; cancellation: { message: string; source: 'cancellation' } }
} {
  if ('over' in stopped) throw stopped.over
  return { settle: { status: 'cancelled', cancellation: { message: stopped.cancel, source: 'cancellation' } } }
}

async function endAll(
  host: SchedulesHost,
  tenant: string,
  name: string,
): Promise<{ count: number; chore?: StoredDocument }> {
  const chore = await choreNamed(host.store, tenant, name)
  if (!chore) return { count: 0 }
  return { count: await endTasks(host, { tenant, session: chore.session }, JSON.parse(chore.value) as Chore), chore }
}

/** A turn that is open stops with its session, and with it all that it has called. */
async function endTurns({ store, engine }: SchedulesHost, of: Scope, { reason, by }: Chore): Promise<void> {
  for (let after = ''; ;) {
    const open = await store.unsettled({ of, after, limit: page })
    for (const call of open) if (isTurn(call)) await unlessUnreadable(() => engine().cancel(call.uid, { reason, by }))
    const last = open.at(-1)
    if (!last || open.length < page) return
    after = last.uid
  }
}

const page = 200

async function endTasks(host: SchedulesHost, of: Scope, chore: Chore): Promise<number> {
  const { store, engine } = host
  if (chore.parent === undefined) {
    await endWhatStarts(host, { ...of, principal: null })
    await endTurns(host, of, chore)
  }
  let ended = 0
  for await (const { key, value } of chore.parent === undefined
    ? openTasks(store, of)
    : childTasks(store, of, chore.parent)) {
    const row = JSON.parse(value) as TaskRow
    if (row.kind === monitorKind) continue // it ended with its schedule
    if ((chore.tasks ?? row.onEnd) === 'cancel') {
      // One that cannot be opened stands still already, and keeps no other from its end.
      if (await unlessUnreadable(() => engine().cancel(row.uid, { reason: chore.reason, by: chore.by }))) ended++
    }
    // Of what goes on nobody is there to hear.
    else if (chore.parent === undefined)
      await store.commit({ guards: [], documents: [{ ...wakeName(of, key), value: null }], events: [] })
  }
  if (chore.parent === undefined)
    for await (const { key } of iterateDocuments(store, { of: agentName(of, '').of, ...of }))
      await endAgent(host, of, key, chore)
  return ended
}

/** The session of an agent ends with the one above it, with all that it has started, and on record likewise. Who works for what goes on goes on. */
async function endAgent(
  host: BackgroundHost,
  of: Scope,
  agent: string,
  { tasks, reason, by }: Omit<Chore, 'parent'>,
): Promise<void> {
  const { store } = host
  const below = { tenant: of.tenant, session: agent }
  const kept = await store.document(parentName(below))
  const call = kept && (await callOf(store, (JSON.parse(kept.value) as ParentRow).call))
  if (call && (await goesOn(store, of, call, tasks))) return
  // Of most that have answered nothing is left.
  if ((call && call.state !== 'settled') || (await isBusy(store, below)))
    await endSession(
      host,
      { ...below, principal: null },
      { reason, ...(by === null ? {} : { by }), ...(tasks === undefined ? {} : { tasks }) },
    )
}

/** Undefined if it is gone, or cannot be opened: the others go on. */
const callOf = (store: Store, uid: string): Promise<CallRecord | undefined> => unlessUnreadable(() => store.call(uid))

/** Whether a call goes on when its session ends: under a task that does, or because the program made it. */
async function goesOn(store: Store, of: Scope, call: CallRecord, tasks: OnEnd | undefined): Promise<boolean> {
  const {
    task,
    inTask,
    root = call.uid,
    turn,
  } = call.options === null ? ({} as CallOptions) : (JSON.parse(call.options) as CallOptions)
  const isOpen = async (uid: string): Promise<boolean> => ((await callOf(store, uid))?.state ?? 'settled') !== 'settled'
  const kept = await taskRow(store, of, inTask ?? task?.id ?? movedId(root))
  const row = kept && (JSON.parse(kept.value) as TaskRow)
  if (row) return (tasks ?? row.onEnd) === 'abandon' && isOpen(row.uid)
  const ofTurn = turn !== undefined && (await store.callAt({ ...of, batch: turnBatch, id: turn, occurrence: 0 }))
  return !ofTurn && isOpen(root)
}

/** An agent that began while its session ended: whoever ends the others may have looked before. */
export async function endLateAgent(host: BackgroundHost, { tenant, session }: Scope, agent: string): Promise<void> {
  const of = { tenant, session }
  const ended = await host.store.document(endName(of, ''))
  if (ended) await endAgent(host, of, agent, JSON.parse(ended.value) as EndRow)
}

/** Nothing of a session that has ended begins by itself any more. */
async function endWhatStarts(host: SchedulesHost, owner: Owner): Promise<void> {
  const schedules = openSchedules(host, owner)
  for (const { id } of await schedules.list()) await schedules.cancel(id)
  const triggers = openTriggers(host, owner)
  for (const { id } of await triggers.list()) await triggers.unsubscribe(id)
}

async function* childTasks(
  store: Store,
  of: { tenant: string; session: string },
  parent: string,
): AsyncGenerator<StoredDocument, void> {
  const prefix = childrenOf(parent)
  for await (const { key } of iterateDocuments(store, { of: 'task-child', ...of }, prefix)) {
    if (!key.startsWith(prefix)) return
    const kept = await taskRow(store, of, key.slice(prefix.length))
    if (kept) yield kept
  }
}
