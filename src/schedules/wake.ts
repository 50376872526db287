// A session that is to be told something has a turn for it (TASK-9): like the last one that somebody asked for there, without a message. Where a turn is open,
// that one hears of it, and looks once more when it ends. What wakes a session is a row among what is due, written with what there is to tell; the change
// that takes it puts the turn on record. So it is woken once, across workers and crashes.

import type { Asked } from '../engine/engine.ts'
import { lastTurnName, type LastTurnRow, parentName, turnBatch, wokenId } from '../store/records/conversation.ts'
import { endName } from '../store/records/task-record.ts'
import { PawlError } from '../core/errors.ts'
import type { Clock } from '../core/clock.ts'
import type { Change, Guard, StoredDocument, Store } from '../store/store.ts'
import type { Fired, FireHost } from './fire-schedule.ts'
import type { Wakes } from '../tasks/ports.ts'
import { openNotices } from '../tasks/notices.ts'
import { dueKey, longPast, type Scope } from './schedule-row.ts'

type Keep = NonNullable<Change['documents']>

export interface WakeRow {
  readonly wake: {
    readonly what: string
    /** When it was to be told. */
    readonly at: number
    /** A call that somebody waited for: whoever settles it need not know that it became a task, so it is looked at. */
    readonly call?: string
    readonly tries: number
  }
}

const atMost = 10

/** `soon`: something is due, as soon as it is written. */
export function wakesOf(
  given: boolean | { readonly maxConsecutive?: number } | undefined,
  { clock, soon, drives }: { clock: Clock; soon(): void; drives(tool: string): boolean },
): Wakes {
  const { maxConsecutive: maxConsecutive = atMost } = typeof given === 'object' && given !== null ? given : {}
  const isAsked =
    given === true ||
    (typeof given === 'object' && given !== null && Object.keys(given).every((field) => field === 'maxConsecutive'))
  if (
    given !== undefined &&
    given !== false &&
    !(isAsked && Number.isSafeInteger(maxConsecutive) && maxConsecutive >= 1)
  )
    throw new PawlError('config_invalid', 'wake is true, or { maxConsecutive } with a whole number from 1 on.')
  if (!isAsked) return { maxConsecutive: 0, rows: () => [], knows: () => false }
  return {
    maxConsecutive: maxConsecutive,
    knows: drives,
    rows({ tenant, session }, what, call) {
      soon()
      const at = clock.now()
      return [
        dueWake({ tenant, session }, longPast(at), { what, at, tries: 0, ...(call === undefined ? {} : { call }) }),
      ]
    },
  }
}

const dueWake = (of: Scope, at: number, wake: WakeRow['wake']): Keep[number] => ({
  of: 'due',
  ...of,
  key: dueKey(at, of.tenant, of.session, 'wake', wake.what),
  value: JSON.stringify({ wake } satisfies WakeRow),
})

/** Whoever settles a call that was moved wakes its session, if the move is on record by then. Else it is found so. */
const baseMs = 10_000
const capMs = 30 * 60_000
const againMs = 500
const longestLeftMs = 24 * 60 * 60_000

export async function fireWake(host: FireHost, due: StoredDocument, wake: WakeRow['wake']): Promise<Fired> {
  const { store, clock, logger } = host
  const of: Scope = { tenant: due.tenant, session: due.session }
  const name = { of: 'due', ...of, key: due.key }
  const guards: Guard[] = [{ kind: 'kept', ...name, revision: due.revision }]
  const taken = { ...name, value: null }
  /** Written, or another was first. */
  const done = async (...documents: Keep): Promise<Fired> => {
    await store.commit({ guards, documents: [taken, ...documents], events: [] })
    return 'done'
  }
  const later = (): Promise<Fired> =>
    done(
      dueWake(of, clock.now() + Math.min(capMs, baseMs * 2 ** Math.min(wake.tries, 10)), {
        ...wake,
        tries: wake.tries + 1,
      }),
    )
  const [last, over] = await Promise.all([store.document(lastTurnName(of)), store.document(endName(of, ''))])
  if (over) return done()
  const call = wake.call === undefined ? undefined : await store.call(wake.call)
  if (call && call.state !== 'settled') return later()
  if (!last || (await store.document(parentName(of)))) return done() // nobody has had a turn here, or only an agent
  // What is open hears of it, or has a row of its own among what is due when it ends.
  if ((await openNotices(host, of).list()).length === 0 || (await isSpeaking(store, of))) return done()
  const row = JSON.parse(last.value) as LastTurnRow
  // Whoever wakes sessions, and knows its model, wakes it; what nobody wanted for so long, nobody does.
  if (!host.wakes.knows(row.asked.tool)) return clock.now() - wake.at < longestLeftMs ? 'left' : done()
  if (row.woken >= host.wakes.maxConsecutive) {
    logger.warn(
      'A session has something to hear, and has had as many turns by itself as it may: it waits for somebody',
      { ...of },
    )
    return done()
  }
  const asked: Asked = {
    ...row.asked,
    position: { ...of, batch: turnBatch, id: wokenId(due.key), occurrence: 0 },
    line: null,
  }
  const place = lastTurnName(of)
  const put = await host.engine().put(asked, () => ({
    guards: [
      ...guards,
      { kind: 'kept', ...place, revision: last.revision },
      { kind: 'kept', ...endName(of, ''), revision: 0 },
    ],
    documents: [
      taken,
      {
        ...place,
        ...(row.asked.sealed ? { secret: true as const } : {}),
        value: JSON.stringify({ ...row, woken: row.woken + 1 }),
      },
    ],
    events: [],
  }))
  // Somebody was faster: is there still something to tell?
  return put.as === 'refused' ? done(dueWake(of, clock.now() + againMs, wake)) : 'done'
}

const page = 200

/** Whether a turn of the session is open, or waits for its time. */
async function isSpeaking(store: Store, of: Scope): Promise<boolean> {
  for (let after = ''; ;) {
    const open = await store.unsettled({ of, after, limit: page })
    if (open.some(({ position }) => position.batch === turnBatch)) return true
    const last = open.at(-1)
    if (!last || open.length < page) return false
    after = last.uid
  }
}
