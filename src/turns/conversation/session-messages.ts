// session.messages: the conversation as it is on record, and what a user says while a turn may be under way (SESS-4).

import { eventOf, ofSession } from '../../store/records/event.ts'
import { messageKey, sentName, sentOnceName, type SentRow } from '../../store/records/conversation.ts'
import { endName } from '../../store/records/task-record.ts'
import { PawlError } from '../../core/errors.ts'
import { type Ids, isName } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import { type Message, textOf } from '../../models/message.ts'
import type { Messages } from '../../models/turn-interface.ts'
import { iterateDocuments } from '../../store/iterate-documents.ts'
import type { Store } from '../../store/store.ts'
import { readMessage } from './history.ts'
import type { Scope } from '../ports.ts'
import { wordsOf } from './user-message.ts'

export interface MessagesHost {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly mostBytes: number
  /** Of a file; any size if left out. */
  readonly mostOfFile: number
  /** Tells turns that wait. */
  said(of: Scope): void
  /** Comes to know the secrets of a session, so that none of them is shown. */
  learn(of: Scope): Promise<void>
  /** As everybody may see it. */
  shown(message: Message): Message
}

const mostListed = 1_000

export function openMessages(host: MessagesHost, { tenant, session }: Scope): Messages {
  const { store, clock, ids, mostBytes, mostOfFile, learn, shown, said } = host
  const of = { tenant, session }
  return {
    async list({ after = 0, limit = 200 } = {}) {
      if (!Number.isSafeInteger(after) || after < 0)
        throw new PawlError('turn_invalid', 'after is not the number of a message.')
      if (!Number.isSafeInteger(limit) || limit < 1 || limit > mostListed)
        throw new PawlError('turn_invalid', `limit is ${String(limit)}; it must be 1 to ${mostListed}.`)
      await learn(of)
      const rows = await store.documentsOf({ of: 'message', ...of, after: after === 0 ? '' : messageKey(after), limit })
      return rows.map((row) => {
        const { number, at, turn, message, shown: said = message, model, usage, finish, unheard } = readMessage(row)
        return { number, at, turn, message: shown(said), ...defined({ model, usage, finish, unheard }) }
      })
    },
    async send(message, { when = 'next', id } = {}) {
      const text = wordsOf(message, mostBytes, mostOfFile)
      if (when !== 'next' && when !== 'after')
        throw new PawlError('turn_invalid', `when is ${JSON.stringify(when)}, not 'next' or 'after'.`)
      if (id !== undefined && !isName(id)) throw new PawlError('turn_invalid', 'The id of a message is a text.')
      const key = ids.next()
      const row: SentRow = { id: id ?? key, text, when, at: clock.now() }
      const once = id === undefined ? null : sentOnceName(of, id)
      const sent = await store.commit({
        guards: [
          { kind: 'kept', ...endName(of, ''), revision: 0 },
          ...(once ? [{ kind: 'kept' as const, ...once, revision: 0 }] : []),
        ],
        documents: [{ ...sentName(of, key), value: JSON.stringify(row) }, ...(once ? [{ ...once, value: '1' }] : [])],
        events: [eventOf(ofSession(of), 'message.sent', row.at, { message: row.id, when })],
      })
      if (!sent.ok && sent.refused.kind === 'kept' && sent.refused.of === 'session-end')
        throw new PawlError('session_ended')
      said(of)
    },
    async waiting() {
      await learn(of)
      const found = []
      for await (const { value } of iterateDocuments(store, { of: sentName(of, '').of, ...of })) {
        const { id, text, when } = JSON.parse(value) as SentRow
        const { text: words, files } = typeof text === 'string' ? { text, files: [] } : text
        found.push({
          id,
          text: textOf(shown({ role: 'user', parts: [{ type: 'text', text: words }] })),
          files: files.length,
          when,
        })
      }
      return found
    },
  }
}

const defined = <T extends object>(of: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
