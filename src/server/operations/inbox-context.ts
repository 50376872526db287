// The operation behind the decision page: the conversation and the calls that led to an item, why it asks, and the
// earlier decisions about its tool. Every part is bounded, so a page costs no more in a large store.

import type { CallDetails, InboxItem, Runtime, RuntimeCall, Session, StoredMessage } from '../../index.ts'
import { callParents, isTurn } from '../export/call-parents.ts'
import type { Output } from '../routes/routes.ts'
import { found, type Operation } from './context.ts'

type Context = Output<'inbox.context'>
type Earlier = Context['earlier'][number]

/** The newest messages of the turn. */
const maxMessages = 6
/** Calls of the tool whose details are read, and the decisions that are shown of them. */
const maxCalls = 20
const maxEarlier = 5
/** Calls can be nested deeply; the nearest ones explain most. */
const maxAbove = 10

export const inboxContext: Operation<'inbox.context'> = async ({ runtime, caller: { tenant } }, { item: id }) => {
  const [open] = await runtime.inbox({ tenant, id })
  const item = found(open, 'open inbox item')
  const session = runtime.session(item.session, { tenant })
  const above = await callsAbove(runtime, session, item)
  const turn = above.find(isTurn)
  const [messages, explained, earlier] = await Promise.all([
    turn ? lastMessages(session, turn.callId) : [],
    explain(runtime, item),
    earlierDecisions(runtime, item),
  ])
  const shown = above.map((call) => ({ uid: call.uid, name: call.name, session: call.session, isTurn: isTurn(call) }))
  return { above: shown, ...(await session.redact({ messages, explained })), earlier }
}

/** The nearest calls and turn above the call, in its session; outermost first. */
async function callsAbove(runtime: Runtime, session: Session, { call, tenant }: InboxItem): Promise<RuntimeCall[]> {
  const parentOf = callParents(session)
  const above: RuntimeCall[] = []
  for (let below = await runtime.calls.get(call, { tenant, redacted: true }); below && above.length < maxAbove;) {
    const parent = await parentOf(below)
    below = parent === null ? undefined : await runtime.calls.get(parent, { tenant, redacted: true })
    if (below) above.unshift(below)
  }
  return above
}

/** The conversation is read only forward, so the end is found by bisection: about 30 reads of one message. */
async function lastMessages(session: Session, turn: string): Promise<StoredMessage[]> {
  const next = async (after: number): Promise<StoredMessage | undefined> =>
    (await session.messages.list({ after, limit: 1 }))[0]
  let low = 0
  let high = 16
  while (await next(high)) {
    low = high
    high *= 2
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (await next(middle)) low = middle
    else high = middle
  }
  const messages = await session.messages.list({ after: Math.max(0, high - maxMessages), limit: maxMessages })
  return messages.filter((message) => message.turn === turn)
}

/** As the policy is now, for the principal of the call and with its real arguments. Null if no policy is involved. */
async function explain(runtime: Runtime, item: InboxItem): Promise<Context['explained']> {
  if (item.kind !== 'approval') return null
  const { tenant, session, principal, tool } = item
  const call = await runtime.calls.get(item.call, { tenant })
  return call ? runtime.explain({ tenant, session, principal, tool, input: call.input }) : null
}

async function earlierDecisions(runtime: Runtime, item: InboxItem): Promise<Earlier[]> {
  const { tenant, tool } = item
  const { calls } = await runtime.calls.recent({ tenant, tool, limit: maxCalls })
  const decided: Earlier[] = []
  for (const { uid } of calls) {
    if (decided.length === maxEarlier) break
    const call = uid === item.call ? undefined : await runtime.calls.get(uid, { tenant, redacted: true })
    if (call) decided.push(...decisionOf(call))
  }
  return decided
}

function decisionOf({ uid, session, input, waits, outcome }: RuntimeCall): Earlier[] {
  const last: CallDetails['waits'][number] | undefined = waits.findLast(({ decision }) => decision !== undefined)
  if (!last?.decision) return []
  const { verb, votes } = last.decision
  return [{ call: uid, session, args: input, verb, votes: [...votes], status: outcome?.status ?? null }]
}
