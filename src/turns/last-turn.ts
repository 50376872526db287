// Stores the request of the session's last host-started turn, without its message; a woken turn reuses it
// (schedules/wake-session.ts). Written when the turn starts, so a rejected or repeated request does not replace it.

import { hash } from 'node:crypto'
import type { Execution } from '../engine/engine.ts'
import { isWoken, type LastTurnRow } from '../store/records/conversation.ts'
import { isSealedUid } from '../store/records/call-record.ts'
import { canonicalJson } from '../core/canonical-json.ts'
import { decode, encode, type Json, toRecordedForm } from '../core/tool-value.ts'
import type { DocumentWrite } from '../store/store.ts'
import type { TurnRequest } from './turn-request.ts'
import { collections } from '../store/collections.ts'

export function lastTurnRows({ request, options }: Execution): readonly DocumentWrite[] {
  const { position, principal, tool, uid } = request
  if (isWoken(position.id)) return []
  const withoutMessage: TurnRequest = { ...(decode(request.input) as unknown as TurnRequest), message: null }
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

/** Content hash that identifies a repeated request of the same turn. */
export const turnHash = (content: object): string =>
  hash('sha256', `turn\n${canonicalJson(toRecordedForm(content) as Json)}`, 'base64url')
