// session.turns: handles of recorded turns, for a process that did not start them, and the conversation for `useChat`.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import type { Scope } from '../core/scope.ts'
import type { SessionTurnHandles, Turn } from '../models/turn-interface.ts'
import { turnBatch } from '../store/journal-keys.ts'
import { type CallRecord, parseCallOptions } from '../store/records/call-record.ts'
import { isTurn } from '../store/records/conversation.ts'
import type { TurnHost } from './ports.ts'
import { turnHandle } from './start-turn.ts'
import { unsettledTurns } from './unsettled-turns.ts'

const pageSize = 200
const maxLimit = 1_000

export const uiMessagesOptions = { limit: option.wholeNumber(1, maxLimit) } satisfies OptionTable<
  Parameters<SessionTurnHandles['uiMessages']>[0]
>

export function openTurnHandles(host: TurnHost, { tenant, session }: Scope): SessionTurnHandles {
  const { store } = host
  const of = { tenant, session }
  const handleOf = ({ position, principal, tool, input, hash, options }: CallRecord): Turn =>
    turnHandle(host, {
      position,
      principal,
      tool,
      input,
      hash,
      options: options === null ? null : parseCallOptions(options),
      line: null,
    })
  const recordOf = async (id: string): Promise<CallRecord | undefined> =>
    store.callAt({ ...of, batch: turnBatch, id, occurrence: 0 })
  return {
    async get(id) {
      const record = await recordOf(id)
      return record ? handleOf(record) : null
    },
    async open() {
      for await (const { uid } of unsettledTurns(store, of)) {
        const record = await store.call(uid)
        if (record) return handleOf(record)
      }
      return null
    },
    async after(id) {
      const record = await recordOf(id)
      for (let after = record?.uid ?? null; after !== null;) {
        const later = await store.callsOf(of, { after, limit: pageSize })
        const next = later.find(isTurn)
        if (next) return handleOf(next)
        after = later.length < pageSize ? null : (later.at(-1)?.uid ?? null)
      }
      return null
    },
    async uiMessages(options) {
      checkOptions(options, uiMessagesOptions, 'turns.uiMessages()', 'turn_invalid')
      const { readUiMessages } = await import('./streams/ui-messages.ts')
      return readUiMessages(host, of, options?.limit ?? 200)
    },
  }
}
