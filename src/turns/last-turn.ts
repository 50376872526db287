// The last turn that somebody asked for in a session, kept as data and without what was said: one that begins by itself is like it (schedules/wake.ts).
// Written when it begins, so what was refused, or is only asked for again, is not the last.

import { hash } from 'node:crypto'
import type { Execution } from '../engine/engine.ts'
import { isWoken, lastTurnName, type LastTurnRow } from '../store/records/conversation.ts'
import { isSealedUid } from '../store/records/sealed-uid.ts'
import { canonical } from '../core/canonical-json.ts'
import { decode, encode, type Json, recorded } from '../core/value.ts'
import type { Change } from '../store/store.ts'
import type { TurnRequest } from './turn-request.ts'

export function rowOfLast({ request, options }: Execution): NonNullable<Change['documents']> {
  const { position, principal, tool, uid } = request
  if (isWoken(position.id)) return []
  const silent: TurnRequest = { ...(decode(request.input) as unknown as TurnRequest), message: null }
  const sealed = isSealedUid(uid) ? { sealed: true } : {}
  const asked = {
    principal,
    tool,
    input: encode(silent),
    hash: hashOf(silent),
    options: Object.keys(options).length > 0 ? options : null,
  }
  const row: LastTurnRow = { asked: { ...asked, ...sealed }, woken: 0 }
  return [
    { ...lastTurnName(position), ...(sealed.sealed ? { secret: true as const } : {}), value: JSON.stringify(row) },
  ]
}

/** By which a turn is known again. */
export const hashOf = (content: object): string =>
  hash('sha256', `turn\n${canonical(recorded(content) as Json)}`, 'base64url')
