// What a session has used of its budget, from the record (POL-8): the facts of its feed in their order, and the rows they are about. Asked
// once, when a worker first meets the session; it costs what the session's history costs to read.
//
// The record knows what happened, not all of what was told to the model at the time: of an attempt that was tried again it holds the
// failure's code and not its answer, and of one whose worker died no end. The first counts as the same answer as before, the second as
// no time.

import { createHash } from 'node:crypto'
import type { CallOptions, CallRecord, CallRequest } from '../journal/call-state.ts'
import type { EventRecord } from '../journal/event.ts'
import type { Outcome } from '../kernel/outcome.ts'
import { decode } from '../kernel/value.ts'
import { charge, newUsage, type Usage } from '../policy/budget.ts'

type Soon<T> = T | Promise<T>

/** Where the record is read. */
export interface SessionRecord {
  events(query: { after: number; limit: number; of: { tenant: string; session: string } }): Soon<EventRecord[]>
  call(uid: string): Soon<CallRecord | undefined>
}

const page = 500

/** The model message it came in; a call that names none is a message of its own, and one that a body makes came in none. */
export function aboutOf({ position, uid, tool, hash, options }: CallRequest): { round: string | null; tool: string; hash: string } {
  const { name, root } = options === null ? noOptions : (JSON.parse(options) as CallOptions)
  return { round: root === undefined ? position.batch || uid : null, tool: name ?? tool, hash }
}

const noOptions: CallOptions = {}

/** Of an outcome in its recorded form. */
export const outcomeHash = (recorded: string): string => createHash('sha256').update(recorded).digest('base64url')

export async function usageOnRecord(record: SessionRecord, of: { tenant: string; session: string }): Promise<Usage> {
  const usage = newUsage()
  /** When the attempt began that each call is in. */
  const began = new Map<string, number>()
  for (let after = 0; ;) {
    const events = await record.events({ after, limit: page, of })
    for (const event of events) {
      if (!counts.has(event.type)) continue
      const call = await record.call(event.call)
      if (call) take(usage, began, event, call)
    }
    if (events.length < page) return usage
    after = (events.at(-1) as EventRecord).position
  }
}

const counts = new Set<EventRecord['type']>(['call.started', 'call.queued', 'call.parked', 'call.settled'])

function take(usage: Usage, began: Map<string, number>, event: EventRecord, call: CallRecord): void {
  const about = aboutOf(call)
  const since = began.get(call.uid)
  began.delete(call.uid)
  if (event.type === 'call.started') {
    began.set(call.uid, event.at)
    // Retries and recoveries are the same call.
    if (event.body.attempt === 1) charge(usage, { kind: 'started', ...about })
  } else if (event.type === 'call.queued') {
    if (since !== undefined) charge(usage, { kind: 'settled', ...about, ms: event.at - since })
  } else if (event.type === 'call.settled' && call.outcome !== null) {
    if (since === undefined) return notBegun(usage, call, decode(call.outcome) as unknown as Outcome)
    const ms = event.body.status === 'unknown' ? 0 : event.at - since
    charge(usage, { kind: 'settled', ...about, ms, outcome: outcomeHash(call.outcome) })
  }
}

/** Refused before its body: by the budget, or for arguments that were not valid. What policy refused counts for nothing. */
function notBegun(usage: Usage, call: CallRecord, outcome: Outcome): void {
  if (outcome.status !== 'failure') return
  const { code, source } = outcome.failure
  const overBudget = code === 'over_budget' && source === 'policy'
  if (overBudget && call.args !== null) charge(usage, { kind: 'refused', ...aboutOf(call) })
  else if (overBudget || (code === 'invalid_arguments' && source === 'runtime')) charge(usage, { kind: 'invalid', ...aboutOf(call) })
}
