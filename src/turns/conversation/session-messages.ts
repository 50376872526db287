// session.messages: lists the recorded conversation and accepts user messages while a turn may be running.

import { hash } from 'node:crypto'
import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { eventOf, sessionSubject } from '../../store/records/event.ts'
import { messageKey, type SentRow } from '../../store/records/conversation.ts'
import { defined } from '../../core/tool-value.ts'
import { PawlError } from '../../core/errors.ts'
import type { Scope } from '../../core/scope.ts'
import { type Message, textOf } from '../../models/message.ts'
import type { Messages, StoredMessage } from '../../models/turn-interface.ts'
import type { TurnHost } from '../ports.ts'
import { type MessageRecord, readMessage } from './history.ts'
import { shownMessage } from './mask-message.ts'
import { parseUserMessage } from './user-message.ts'
import { collections } from '../../store/collections.ts'

const maxLimit = 1_000

export const pageOptions = {
  after: option.wholeNumber(0),
  before: option.wholeNumber(1),
  newest: option.boolean,
  limit: option.wholeNumber(1, maxLimit),
} satisfies OptionTable<Parameters<Messages['list']>[0]>

export const sendOptions = {
  when: option.oneOf('next', 'after'),
  id: option.identifier,
} satisfies OptionTable<Parameters<Messages['send']>[1]>

/** A stored message as it is shown: secrets and hidden arguments are removed. */
export function shownTo(
  { redact, registry }: Pick<TurnHost, 'redact' | 'registry'>,
  { tenant, session }: Scope,
  { number, at, turn, message, shown = message, model, usage, finish, unheard }: MessageRecord,
): StoredMessage {
  const masked = redact.deep(shownMessage(shown, registry.toolsetFor(tenant, session)))
  return { number, at, turn, message: masked, ...defined({ model, usage, finish, unheard }) }
}

export function openMessages(host: TurnHost, { tenant, session }: Scope): Messages {
  const { store, clock, ids, sizes, redact, registry, messageWatcher } = host
  const of = { tenant, session }
  /** The message with secrets and hidden arguments removed. */
  const shown = (message: Message): Message => redact.deep(shownMessage(message, registry.toolsetFor(tenant, session)))
  return {
    async list(page) {
      checkOptions(page, pageOptions, 'messages.list()', 'turn_invalid')
      const { after = 0, before, newest = false, limit = 200 } = page ?? {}
      const isFromEnd = newest || before !== undefined
      if (isFromEnd && after > 0)
        throw new PawlError('turn_invalid', 'messages.list() has `after` and also `before` or `newest`: pass one.')
      await host.knownSecrets.refresh(of)
      // '~' sorts behind every number.
      const end = before === undefined ? '~' : messageKey(before)
      const from = isFromEnd ? end : after === 0 ? '' : messageKey(after)
      const rows = await store.documentsOf({ of: collections.message.of, ...of, after: from, limit, newest: isFromEnd })
      return (isFromEnd ? rows.toReversed() : rows).map((row) => shownTo(host, of, readMessage(row)))
    },
    async send(message, how) {
      checkOptions(how, sendOptions, 'messages.send()', 'turn_invalid')
      const { when = 'next', id } = how ?? {}
      const text = parseUserMessage(message, sizes.arguments, sizes.attachment)
      const key = ids.next()
      const row: SentRow = { id: id ?? key, text, when, at: clock.now() }
      const once = id === undefined ? null : collections.messageId.name(of, id)
      const digest = hash('sha256', JSON.stringify([text, when]), 'base64url')
      const sent = await store.commit({
        guards: [
          { kind: 'kept', ...collections.sessionEnd.name(of), revision: 0 },
          ...(once ? [{ kind: 'kept' as const, ...once, revision: 0 }] : []),
        ],
        documents: [
          collections.messageSent.write(row, of, key),
          ...(once ? [{ ...once, value: JSON.stringify(digest) }] : []),
        ],
        events: [eventOf(sessionSubject(of), 'message.sent', row.at, { message: row.id, when })],
      })
      if (!sent.ok && sent.refused.kind === 'kept' && sent.refused.of === 'session-end')
        throw new PawlError('session_ended')
      if (!sent.ok && id !== undefined) {
        // An older release stored 1, which matches any message.
        const earlier = await collections.messageId.read(store, of, id)
        if (earlier !== 1 && earlier !== digest) throw new PawlError('message_conflict', `The id is '${id}'.`)
      }
      messageWatcher.notify(of)
    },
    async waiting() {
      await host.knownSecrets.refresh(of)
      const found = []
      for await (const { value } of collections.messageSent.iterate(store, of)) {
        const { id, text, when } = collections.messageSent.parse(value)
        const { text: body, files } = typeof text === 'string' ? { text, files: [] } : text
        found.push({
          id,
          text: textOf(shown({ role: 'user', parts: [{ type: 'text', text: body }] })),
          files: files.length,
          when,
        })
      }
      return found
    },
  }
}
