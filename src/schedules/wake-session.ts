// Wakes a session that has notices: starts a turn like the last requested one, without a user message. An open turn
// picks the notices up itself and checks again before it ends. A wake is a `due` row committed together with the
// notice; the commit that removes it records the turn, so a session is woken exactly once, across workers and crashes.

import { backoffMs } from '../core/backoff.ts'
import { option, type OptionTable } from '../core/check-options.ts'
import type { NewCall } from '../engine/engine.ts'
import { wokenId } from '../store/records/conversation.ts'
import type { Clock } from '../core/clock.ts'
import type { Scope } from '../core/scope.ts'
import type { Guard, StoredDocument, Store, DocumentWrite } from '../store/store.ts'
import type { FireResult } from './fire-schedule.ts'
import type { Wakes } from '../tasks/ports.ts'
import { openNotices } from '../tasks/notices.ts'
import type { DueSignal } from './due-signal.ts'
import type { SchedulesHost } from './ports.ts'
import { dueKey, overdueTime } from './schedule-row.ts'
import { collections } from '../store/collections.ts'
import { turnBatch } from '../store/journal-keys.ts'

export interface WakeRow {
  readonly wake: {
    readonly what: string
    /** When the notice was written. */
    readonly at: number
    /** A call moved to the background. The worker that settles it may not know of the move, so the call is polled. */
    readonly call?: string
    readonly tries: number
  }
}

const defaultMaxConsecutive = 10

export const wakeOption = option.either(
  option.boolean,
  option.nested({ maxConsecutive: option.wholeNumber(1) } satisfies OptionTable<{ maxConsecutive?: number }>),
)

/** Notifies the scheduler before the wake row is committed, so that it polls after the commit. */
export function openWakes(
  option: boolean | { readonly maxConsecutive?: number } | undefined,
  { clock, due }: { readonly clock: Clock; readonly due: DueSignal },
): Wakes {
  if (option === undefined || option === false) return { maxConsecutive: 0, rows: () => [] }
  const { maxConsecutive = defaultMaxConsecutive } = option === true ? {} : option
  return {
    maxConsecutive,
    rows({ tenant, session }, what, call) {
      due.expectWrite()
      const at = clock.now()
      return [
        dueWake({ tenant, session }, overdueTime(at), { what, at, tries: 0, ...(call === undefined ? {} : { call }) }),
      ]
    },
  }
}

const dueWake = (of: Scope, at: number, wake: WakeRow['wake']): DocumentWrite =>
  collections.due.write({ wake } satisfies WakeRow, of, dueKey(at, of.tenant, of.session, 'wake', wake.what))

/**
 * Backoff for polling a moved call. Normally the worker that settles it wakes the session; polling covers a move that
 * was recorded too late for that worker to see it.
 */
const baseMs = 10_000
const capMs = 30 * 60_000
const retryMs = 500
const maxWaitMs = 24 * 60 * 60_000

export async function fireWake(host: SchedulesHost, due: StoredDocument, wake: WakeRow['wake']): Promise<FireResult> {
  const { store, clock, logger } = host
  const of: Scope = { tenant: due.tenant, session: due.session }
  const name = collections.due.name(of, due.key)
  const guards: Guard[] = [{ kind: 'kept', ...name, revision: due.revision }]
  const removed = { ...name, value: null }
  /** A rejected commit means that another worker processed the row. */
  const done = async (...documents: readonly DocumentWrite[]): Promise<FireResult> => {
    await store.commit({ guards, documents: [removed, ...documents], events: [] })
    return 'done'
  }
  const later = (): Promise<FireResult> =>
    done(
      dueWake(of, clock.now() + backoffMs(wake.tries, baseMs, capMs), {
        ...wake,
        tries: wake.tries + 1,
      }),
    )
  const [last, sessionEnd] = await Promise.all([
    store.document(collections.turnLast.name(of)),
    store.document(collections.sessionEnd.name(of)),
  ])
  if (sessionEnd) return done()
  const call = wake.call === undefined ? undefined : await store.call(wake.call)
  if (call && call.state !== 'settled') return later()
  // No turn was ever requested here, or an agent owns the session.
  if (!last || (await store.document(collections.sessionParent.name(of)))) return done()
  // An open turn reads the notices itself, or writes its own wake row when it ends.
  if ((await openNotices(host, of).list()).length === 0 || (await hasOpenTurn(store, of))) return done()
  const row = collections.turnLast.parse(last.value)
  // Leave the row to a worker that can drive this turn; give up if none has taken it within a day.
  if (host.wakes.maxConsecutive === 0 || !host.engine.canDrive(row.asked.tool))
    return clock.now() - wake.at < maxWaitMs ? 'left' : done()
  if (row.woken >= host.wakes.maxConsecutive) {
    logger.warn(
      'A session has notices but has used up its consecutive automatic turns; it waits for the next user message',
      { ...of },
    )
    return done()
  }
  const request: NewCall = {
    ...row.asked,
    position: { ...of, batch: turnBatch, id: wokenId(due.key), occurrence: 0 },
    line: null,
  }
  const lastTurn = collections.turnLast.name(of)
  const put = await host.engine.submit(request, () => ({
    guards: [
      ...guards,
      { kind: 'kept', ...lastTurn, revision: last.revision },
      { kind: 'kept', ...collections.sessionEnd.name(of), revision: 0 },
    ],
    documents: [
      removed,
      {
        ...lastTurn,
        ...(row.asked.sealed ? { secret: true as const } : {}),
        value: JSON.stringify({ ...row, woken: row.woken + 1 }),
      },
    ],
    events: [],
  }))
  // A concurrent change won: check again shortly whether notices are left.
  return put.as === 'refused' ? done(dueWake(of, clock.now() + retryMs, wake)) : 'done'
}

const page = 200

/** Whether the session has a turn that is running or queued. */
async function hasOpenTurn(store: Store, of: Scope): Promise<boolean> {
  for (let after = ''; ;) {
    const open = await store.unsettled({ of, after, limit: page })
    if (open.some(({ position }) => position.batch === turnBatch)) return true
    const last = open.at(-1)
    if (!last || open.length < page) return false
    after = last.uid
  }
}
