// The end of a session, or of a task that started others (TASK-10): their tasks are cancelled, or left to go on. What is to be done is on record with the
// end itself, as a chore that any worker takes up: so it is done after a crash too.

import type { Asked, Drive, Invocation, Stop } from '../engine/engine.ts'
import { eventOf } from '../journal/event.ts'
import { childrenOf, endName, type EndRow, taskName, type TaskRow, wakeName } from '../journal/task.ts'
import { PawlError } from '../kernel/errors.ts'
import type { OnEnd } from '../kernel/task.ts'
import { everyKept } from '../store/every-kept.ts'
import type { Kept, Store } from '../store/store.ts'
import type { BackgroundHost, Owner } from './host.ts'
import { monitorKind } from './monitor.ts'
import { openTasks } from './read-task.ts'
import { openSchedules, type SchedulesHost } from './schedules.ts'
import { openTriggers } from './triggers.ts'

/** What the record calls the chore. */
export const endTool = 'pawl:end'

export interface SessionEnd {
  /** For all its tasks; each as it was started, if left out. */
  readonly tasks?: OnEnd
  readonly reason?: string
  readonly by?: string
}

/** What the chore is to do: of a whole session, or of the tasks that one started. */
interface Chore {
  readonly session: string
  readonly parent?: string
  readonly tasks?: OnEnd
  readonly reason: string
  readonly by: string | null
}

/** In a session of its own: it is neither cancelled nor erased with the one that ended. */
function choreOf(tenant: string, name: string, chore: Chore): Asked {
  const input = JSON.stringify(chore)
  const position = { tenant, session: `${endTool}:${name}`, batch: endTool, id: name, occurrence: 0 }
  return { position, principal: null, tool: endTool, input, hash: name, options: null, line: null }
}

/** Ends a session: nothing is started in it any more, and its tasks are dealt with. False if it had ended before. */
export async function endSession(host: BackgroundHost, owner: Owner, how: SessionEnd = {}): Promise<boolean> {
  const { tasks, reason = 'The session has ended', by = null } = how
  if (tasks !== undefined && tasks !== 'cancel' && tasks !== 'abandon')
    throw new PawlError('task_invalid', `tasks is ${JSON.stringify(tasks)}, not 'cancel' or 'abandon'.`)
  const { tenant, session } = owner
  const at = host.clock.now()
  const row: EndRow = { at, reason, by, ...(tasks === undefined ? {} : { tasks }) }
  const place = endName(owner, '')
  const chore = choreOf(tenant, `s.${host.ids.next()}`, { session, reason, by, ...(tasks === undefined ? {} : { tasks }) })
  const put = await host.engine().put(chore, (uid) => ({
    guards: [{ kind: 'kept', ...place, revision: 0 }],
    keep: [{ ...place, value: JSON.stringify(row) }],
    events: [eventOf({ tenant, session, call: uid }, 'session.ended', at, tasks === undefined ? {} : { tasks })],
  }))
  return put.as === 'put'
}

/** Of a task that has started others, on record with its end. */
export function endOfTask({ request: { position, uid }, options }: Invocation): Asked {
  const { tenant, session } = position
  const parent = options.task?.id as string
  return choreOf(tenant, `t.${uid}`, { session, parent, reason: 'The task that started it has ended', by: null })
}

/** Drives the chore: until all of it is done it is tried again. */
export const ending =
  (host: SchedulesHost): Drive =>
  async (invocation) => {
    const chore = JSON.parse(invocation.request.input) as Chore
    for (;;) {
      await invocation.delayed()
      if (invocation.stopped) return stoppedBy(invocation.stopped)
      try {
        const ended = await invocation.begin({ durable: false, places: [] }, () => endTasks(host, invocation, chore))
        return { settle: { status: 'success', value: ended } }
      } catch (error) {
        const stopped = invocation.stopped as Stop | null // meanwhile
        if (stopped && 'over' in stopped) throw stopped.over
        host.logger.warn('Tasks of what has ended could not all be ended; it is tried again', { session: chore.session, error })
        await invocation.again(Math.min(capMs, baseMs * 2 ** Math.min(invocation.retries, 16)), 'end_failed')
      }
    }
  }

const baseMs = 1_000
const capMs = 60_000

function stoppedBy(stopped: Stop): { settle: { status: 'cancelled'; cancellation: { message: string; source: 'cancellation' } } } {
  if ('over' in stopped) throw stopped.over
  return { settle: { status: 'cancelled', cancellation: { message: stopped.cancel, source: 'cancellation' } } }
}

async function endTasks(host: SchedulesHost, { request }: Invocation, chore: Chore): Promise<number> {
  const { store, engine } = host
  const of = { tenant: request.position.tenant, session: chore.session }
  if (chore.parent === undefined) await endWhatStarts(host, { ...of, principal: null })
  let ended = 0
  for await (const { key, value } of chore.parent === undefined ? openTasks(store, of) : childTasks(store, of, chore.parent)) {
    const row = JSON.parse(value) as TaskRow
    if (row.kind === monitorKind) continue // it ended with its schedule
    if ((chore.tasks ?? row.onEnd) === 'cancel') {
      if (await engine().cancel(row.uid, { reason: chore.reason, by: chore.by })) ended++
    }
    // Of what goes on nobody is there to hear.
    else if (chore.parent === undefined) await store.commit({ guards: [], keep: [{ ...wakeName(of, key), value: null }], events: [] })
  }
  return ended
}

/** Nothing of a session that has ended begins by itself any more. */
async function endWhatStarts(host: SchedulesHost, owner: Owner): Promise<void> {
  const schedules = openSchedules(host, owner)
  for (const { id } of await schedules.list()) await schedules.cancel(id)
  const triggers = openTriggers(host, owner)
  for (const { id } of await triggers.list()) await triggers.unsubscribe(id)
}

async function* childTasks(store: Store, of: { tenant: string; session: string }, parent: string): AsyncGenerator<Kept, void> {
  const prefix = childrenOf(parent)
  for await (const { key } of everyKept(store, { of: 'task-child', ...of }, prefix)) {
    if (!key.startsWith(prefix)) return
    const kept = await store.kept(taskName(of, key.slice(prefix.length)))
    if (kept) yield kept
  }
}
