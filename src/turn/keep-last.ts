// The last turn that somebody asked for in a session, kept as data and without what was said: one that begins by itself is like it (background/wake.ts).

import { hash } from 'node:crypto'
import type { Asked } from '../engine/engine.ts'
import { lastTurnName, type LastTurnRow } from '../journal/message.ts'
import { canonical } from '../kernel/canonical.ts'
import { encode, recorded } from '../kernel/value.ts'
import type { Store } from '../store/store.ts'
import type { TurnRequest } from './request.ts'

export async function keepLast(store: Store, { position, principal, tool, options, sealed }: Asked, request: TurnRequest): Promise<void> {
  const silent: TurnRequest = { ...request, message: null }
  const row: LastTurnRow = {
    asked: { principal, tool, input: encode(silent), hash: hashOf(silent), options, ...(sealed ? { sealed } : {}) },
    woken: 0,
  }
  const name = { ...lastTurnName(position), ...(sealed ? { secret: true as const } : {}) }
  await store.commit({ guards: [], keep: [{ ...name, value: JSON.stringify(row) }], events: [] })
}

/** By which a turn is known again. */
export const hashOf = (request: TurnRequest): string => hash('sha256', `turn\n${canonical(recorded(request))}`, 'base64url')
