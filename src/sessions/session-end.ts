// Ends a session, or a task that started others: their tasks are cancelled or left running. The work is recorded as an
// internal call ("chore") in the same commit as the end, so that any worker completes it after a crash.

import { backoffMs } from '../core/backoff.ts'
import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import type { NewCall, Driver, Execution, Stop } from '../engine/engine.ts'
import { eventOf, sessionSubject } from '../store/records/event.ts'
import { type CallRecord, parseCallOptions } from '../store/records/call-record.ts'
import { isTurn } from '../store/records/conversation.ts'
import { childrenOf, type EndRow, movedId } from '../store/records/task-record.ts'
import type { OnEnd } from '../core/task-state.ts'
import { unlessUnreadable } from '../store/skip-unreadable.ts'
import type { StoredDocument, Store, DocumentWrite } from '../store/store.ts'
import { isBusy } from '../store/iterate-agent-sessions.ts'
import type { BackgroundHost, Owner } from '../tasks/ports.ts'
import { monitorKind } from '../core/task-state.ts'
import type { Scope } from '../core/scope.ts'
import { iterateOpenTasks, taskDocument } from '../tasks/read-task.ts'
import { openSchedules } from '../schedules/schedules.ts'
import { openTriggers } from '../schedules/triggers.ts'
import type { SchedulesHost } from '../schedules/ports.ts'
import { checkCancelReason } from '../tasks/cancel-reason.ts'
import { collections } from '../store/collections.ts'
import { endTool, turnBatch } from '../store/journal-keys.ts'

/** Options of session.end(). */
export interface SessionEnd {
  /** Applies to all tasks of the session; default: the `onEnd` each task was started with. */
  readonly tasks?: OnEnd
  /** Why it ends, for the record. Default: none. */
  readonly reason?: string
  /** Who ends it, for the record. */
  readonly by?: string
}

/**
 * Work of the chore, for a whole session or for the child tasks of `parent`. Stored in that session and erased with
 * it.
 */
interface Chore {
  readonly parent?: string
  readonly tasks?: OnEnd
  readonly reason: string
  readonly by: string | null
}

export interface ChoreToPut {
  readonly call: NewCall
  readonly documents: readonly DocumentWrite[]
}

/**
 * Creates the chore: a call in a session of its own, so that it is not cancelled with the session that ended, and the
 * document that describes its work.
 */
function createChore(of: Scope, name: string, chore: Chore): ChoreToPut {
  const position = { tenant: of.tenant, session: `${endTool}:${name}`, batch: endTool, id: name, occurrence: 0 }
  const call = { position, principal: null, tool: endTool, input: 'null', hash: name, options: null, line: null }
  return { call, documents: [collections.endChore.write(chore, of, name)] }
}

/** Undefined if it was erased with its session. */
async function findChore(store: Store, tenant: string, name: string): Promise<StoredDocument | undefined> {
  for await (const document of collections.endChore.iterate(store, { tenant }, name.slice(0, -1)))
    if (document.key >= name) return document.key === name ? document : undefined
  return undefined
}

export const endOptions = {
  tasks: option.oneOf('cancel', 'abandon'),
  reason: option.string,
  by: option.string,
} satisfies OptionTable<SessionEnd>

/** Ends a session: it accepts no new work, and the chore ends its tasks. Returns false if it had already ended. */
export async function endSession(host: BackgroundHost, owner: Owner, options: SessionEnd = {}): Promise<boolean> {
  checkOptions(options, endOptions, 'end()', 'task_invalid')
  const { tasks } = options
  const { reason, by } = checkCancelReason(host, options.reason ?? 'The session has ended', options.by)
  const at = host.clock.now()
  const row: EndRow = { at, reason, by, ...(tasks === undefined ? {} : { tasks }) }
  const name = collections.sessionEnd.name(owner)
  const chore = createChore(owner, `s.${host.ids.next()}`, { reason, by, ...(tasks === undefined ? {} : { tasks }) })
  const put = await host.engine.submit(chore.call, () => ({
    guards: [{ kind: 'kept', ...name, revision: 0 }],
    documents: [{ ...name, value: JSON.stringify(row) }, ...chore.documents],
    events: [eventOf(sessionSubject(owner), 'session.ended', at, { by })],
  }))
  return put.as === 'put'
}

