// One turn at a time in a session, on whatever worker (SESS-4). The session's head names the turn that is open; who wants to begin waits for the turns
// before it, then puts its own name there, against whoever does the same at that moment.

import type { Execution } from '../engine/engine.ts'
import { headName, type HeadRow, turnBatch } from '../store/records/conversation.ts'
import type { CallPosition, CallRequest } from '../store/records/call-record.ts'
import { endName, type EndRow } from '../store/records/task-record.ts'
import { headOf } from './conversation/history.ts'
import type { TurnHost } from './ports.ts'
import { rowOfLast } from './last-turn.ts'
import type { TurnStop } from './turn-stop.ts'

const page = 200

/** Turns of this process in the order in which they were asked for: what has only just been asked for is not on record yet. */
export class Line {
  readonly #open = new Set<CallRequest>()

  join(request: CallRequest): () => void {
    this.#open.add(request)
    return () => void this.#open.delete(request)
  }

  /** The first of its session that was asked for before it. */
  before({ uid, position: { tenant, session } }: CallRequest): CallPosition | null {
    let first: CallRequest | null = null
    for (const each of this.#open)
      if (each.uid < (first?.uid ?? uid) && each.position.session === session && each.position.tenant === tenant)
        first = each
    return first?.position ?? null
  }
}

export interface Entered {
  readonly head: HeadRow
  /** An earlier execution of this turn was in before: it may have asked the model, and told what came. */
  readonly again: boolean
}

/** Resolves when the head names this turn, or with null if it is to stop before. */
export async function enter(execution: Execution, host: TurnHost, line: Line, stop: TurnStop): Promise<Entered | null> {
  const { store, ids } = host
  const { uid, position } = execution.request
  for (;;) {
    const { row, revision } = await headOf(store, position)
    if (row?.turn === uid) return { head: row, again: true }
    if (execution.stopped || stop.outcome) return null
    const before = line.before(execution.request) ?? (await firstBefore(host, execution, row))
    if (before) {
      await untilOver(execution, host, before, stop)
      continue
    }
    const on = [...(await host.switches.on(position))]
    const mine: HeadRow = { born: row?.born ?? ids.next(), turn: uid, ...(on.length > 0 ? { on } : {}) }
    const name = headName(position)
    const end = endName(position, '')
    const committed = await store.commit({
      guards: [
        ...execution.attached.fence(),
        { kind: 'kept', ...name, revision },
        { kind: 'kept', ...end, revision: 0 },
      ],
      documents: [
        { ...name, value: JSON.stringify(mine) },
        ...(host.wakes.maxConsecutive > 0 ? rowOfLast(execution) : []),
      ],
      events: [],
    })
    if (committed.ok) return { head: mine, again: false }
    // Another execution has the call, or another turn was first, or the session has ended: what ends its turns may have come before this one was on record.
    if (committed.refused.kind !== 'kept') await execution.attached.flush()
    const ended = await store.document(end)
    if (ended) {
      stop.sessionEnded(JSON.parse(ended.value) as EndRow)
      return null
    }
  }
}

/** The turn that is open, else the first that was asked for before this one. */
async function firstBefore(
  { store }: TurnHost,
  { request: { uid, position } }: Execution,
  head: HeadRow | null,
): Promise<CallPosition | null> {
  if (head?.turn) {
    const open = await store.call(head.turn)
    if (open && open.state !== 'settled') return open.position
  }
  const { tenant, session } = position
  for (let after = ''; ;) {
    const open = await store.unsettled({ of: { tenant, session }, after, limit: page })
    for (const each of open) {
      if (each.uid >= uid) return null
      if (each.position.batch === turnBatch) return each.position
    }
    const last = open.at(-1)
    if (!last || open.length < page) return null
    after = last.uid
  }
}

/** Until that one is over, or this one is told to stop. Nothing is held meanwhile. */
function untilOver(
  execution: Execution,
  { engine }: TurnHost,
  other: CallPosition,
  { signal }: TurnStop,
): Promise<void> {
  return execution.aside(
    () =>
      new Promise<void>((resolve, reject) => {
        const unlisten = execution.onStop((why) => ('over' in why ? reject(why.over) : resolve()))
        const late = (): void => resolve()
        signal.addEventListener('abort', late, { once: true })
        const forget = (): void => {
          unlisten()
          signal.removeEventListener('abort', late)
        }
        engine()
          .settled(other)
          .then(() => resolve(), reject)
          .finally(forget)
      }),
  )
}
