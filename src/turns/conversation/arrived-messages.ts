// Collects input that arrived since the last model request: user messages, runtime notices, and results of calls that
// have a placeholder. Each is added to the conversation in the commit that removes its pending row, so the model reads
// it exactly once.

import type { Scope } from '../../core/scope.ts'
import type { Execution } from '../../engine/engine.ts'
import { type CallPosition, type CallRequest, isSealedUid } from '../../store/records/call-record.ts'
import type { SentRow } from '../../store/records/conversation.ts'
import { interruptedParts } from '../../models/conversation.ts'
import type { Message } from '../../models/message.ts'
import { notice } from '../../sessions/placeholder-result.ts'
import { unlessUnreadable } from '../../store/skip-unreadable.ts'
import type { DocumentWrite } from '../../store/store.ts'
import { acknowledgeRows, movedCallNotice, openNotices, resultNoticeId } from '../../tasks/notices.ts'
import { readTask } from '../../tasks/read-task.ts'
import type { TurnHost } from '../ports.ts'
import { userMessageParts } from './user-message.ts'
import { collections } from '../../store/collections.ts'

export interface Arrival {
  readonly message: Message
  /** Pending rows to delete. */
  readonly rows: readonly DocumentWrite[]
  /** Id of the notice this acknowledges. */
  readonly notice?: string
  /** The content is sealed at rest. */
  readonly secret?: true
}

/** Collections of pending input: owed results, sent messages, stored notices and ended tasks. */
const { resultOwed, messageSent, turnQueued, notice: storedNotice, taskWake } = collections
const pendingInput = [resultOwed.of, messageSent.of, storedNotice.of, taskWake.of]

const secretCollection = collections.secret.of

/** `isFirst`: a turn that starts also reads messages sent with `when: 'after'`. */
export async function arrivals(
  host: TurnHost,
  execution: Execution,
  { isFirst, canReadOutput }: { isFirst: boolean; canReadOutput: boolean },
): Promise<Arrival[]> {
  const { tenant, session } = execution.request.position
  // Usually nothing has arrived; one read finds that out.
  const found = await host.store.nonEmptyCollections([...pendingInput, secretCollection], { tenant, session })
  // A secret may have been set since, here or by an agent, and the new input may contain it.
  if (found.length > 0) await host.knownSecrets.refresh({ tenant, session })
  if (!found.some((list) => list !== secretCollection)) return []
  return [
    ...(await owedResults(host, execution, canReadOutput)),
    ...(await pendingNotices(host, { tenant, session })),
    ...(await sentMessages(host, { tenant, session }, isFirst)).map(({ key, row: { text } }): Arrival => ({
      message: { role: 'user', parts: userMessageParts(text, execution, host) },
      rows: [collections.messageSent.remove({ tenant, session }, key)],
    })),
  ]
}

/**
 * What a turn whose calls wait should do: end, because a later turn wants the session, or continue, because the user
 * sent a message. Null: nothing has arrived.
 */
export async function findInterruption(
  host: TurnHost,
  { uid, position: { tenant, session } }: CallRequest,
): Promise<'turn' | 'message' | null> {
  const of = { tenant, session }
  const found = await host.store.nonEmptyCollections([messageSent.of, turnQueued.of], of)
  if (found.includes(turnQueued.of) && (await hasLaterTurn(host, of, uid))) return 'turn'
  return found.includes(messageSent.of) && (await hasNewUserMessage(host, of)) ? 'message' : null
}

async function hasLaterTurn({ store }: TurnHost, of: Scope, uid: string): Promise<boolean> {
  // The turn of an agent does not end for another turn: the call that waits for it needs its answer.
  if (await store.document(collections.sessionParent.name(of))) return false
  for await (const { key } of turnQueued.iterate(store, of, uid)) {
    const call = await store.call(key)
    if (call && call.state !== 'settled') return true
  }
  return false
}

/** True if the user sent a message that the open turn should read. */
export async function hasNewUserMessage(host: TurnHost, of: Scope): Promise<boolean> {
  return (await sentMessages(host, { tenant: of.tenant, session: of.session }, false)).length > 0
}

async function sentMessages(
  { store }: TurnHost,
  of: Scope,
  isFirst: boolean,
): Promise<{ key: string; row: SentRow }[]> {
  const found: { key: string; row: SentRow }[] = []
  for await (const { key, value } of collections.messageSent.iterate(store, of)) {
    const row = collections.messageSent.parse(value)
    if (row.when !== 'after' || isFirst) found.push({ key, row })
  }
  return found
}

async function pendingNotices(host: TurnHost, of: Scope): Promise<Arrival[]> {
  const listed = (await openNotices(host, of).list()).filter(({ about }) => about !== 'result') // owedResults has them
  return Promise.all(
    listed.map(async ({ id, text, task, about }): Promise<Arrival> => {
      // Only an encrypted task can be unreadable, so its notice is treated as secret.
      let isSealed = false
      const taskRow =
        task === null
          ? undefined
          : await unlessUnreadable(
              () => readTask(host, of, task),
              () => (isSealed = true),
            )
      // The payload of a trigger event is sealed, since it may be meant for a sensitive tool.
      const secret = about === 'trigger' || isSealed || (taskRow !== undefined && isSealedUid(taskRow.call))
      const message: Message = { role: 'notice', parts: [{ type: 'text', text }] }
      return { message, notice: id, rows: acknowledgeRows(of, id), ...(secret ? { secret } : {}) }
    }),
  )
}

async function owedResults(
  host: TurnHost,
  { request: { position: at }, attached }: Execution,
  canReadOutput: boolean,
): Promise<Arrival[]> {
  const of = { tenant: at.tenant, session: at.session }
  const found: Arrival[] = []
  for await (const { key, value } of collections.resultOwed.iterate(host.store, of)) {
    const { batch, id, occurrence, name, shown } = collections.resultOwed.parse(value)
    const position: CallPosition = { ...of, batch, id, occurrence }
    const call = await unlessUnreadable(() => host.store.callAt(position))
    if (call && call.state !== 'settled') continue
    const rows = [collections.resultOwed.remove(of, key)]
    // The call moved to the background: its task's notice delivers the result.
    if (call && (await movedCallNotice(host, of, call.uid))) {
      attached.writeDocuments(...rows)
      continue
    }
    // The record was deleted or is unreadable.
    const parts = call ? await host.renderer.parts(call, canReadOutput) : interruptedParts
    const secret = call && isSealedUid(call.uid) ? { secret: true as const } : {}
    const message: Message = { role: 'notice', parts: notice({ callId: shown ?? id, name, parts }) }
    found.push({ message, notice: resultNoticeId(key), rows, ...secret })
  }
  return found
}
