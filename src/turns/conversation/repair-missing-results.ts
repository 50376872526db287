// Results of calls whose turn ended before reading them: from their records, or "interrupted" if there is none.

import { stepBatch } from '../../store/records/conversation.ts'
import type { CallPosition, CallRecord } from '../../store/records/call-record.ts'
import type { Outcome } from '../../core/outcome.ts'
import { decode } from '../../core/tool-value.ts'
import type { Scope } from '../../core/scope.ts'
import { interruptedParts } from '../../models/conversation.ts'
import { callsIn, type ResultPart } from '../../models/message.ts'
import { placeholder } from '../../sessions/placeholder-result.ts'
import { unlessUnreadable } from '../../store/skip-unreadable.ts'
import { movedCallNotice } from '../../tasks/notices.ts'
import type { MessageRecord } from './history.ts'
import type { TurnHost } from '../ports.ts'
import { type OwedResult, owedRow, type CallsResult } from '../run-calls.ts'

export async function repairResults(
  host: TurnHost,
  of: Scope,
  last: MessageRecord,
  canReadOutput: boolean,
): Promise<Pick<CallsResult, 'results' | 'owed'>> {
  if (last.message.role !== 'assistant') return { results: [], owed: [] }
  const results: ResultPart[] = []
  const owed: OwedResult[] = []
  const calls = await callsOnRecord(host, of, last)
  for (const [order, { id, name }] of callsIn(last.message).entries()) {
    const call = calls[order]
    const notice = call ? await movedCallNotice(host, of, call.uid) : null
    results.push({
      callId: id,
      name,
      ...(notice === 'to come' ? stillRunning : await resultOf(host, call, canReadOutput)),
    })
    if (call && call.state !== 'settled' && notice === null) owed.push([order, owedRow(call.position, name)])
  }
  return { results, owed }
}

/** The calls of an answer in order; undefined for one that is not recorded or is unreadable. */
export async function callsOnRecord(
  host: TurnHost,
  { tenant, session }: Scope,
  last: MessageRecord,
): Promise<(CallRecord | undefined)[]> {
  const { step } = last
  const turn = last.turn ?? ''
  const seen = new Map<string, number>()
  const found: (CallRecord | undefined)[] = []
  for (const [order, { id }] of (last.message.role === 'assistant' ? callsIn(last.message) : []).entries()) {
    const occurrence = seen.get(id) ?? 0
    seen.set(id, occurrence + 1)
    const readCall = (key: Pick<CallPosition, 'batch' | 'occurrence'>): Promise<CallRecord | undefined> =>
      unlessUnreadable(() => host.store.callAt({ tenant, session, id, ...key }))
    found.push(
      (await readCall({ batch: stepBatch(turn, step), occurrence })) ??
        (await readCall({ batch: stepBatch(turn, step, order), occurrence: 0 })),
    )
  }
  return found
}

/** The result is delivered later. */
const stillRunning: Pick<ResultPart, 'status' | 'parts'> = { status: 'running', parts: placeholder('running') }

async function resultOf(
  host: TurnHost,
  call: CallRecord | undefined,
  canReadOutput: boolean,
): Promise<Pick<ResultPart, 'status' | 'parts'>> {
  if (!call) return { status: 'interrupted', parts: interruptedParts }
  if (call.outcome === null) return stillRunning
  return {
    status: (decode(call.outcome) as unknown as Outcome).status,
    parts: await host.renderer.parts(call, canReadOutput),
  }
}