/** The chore for the end of a task, committed with that end. Null if no worker has started a child task for it. */
export async function taskEndChore(
  store: Store,
  { request: { position, uid }, options }: Execution,
): Promise<ChoreToPut | null> {
  const parent = options.task?.id as string
  const { tenant, session } = position
  const [first] = await store.documentsOf({
    of: collections.taskChild.of,
    tenant,
    session,
    after: childrenOf(parent),
    limit: 1,
  })
  if (!first?.key.startsWith(childrenOf(parent))) return null
  return createChore(position, `t.${uid}`, { parent, reason: 'The task that started it has ended', by: null })
}

/** Drives the chore; retries until everything is done. */
export const endChoreDriver = (host: SchedulesHost): Driver => ({
  tools: () => [endTool],
  // A model may request a tool of this name; such a call is marked `absent` and is not a chore.
  selects: ({ request, options }) => request.tool === endTool && !options.absent,
  async drive(execution) {
    const { tenant, id } = execution.request.position
    for (;;) {
      await execution.awaitRetryDelay()
      if (execution.stopped) return settleStopped(execution.stopped)
      try {
        const ended = await execution.begin({ durable: false, slots: [] }, () => runChore(host, tenant, id))
        const { of, session, key } = ended.chore ?? {}
        if (of !== undefined && session !== undefined && key !== undefined)
          execution.attached.writeDocuments({ of, tenant, session, key, value: null })
        return { settle: { status: 'success', value: ended.count } }
      } catch (error) {
        const stopped = execution.stopped as Stop | null // may have changed during the await
        if (stopped && 'over' in stopped) throw stopped.over
        host.logger.warn('Ending the tasks of an ended session or task failed; retrying', { chore: id, error })
        await execution.scheduleRetry(backoffMs(execution.retries, retryBaseMs, retryMaxMs), 'end_failed')
      }
    }
  },
})

const retryBaseMs = 1_000
const retryMaxMs = 60_000

function settleStopped(stopped: Stop): {
  settle: { status: 'cancelled'; cancellation: { message: string; source: 'cancellation' } }
} {
  if ('over' in stopped) throw stopped.over
  return { settle: { status: 'cancelled', cancellation: { message: stopped.cancel, source: 'cancellation' } } }
}

async function runChore(
  host: SchedulesHost,
  tenant: string,
  name: string,
): Promise<{ count: number; chore?: StoredDocument }> {
  const chore = await findChore(host.store, tenant, name)
  if (!chore) return { count: 0 }
  return {
    count: await endTasks(host, { tenant, session: chore.session }, collections.endChore.parse(chore.value) as Chore),
    chore,
  }
}

/** Cancels open turns of the session and their calls. */
async function endTurns({ store, engine }: SchedulesHost, of: Scope, { reason, by }: Chore): Promise<void> {
  for (let after = ''; ;) {
    const open = await store.unsettled({ of, after, limit: pageSize })
    for (const call of open) if (isTurn(call)) await unlessUnreadable(() => engine.cancel(call.uid, { reason, by }))
    const last = open.at(-1)
    if (!last || open.length < pageSize) return
    after = last.uid
  }
}

const pageSize = 200

