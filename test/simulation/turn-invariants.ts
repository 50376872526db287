// Invariants of turns and agents in a simulated history: an answer is paid once, every call of an answer has one result,
// one turn at a time in a session, and nothing is left open.

import type { ModelRequest } from 'pawl'
import type { Message } from '../../src/models/message.ts'
import { callsIn, textOf } from '../../src/models/message.ts'
import { isTurn } from '../../src/store/records/conversation.ts'
import type { Change, Committed, Store } from '../../src/store/store.ts'
import { problemsIn } from '../kit/models/conversation-rules.ts'
import type { SentMessage } from './random-turns.ts'
import type { World } from './simulated-world.ts'

const tenant = 'default'

interface Stored {
  readonly number: number
  readonly turn: string | null
  readonly message: Message
}

export class TurnLaws {
  /** Sessions with turns, those of agents included. */
  readonly sessions = new Set<string>()
  readonly #world: World
  readonly #wrong: (what: string) => void
  readonly #recorded = new Map<string, string>()
  #asks = 0

  constructor(world: World, wrong: (what: string) => void) {
    this.#world = world
    this.#wrong = wrong
  }

  get asks(): number {
    return this.#asks
  }

  /** A model is asked for the answer `step` of a plan. Returns the number of the answer. */
  asked(worker: string, plan: string, step: number, { messages }: ModelRequest): number {
    const number = ++this.#asks
    this.#world.note(worker, `asks the model for ${plan}/${step} as answer ${number}`)
    const before = this.#recorded.get(`${plan}/${step}`)
    if (before !== undefined) this.#wrong(`SESS-1 ${worker} asked for ${plan}/${step}, which is recorded as ${before}`)
    for (const problem of problemsIn(messages)) this.#wrong(`SESS-3 request ${number}: ${problem}`)
    return number
  }

  written({ insertCall, documents = [] }: Change, answer: Committed): void {
    if (!answer.ok) return
    if (insertCall && isTurn(insertCall)) this.sessions.add(insertCall.position.session)
    for (const { of, value } of documents) {
      const [, number, about] =
        of === 'message' && value?.includes('"role":"assistant"')
          ? (/answer (\d+) to (\w+\/\d+)/.exec(value) ?? [])
          : []
      if (number === undefined || about === undefined) continue
      const before = this.#recorded.get(about)
      if (before !== undefined) this.#wrong(`SESS-1 ${about} was recorded as ${before} and as ${number}`)
      this.#recorded.set(about, number)
    }
  }

  async checkEnd(store: Store, sent: readonly SentMessage[]): Promise<void> {
    for (const session of this.sessions) {
      const of = { tenant, session }
      const rows = await store.documentsOf({ of: 'message', ...of, after: '', limit: 1_000 })
      const messages = rows.map(({ value }) => JSON.parse(value) as Stored)
      this.#oneTurnAtATime(session, messages)
      this.#oneResultPerCall(session, messages)
      for (const { id } of sent.filter((each) => each.session === session)) {
        const times = messages.filter(({ message }) => textOf(message).includes(`said ${id}.`)).length
        if (times !== 1) this.#wrong(`SESS-4 ${id} was read ${times} times in ${session}`)
      }
      const head = await store.document({ of: 'conversation', ...of, key: '' })
      if (head && !head.value.includes('"turn":null')) this.#wrong(`SESS-4 ${session} is still claimed: ${head.value}`)
      // No turn follows in the session of an agent, so results may stay pending there.
      if (session !== 's1' && session !== 's2') continue
      for (const pending of ['result-owed', 'message-sent'])
        for (const { value } of await store.documentsOf({ of: pending, ...of, after: '', limit: 10 }))
          this.#wrong(`POL-7 ${session} has pending input: ${value}`)
    }
  }

  #oneTurnAtATime(session: string, messages: readonly Stored[]): void {
    const over = new Set<string | null>()
    let open: string | null = null
    for (const [index, { turn, number }] of messages.entries()) {
      if (number !== index + 1) this.#wrong(`SESS-1 message ${index + 1} of ${session} has the number ${number}`)
      if (turn === open) continue
      if (over.has(turn)) this.#wrong(`SESS-4 message ${number} of ${session} is of ${turn}, which was over`)
      over.add(open)
      open = turn
    }
  }

  #oneResultPerCall(session: string, messages: readonly Stored[]): void {
    for (const [index, { number, message }] of messages.entries()) {
      const next = messages[index + 1]?.message
      const called = message.role === 'assistant' ? callsIn(message).map(({ id }) => id) : []
      // The calls of a cancelled turn get their results when the next turn starts.
      if (next === undefined && called.length > 0) continue
      const results = next?.role === 'tool' ? next.results.map(({ callId }) => callId) : []
      if (called.join() !== results.join())
        this.#wrong(`SESS-3 message ${number} of ${session} calls [${called.join()}], results [${results.join()}]`)
    }
  }
}
