// Ensures that one turn at a time runs in a session, across workers. The session's head document names the open turn;
// a new turn waits for earlier ones and then sets the head by compare-and-set.

import type { Execution } from '../engine/engine.ts'
import { type HeadRow, isWoken, type LastTurnRow } from '../store/records/conversation.ts'
import { type CallPosition, type CallRequest, isSealedUid } from '../store/records/call-record.ts'
import { readHead } from './conversation/history.ts'
import type { TurnHost } from './ports.ts'
import type { TurnStop } from './turn-stop.ts'
import { collections } from '../store/collections.ts'
import { turnBatch } from '../store/journal-keys.ts'
import { decode, encode } from '../core/tool-value.ts'
import type { DocumentWrite } from '../store/store.ts'
import { turnHash, type TurnRequest } from './turn-request.ts'

const pageSize = 200

/** Turns of this process in the order of their requests. A turn requested just now may not be recorded yet. */
export class TurnQueue {
  readonly #open = new Set<CallRequest>()

  add(request: CallRequest): () => void {
    this.#open.add(request)
    return () => void this.#open.delete(request)
  }

  /** The earliest turn of the same session requested before this one. */
  firstBefore({ uid, position: { tenant, session } }: CallRequest): CallPosition | null {
    let first: CallRequest | null = null
    for (const each of this.#open)
      if (each.uid < (first?.uid ?? uid) && each.position.session === session && each.position.tenant === tenant)
        first = each
    return first?.position ?? null
  }
}

export interface ClaimedSession {
  readonly head: HeadRow
  /** An earlier execution of this turn held the session: it may have called the model and streamed deltas. */
  readonly resumed: boolean
}

/** Resolves when the head names this turn, or with null if the turn must stop before that. */
export async function claimSession(
  execution: Execution,
  host: TurnHost,
  queue: TurnQueue,
  stop: TurnStop,
): Promise<ClaimedSession | null> {
  const { store, ids } = host
  const { uid, position } = execution.request
  let isAnnounced = false
  let wasAnnounced = execution.generation > 1
  for (;;) {
    const { row, revision } = await readHead(store, position)
    if (row?.turn === uid) return { head: row, resumed: true }
    if (execution.stopped || stop.outcome) return null
    const earlier = queue.firstBefore(execution.request) ?? (await findEarlierTurn(host, execution, row))
    if (earlier) {
      // A turn that starts by itself does not end the open one, which reads the notices anyway.
      if (!isWoken(position.id) && !isAnnounced) await announceTurn(host, execution)
      isAnnounced = wasAnnounced = true
      await waitForTurn(execution, host, earlier, stop)
      continue
    }
    const on = [...(await host.switches.enabledIn(position))]
    const claimed: HeadRow = { born: row?.born ?? ids.next(), turn: uid, ...(on.length > 0 ? { on } : {}) }
    const name = collections.conversation.name(position)
    const end = collections.sessionEnd.name(position)
    const committed = await store.commit({
      guards: [
        ...execution.attached.fence(),
        { kind: 'kept', ...name, revision },
        { kind: 'kept', ...end, revision: 0 },
      ],
      documents: [
        { ...name, value: JSON.stringify(claimed) },
        ...(wasAnnounced ? [queuedRowRemoval(execution)] : []),
        ...(host.wakes.maxConsecutive > 0 ? lastTurnRows(execution) : []),
      ],
      events: [],
    })
    if (committed.ok) return { head: claimed, resumed: false }
    // Another execution holds the call, another turn won, or the session ended. In the last case the chore that ends
    // the session may have run before this turn was recorded, so the turn stops itself.
    if (committed.refused.kind !== 'kept') await execution.attached.flush()
    const sessionEnd = await store.document(end)
    if (sessionEnd) {
      stop.sessionEnded(collections.sessionEnd.parse(sessionEnd.value))
      return null
    }
  }
}

/** Records that the turn waits, and notifies the open turn, which ends if it only waits for people or the outside. */
async function announceTurn({ store, messageWatcher }: TurnHost, { request, attached }: Execution): Promise<void> {
  const { uid, position } = request
  const committed = await store.commit({
    guards: attached.fence(),
    documents: [collections.turnQueued.write(true, position, uid)],
    events: [],
  })
  if (!committed.ok) await attached.flush() // another execution holds the turn; the flush reports it
  messageWatcher.notify(position)
}

/** Removes the row that announceTurn() wrote, in this or an earlier execution. */
export const queuedRowRemoval = ({ request: { uid, position } }: Execution): DocumentWrite =>
  collections.turnQueued.remove(position, uid)

/** The open turn, else the earliest unsettled turn requested before this one. */
async function findEarlierTurn(
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
    const open = await store.unsettled({ of: { tenant, session }, after, limit: pageSize })
    for (const each of open) {
      if (each.uid >= uid) return null
      if (each.position.batch === turnBatch) return each.position
    }
    const last = open.at(-1)
    if (!last || open.length < pageSize) return null
    after = last.uid
  }
}

/** Waits until that turn is settled or this one must stop. Does not hold a slot while waiting. */
function waitForTurn(
  execution: Execution,
  { engine }: TurnHost,
  other: CallPosition,
  { signal }: TurnStop,
): Promise<void> {
  return execution.idleWhile(
    () =>
      new Promise<void>((resolve, reject) => {
        const unlisten = execution.onStop((why) => ('over' in why ? reject(why.over) : resolve()))
        const onStop = (): void => resolve()
        signal.addEventListener('abort', onStop, { once: true })
        const removeListeners = (): void => {
          unlisten()
          signal.removeEventListener('abort', onStop)
        }
        engine
          .settled(other)
          .then(() => resolve(), reject)
          .finally(removeListeners)
      }),
  )
}

/**
 * The request of the session's last turn that the host started, without its message; a woken turn reuses it
 * (schedules/wake-session.ts). Written when the turn starts, so a rejected or repeated request does not replace it.
 */
function lastTurnRows({ request, options }: Execution): readonly DocumentWrite[] {
  const { position, principal, tool, uid } = request
  if (isWoken(position.id)) return []
  const { toolChoice: _choice, output: _output, ...asked } = decode(request.input) as unknown as TurnRequest
  const withoutMessage: TurnRequest = { ...asked, message: null }
  const sealed = isSealedUid(uid) ? { sealed: true } : {}
  const stored = {
    principal,
    tool,
    input: encode(withoutMessage),
    hash: turnHash(withoutMessage),
    options: Object.keys(options).length > 0 ? options : null,
  }
  const row: LastTurnRow = { asked: { ...stored, ...sealed }, woken: 0 }
  return [
    {
      ...collections.turnLast.name(position),
      ...(sealed.sealed ? { secret: true as const } : {}),
      value: JSON.stringify(row),
    },
  ]
}
