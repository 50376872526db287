// Invariants of the record of a session after all work has ended.

import type { Message, StoredMessage } from 'pawl'
import { callsIn, textOf } from '../../../src/models/message.ts'
import { problemsIn } from '../../kit/models/conversation-rules.ts'
import { conversationOf } from '../../models/conversation-of.ts'
import type { RandomWorld, Worker } from './random-session.ts'
import { collections } from '../../../src/store/collections.ts'

export async function lawsOf(world: RandomWorld, { runtime }: Worker, session: string): Promise<void> {
  const messages = await runtime.session(session).messages.list({ limit: 1_000 })
  const wrong = (law: string): void => world.breaks(`${law} (${session})`)
  if (messages.some(({ number }, index) => number !== index + 1)) wrong('SESS-1 the numbers of messages have gaps')
  oneAtATime(messages, wrong)
  inTheirOrder(world, session, messages, wrong)
  resultsFollow(messages, wrong)
  saidOnce(world, session, messages, wrong)
  toldOnce(messages, wrong)
  await summedUpWhole(world, session, messages, wrong)
  answersKept(world, session, messages, wrong)
  if (messages.length > 0)
    for (const problem of problemsIn(conversationOf(messages.map(({ message }) => message))))
      if (problem !== 'the last message is of the model') wrong(`SESS-3 of the whole: ${problem}`)
  for (const { text } of await runtime.session(session).messages.waiting()) wrong(`SESS-4 unread message: ${text}`)
  const owed = await world.store.documentsOf({
    of: collections.resultOwed.of,
    tenant: 'default',
    session,
    after: '',
    limit: 5,
  })
  for (const { value } of owed) wrong(`POL-7 result not reported: ${value}`)
  if ((await runtime.session(session).notices.list()).length > 0) wrong('TASK-9 notices are left')
}

type Wrong = (law: string) => void

/** Messages of a turn are contiguous. */
function oneAtATime(messages: readonly StoredMessage[], wrong: Wrong): void {
  const over = new Set<string | null>()
  let open: string | null | undefined
  for (const { turn, number } of messages) {
    if (turn === open) continue
    if (over.has(turn)) wrong(`SESS-4 message ${number} is of ${turn}, which was over`)
    over.add(open ?? null)
    open = turn
  }
}

/** Turns start in the order of their requests, unless recording a request was delayed. */
function inTheirOrder(world: RandomWorld, session: string, messages: readonly StoredMessage[], wrong: Wrong): void {
  const asked = world.turns.filter((each) => each.session === session)
  /** The worker died when the turn was requested: it may be recorded after others, and the caller got no answer. */
  const isLost = (at: number): boolean => asked[at]?.askedAt === asked[at]?.worker.diedAt
  if (world.workers.some(({ awayUntil }) => awayUntil > 0)) return
  const began = [...new Set(messages.map(({ turn }) => turn))]
    .map((id) => asked.findIndex((each) => each.id === id))
    .filter((at) => !isLost(at))
  if (began.some((at, index) => at < (began[index - 1] ?? 0))) wrong(`SESS-4 turns began in the order ${began.join()}`)
}

function resultsFollow(messages: readonly StoredMessage[], wrong: Wrong): void {
  for (const [index, { number, message }] of messages.entries()) {
    const next = messages[index + 1]?.message
    const asked = message.role === 'assistant' ? callsIn(message).map(({ id }) => id) : []
    const told = next?.role === 'tool' ? next.results.map(({ callId }) => callId) : []
    if (asked.join() !== told.join()) wrong(`SESS-3 calls of ${number} are [${asked.join()}], results [${told.join()}]`)
  }
}

/** Each user message is recorded once; the message of a turn that never started is not recorded. */
function saidOnce(world: RandomWorld, session: string, messages: readonly StoredMessage[], wrong: Wrong): void {
  const users = messages.filter(({ message }) => message.role === 'user').map(({ message }) => textOf(message))
  const times = (text: string): number => users.filter((said) => said === text).length
  for (const { text } of world.sent.filter((each) => each.session === session))
    if (times(text) !== 1) wrong(`SESS-4 '${text.slice(0, 12)}' was read ${times(text)} times`)
  for (const { id, given } of world.turns.filter((each) => each.session === session)) {
    const began = messages.some(({ turn }) => turn === id)
    const { message } = given
    if (typeof message === 'string' && times(message) !== (began ? 1 : 0))
      wrong(`SESS-1 what ${id} began with is there ${times(message)} times`)
  }
}

/** Each placeholder has exactly one notice. */
function toldOnce(messages: readonly StoredMessage[], wrong: Wrong): void {
  const results = messages.flatMap(({ message }) => (message.role === 'tool' ? message.results : []))
  const open = results.filter(({ status }) => status === 'waiting' || status === 'running').map(({ callId }) => callId)
  // A notice uses the call id that the model sees, which has a number suffix if the id was used before.
  const told = messages
    .flatMap(({ message }) => noticed(message))
    .map((id) => (open.includes(id) ? id : id.replace(/-\d+$/, '')))
  if (open.toSorted().join() !== told.toSorted().join())
    wrong(`POL-7 placeholders stand for [${open.join()}], told was of [${told.join()}]`)
}

const noticed = (message: Message): string[] => {
  const [, id] =
    message.role === 'notice'
      ? (/The call ("[^"]*") of '[^']*' that was waiting has ended/.exec(textOf(message)) ?? [])
      : []
  return id === undefined ? [] : [JSON.parse(id) as string]
}

/** A summary never separates a call from its results. */
async function summedUpWhole(
  world: RandomWorld,
  session: string,
  messages: readonly StoredMessage[],
  wrong: Wrong,
): Promise<void> {
  const rows = await world.store.documentsOf({ of: 'message', tenant: 'default', session, after: '', limit: 1_000 })
  for (const { value } of rows) {
    const { upTo, number } = JSON.parse(value) as { upTo?: number; number: number }
    const last = upTo === undefined ? undefined : messages[upTo - 1]?.message
    if (last?.role === 'assistant' && callsIn(last).length > 0)
      wrong(`SESS-10 summary ${number} parts the calls of ${upTo} from their results`)
  }
}

/** Each answer is recorded once; it may be missing only if its worker died or its turn was aborted. */
function answersKept(world: RandomWorld, session: string, messages: readonly StoredMessage[], wrong: Wrong): void {
  const kept = messages.flatMap(({ message }) => {
    const [part] = message.role === 'assistant' ? message.parts : []
    return part ? [(part.meta as { answer: number }).answer] : []
  })
  if (new Set(kept).size !== kept.length) wrong(`SESS-1 answers are on record twice: ${kept.join()}`)
  for (const { number, worker, signal } of world.given.filter((each) => each.session === session))
    if (!kept.includes(number) && !worker.dead && worker.awayUntil === 0 && !signal.aborted && !world.empty.has(number))
      wrong(`SESS-1 answer ${number} is not on record`)
}