async function endTasks(host: SchedulesHost, of: Scope, chore: Chore): Promise<number> {
  const { store, engine } = host
  if (chore.parent === undefined) {
    await cancelSchedulesAndTriggers(host, { ...of, principal: null })
    await endTurns(host, of, chore)
  }
  let count = 0
  for await (const { key, value } of chore.parent === undefined
    ? iterateOpenTasks(store, of)
    : childTasks(store, of, chore.parent)) {
    const row = collections.task.parse(value)
    if (row.kind === monitorKind) continue // a monitor ends with its schedule
    if ((chore.tasks ?? row.onEnd) === 'cancel') {
      // An unreadable task cannot run, and must not block the others.
      if (await unlessUnreadable(() => engine.cancel(row.uid, { reason: chore.reason, by: chore.by }))) count++
    }
    // A task that keeps running has no session left to notify.
    else if (chore.parent === undefined)
      await store.commit({ guards: [], documents: [collections.taskWake.remove(of, key)], events: [] })
  }
  if (chore.parent === undefined)
    for await (const { key } of collections.sessionAgent.iterate(store, of)) await endAgent(host, of, key, chore)
  return count
}

/** Ends the session of an agent together with its parent's, unless the agent works for a call that keeps running. */
async function endAgent(
  host: BackgroundHost,
  of: Scope,
  agent: string,
  { tasks, reason, by }: Omit<Chore, 'parent'>,
): Promise<void> {
  const { store } = host
  const agentScope = { tenant: of.tenant, session: agent }
  const document = await store.document(collections.sessionParent.name(agentScope))
  const call = document && (await readCall(store, collections.sessionParent.parse(document.value).call))
  if (call && (await survivesEnd(store, of, call, tasks))) return
  // Most agents have finished and left nothing to end.
  if ((call && call.state !== 'settled') || (await isBusy(store, agentScope)))
    await endSession(
      host,
      { ...agentScope, principal: null },
      { reason, ...(by === null ? {} : { by }), ...(tasks === undefined ? {} : { tasks }) },
    )
}

/** Undefined if the call is gone or unreadable, so that the other tasks are still ended. */
const readCall = (store: Store, uid: string): Promise<CallRecord | undefined> => unlessUnreadable(() => store.call(uid))

/**
 * True if a call keeps running after its session ends: it belongs to an abandoned task, or the host program made it.
 */
async function survivesEnd(store: Store, of: Scope, call: CallRecord, tasks: OnEnd | undefined): Promise<boolean> {
  const { task, inTask, root = call.uid, turn } = parseCallOptions(call.options)
  const isOpen = async (uid: string): Promise<boolean> =>
    ((await readCall(store, uid))?.state ?? 'settled') !== 'settled'
  const document = await taskDocument(store, of, inTask ?? task?.id ?? movedId(root))
  const row = document && collections.task.parse(document.value)
  if (row) return (tasks ?? row.onEnd) === 'abandon' && isOpen(row.uid)
  const turnCall = turn !== undefined && (await store.callAt({ ...of, batch: turnBatch, id: turn, occurrence: 0 }))
  return !turnCall && isOpen(root)
}

/** Ends an agent that started while its session was ending: the chore may have listed the agents before it started. */
export async function endLateAgent(host: BackgroundHost, { tenant, session }: Scope, agent: string): Promise<void> {
  const of = { tenant, session }
  const sessionEnd = await host.store.document(collections.sessionEnd.name(of))
  if (sessionEnd) await endAgent(host, of, agent, collections.sessionEnd.parse(sessionEnd.value))
}

/** A session that has ended must not start work by itself. */
async function cancelSchedulesAndTriggers(host: SchedulesHost, owner: Owner): Promise<void> {
  const schedules = openSchedules(host, owner)
  for (const { id } of await schedules.list()) await schedules.cancel(id)
  const triggers = openTriggers(host, owner)
  for (const { id } of await triggers.list()) await triggers.unsubscribe(id)
}

async function* childTasks(store: Store, of: Scope, parent: string): AsyncGenerator<StoredDocument, void> {
  const prefix = childrenOf(parent)
  for await (const { key } of collections.taskChild.startingWith(store, of, prefix)) {
    const document = await taskDocument(store, of, key.slice(prefix.length))
    if (document) yield document
  }
}
