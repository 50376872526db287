// session.turns.uiMessages(): the recorded conversation as messages for `useChat`, built from the same chunks that
// uiMessageStream() sends, so that a reloaded page shows what the stream showed.

import type { Scope } from '../../core/scope.ts'
import { decode } from '../../core/tool-value.ts'
import type { ModelPart } from '../../models/outcome-to-model-parts.ts'
import { collections } from '../../store/collections.ts'
import { turnBatch } from '../../store/journal-keys.ts'
import { unlessUnreadable } from '../../store/skip-unreadable.ts'
import type { Unsettled } from '../../store/store.ts'
import { type MessageRecord, readMessage } from '../conversation/history.ts'
import { shownTo } from '../conversation/session-messages.ts'
import type { TurnHost } from '../ports.ts'
import type { TurnRequest } from '../turn-request.ts'
import { unsettledTurns } from '../unsettled-turns.ts'
import { recordedParts } from './read-turn.ts'
import { answerIdOf, type UiChunk, type UiMessage, type UiPart, type UiToolPart } from '../../models/ui-message.ts'
import { uiChunksOf } from './ui-message-stream.ts'

/**
 * The messages of the last turns, oldest first: at most `limit` recorded messages are read. The user's message of a turn
 * that has not begun, or whose first answer is under way, is shown from its request.
 */
export async function readUiMessages(host: TurnHost, { tenant, session }: Scope, limit: number): Promise<UiMessage[]> {
  const of = { tenant, session }
  await host.knownSecrets.refresh(of)
  // Listed before the messages are read: what a turn records in between is then found below.
  const unsettled: Unsettled[] = []
  for await (const turn of unsettledTurns(host.store, of)) unsettled.push(turn)
  const rows = await host.store.documentsOf({ of: collections.message.of, ...of, after: '~', limit, newest: true })
  const records = rows.toReversed().map(readMessage)
  const found: UiMessage[] = []
  for (let at = 0; at < records.length;) {
    const { turn } = records[at] as MessageRecord
    const next = records.findIndex((record, index) => index > at && record.turn !== turn)
    const own = records.slice(at, next === -1 ? undefined : next)
    at += own.length
    // The beginning of the first turn may be missing.
    if (turn === null || (at === own.length && rows.length === limit && next !== -1)) continue
    found.push(...(await messagesOfTurn(host, of, turn, own)))
  }
  const open = new Set(unsettled.map(({ position }) => position.id))
  for (const { uid, position } of unsettled) {
    if (records.some(({ turn }) => turn === position.id)) continue
    const message = await requestedMessage(host, uid, position.id)
    if (!message) continue
    // The answer to the message before has its place here: a stream fills it.
    const last = found.at(-1)
    if (last?.role === 'user' && open.has(last.id))
      found.push({ id: answerIdOf(last.id), role: 'assistant', parts: [] })
    found.push(message)
  }
  return found
}

/** The user's message as the request has it; null for a turn without one, or whose record cannot be read. */
async function requestedMessage({ store, redact }: TurnHost, uid: string, id: string): Promise<UiMessage | null> {
  const record = await unlessUnreadable(() => store.call(uid))
  const { message } = record ? (decode(record.input) as unknown as TurnRequest) : { message: null }
  if (message === null) return null
  const text = redact.text(typeof message === 'string' ? message : message.text)
  return { id, role: 'user', parts: text === '' ? [] : [{ type: 'text', text, state: 'done' }] }
}

async function messagesOfTurn(
  host: TurnHost,
  of: Scope,
  turn: string,
  records: readonly MessageRecord[],
): Promise<UiMessage[]> {
  const users = records.flatMap((record): UiMessage[] => {
    const { message } = shownTo(host, of, record)
    if (message.role !== 'user') return []
    const id = record.opensTurn ? turn : `${turn}.${record.number}`
    return [{ id, role: 'user', parts: message.parts.flatMap(userPart) }]
  })
  const position = { ...of, batch: turnBatch, id: turn, occurrence: 0 }
  const answer: UiMessage = { id: answerIdOf(turn), role: 'assistant', parts: [] }
  const chunks = uiChunksOf(recordedParts(host, position, records), { turn, endsWhenWaiting: true, stepsShown: 0 })
  for await (const chunk of chunks) addChunk(answer.parts, chunk)
  return answer.parts.length > 0 ? [...users, answer] : users
}

/** Bytes of files are not included; `session.attachments.read()` has them. */
const userPart = (part: ModelPart): UiPart[] =>
  part.type === 'text' ? [{ type: 'text', text: part.text, state: 'done' }] : []

/** Recorded parts contain no retractions and no partial input. */
function addChunk(parts: UiPart[], chunk: UiChunk): void {
  const last = parts.at(-1)
  switch (chunk.type) {
    case 'start-step':
      parts.push({ type: 'step-start' })
      break
    case 'text-start':
    case 'reasoning-start':
      parts.push({ type: chunk.type === 'text-start' ? 'text' : 'reasoning', text: '', state: 'done' })
      break
    case 'text-delta':
    case 'reasoning-delta':
      if (last?.type === 'text' || last?.type === 'reasoning') last.text += chunk.delta
      break
    case 'source-url':
    case 'source-document':
      parts.push(chunk)
      break
    default:
      addToolChunk(parts, chunk)
  }
}

function addToolChunk(parts: UiPart[], chunk: UiChunk): void {
  const calls = parts.filter((part): part is UiToolPart => 'toolCallId' in part)
  const update = (id: string, change: object): void =>
    void Object.assign(calls.findLast(({ toolCallId }) => toolCallId === id) ?? {}, change)
  switch (chunk.type) {
    case 'tool-input-available':
      parts.push({
        type: `tool-${chunk.toolName}`,
        toolCallId: chunk.toolCallId,
        state: 'input-available',
        input: chunk.input as UiToolPart['input'],
        ...(chunk.providerExecuted ? { providerExecuted: true } : {}),
      })
      break
    case 'tool-approval-request':
      update(chunk.toolCallId, { state: 'approval-requested', approval: { id: chunk.approvalId } })
      break
    case 'tool-approval-response': {
      const { approvalId: id, approved, reason } = chunk
      const approval = { id, approved, ...(reason === undefined ? {} : { reason }) }
      const asked = calls.find((call) => 'approval' in call && call.approval?.id === id)
      if (asked) Object.assign(asked, { state: 'approval-responded', approval })
      break
    }
    case 'tool-output-available':
      update(chunk.toolCallId, { state: 'output-available', output: chunk.output as UiToolPart['input'] })
      break
    case 'tool-output-error':
      update(chunk.toolCallId, { state: 'output-error', errorText: chunk.errorText })
      break
    case 'tool-output-denied':
      update(chunk.toolCallId, { state: 'output-denied' })
      break
    default:
  }
}
