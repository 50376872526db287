// The results of calls whose turn ended without hearing of them (SESS-3): from the record where there is one, else they count as interrupted.

import { stepBatch } from '../../store/records/conversation.ts'
import type { CallPosition, CallRecord } from '../../store/records/call-record.ts'
import type { Outcome } from '../../core/outcome.ts'
import { decode } from '../../core/value.ts'
import { interrupted } from '../../models/conversation.ts'
import { callsIn, type ResultPart } from '../../models/message.ts'
import { placeholder } from '../../sessions/placeholder-result.ts'
import { unlessUnreadable } from '../../store/read-or-report.ts'
import type { KeptMessage } from './history.ts'
import type { Scope, TurnHost } from '../ports.ts'
import { type Owed, owedRow, type Ran } from '../run-calls.ts'

export async function mended(
  host: TurnHost,
  of: Scope,
  last: KeptMessage,
  reads: boolean,
): Promise<Pick<Ran, 'results' | 'owed'>> {
  if (last.message.role !== 'assistant') return { results: [], owed: [] }
  const results: ResultPart[] = []
  const owed: Owed[] = []
  const calls = await callsOnRecord(host, of, last)
  for (const [order, { id, name }] of callsIn(last.message).entries()) {
    const call = calls[order]
    const notice = call ? await host.noticeOf(of, call.uid) : null
    results.push({ callId: id, name, ...(notice === 'to come' ? onItsWay : await told(host, call, reads)) })
    if (call && call.state !== 'settled' && notice === null) owed.push([order, owedRow(call.position, name)])
  }
  return { results, owed }
}

/** The calls of an answer in their order; undefined for one that is not on record, or cannot be opened. */
export async function callsOnRecord(
  host: TurnHost,
  { tenant, session }: Scope,
  last: KeptMessage,
): Promise<(CallRecord | undefined)[]> {
  const { step } = last
  const turn = last.turn ?? ''
  const seen = new Map<string, number>()
  const found: (CallRecord | undefined)[] = []
  for (const [order, { id }] of (last.message.role === 'assistant' ? callsIn(last.message) : []).entries()) {
    const occurrence = seen.get(id) ?? 0
    seen.set(id, occurrence + 1)
    const at = (place: Pick<CallPosition, 'batch' | 'occurrence'>): Promise<CallRecord | undefined> =>
      unlessUnreadable(() => host.store.callAt({ tenant, session, id, ...place }))
    found.push(
      (await at({ batch: stepBatch(turn, step), occurrence })) ??
        (await at({ batch: stepBatch(turn, step, order), occurrence: 0 })),
    )
  }
  return found
}

/** What comes of it is told later. */
const onItsWay: Pick<ResultPart, 'status' | 'parts'> = { status: 'running', parts: placeholder('running') }

async function told(
  host: TurnHost,
  call: CallRecord | undefined,
  reads: boolean,
): Promise<Pick<ResultPart, 'status' | 'parts'>> {
  if (!call) return { status: 'interrupted', parts: interrupted }
  if (call.outcome === null) return onItsWay
  return { status: (decode(call.outcome) as unknown as Outcome).status, parts: await host.shown(call, reads) }
}
