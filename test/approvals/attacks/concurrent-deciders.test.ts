// 100 concurrent deciders on two runtimes of one store: one decision wins, all deciders see the same result, and the
// body runs at most once and only if approved. The seed is printed; PAWL_SEED=<n> repeats it.

import { afterEach, describe, expect, test } from 'vitest'
import {
  createRuntime,
  type DecideAnswer,
  type InboxDecision,
  type InboxItem,
  type Runtime,
  type RuntimeOptions,
} from 'pawl'
import type { Store } from '../../../src/store/store.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { seed } from '../../kit/seeded-fast-check.ts'
import { seeded } from '../../kit/seeded-random.ts'
import { ask, inTime, ran, type Refund, refund, until } from './attack-interface.ts'
import { eachPlace, kinds, type Place } from './library-target.ts'

console.log(`PAWL_SEED=${seed}`)

const many = 100
const keys = { secret: 'a secret of both of the deciders’ runtimes' }
const verbs = ['approve', 'deny', 'edit', 'answer'] as const
type Verb = (typeof verbs)[number]
const statusOf = { approve: 'approved', deny: 'denied', edit: 'edited', answer: 'answered' } as const

/** Each edit and answer identifies its decider. */
const wordOf = (verb: Verb, n: number): InboxDecision => {
  const by = `user:${n}`
  if (verb === 'edit') return { edit: ran(1_000 + n), by }
  if (verb === 'answer') return { answer: { refunded: n }, by }
  return verb === 'approve' ? { approve: true, by } : { deny: true, by }
}

describe.each(kinds)('concurrent deciders on %s', { timeout: 60_000 }, (kind) => {
  let place: Place
  let both: Runtime[]
  let bodies: Refund[]
  eachPlace(kind, (opened) => {
    place = opened
    bodies = []
    both = []
  })
  afterEach(async () => {
    await Promise.all(both.map((runtime) => runtime.close({ grace: 0 })))
    await place.gone()
  })
  const start = async (options: Partial<RuntimeOptions> = {}): Promise<void> => {
    for (const store of [place.store, await place.another()]) {
      const tools = [refund({ ran: bodies })]
      both.push(
        await createRuntime({ store, tools, clock: place.clock, logger: quiet, lease: '30d', keys, ...options }),
      )
    }
  }
  const one = (n: number): Runtime => both[n % both.length] as Runtime
  const waiting = async (id: string): Promise<InboxItem> => {
    const chat = one(0).session('chat')
    await inTime(place.clock, chat.run([ask(4200, id)], { until: 'waiting' }))
    return (await one(1).inbox()).find(({ callId }) => callId === id) as InboxItem
  }
  const ended = async (id: string): Promise<{ status: string; attempts: number; value?: unknown }> => {
    const chat = one(0).session('chat')
    // A change by the other process is found by polling, so the clock must move.
    const [outcome] = await inTime(place.clock, chat.run([ask(4200, id)]))
    return outcome as never
  }

  /** The index of the winning decision; asserts that all other deciders got already_decided. */
  function winner(answers: readonly DecideAnswer[], words: readonly Verb[]): number {
    const won = answers.flatMap(({ answer }, n) => (answer === 'accepted' ? [n] : []))
    expect(won).toHaveLength(1)
    const [first] = won as [number]
    const status = statusOf[words[first] as Verb]
    for (const [n, answer] of answers.entries()) {
      if (n === first) expect(answer).toMatchObject({ status })
      else expect(answer).toMatchObject({ answer: 'already_decided', status, by: [{ by: `user:${first}` }] })
    }
    return first
  }

  test('POL-2: exactly one of 100 concurrent decisions wins, and its effect is the outcome', async () => {
    await start()
    const random = seeded(seed)
    for (let round = 0; round < 4; round++) {
      bodies.length = 0
      const { id } = await waiting(`c${round}`)
      const words = Array.from({ length: many }, () => verbs[Math.floor(random() * verbs.length)] as Verb)
      const answers = await Promise.all(words.map((verb, n) => one(n).decide(id, wordOf(verb, n))))
      const first = winner(answers, words)
      const verb = words[first] as Verb
      const outcome = await ended(`c${round}`)
      if (verb === 'deny') expect(outcome).toMatchObject({ status: 'failure', failure: { code: 'denied_by_person' } })
      else expect(outcome.status).toBe('success')
      if (verb === 'answer') expect(outcome).toMatchObject({ value: { refunded: first }, attempts: 0 })
      expect(bodies).toEqual(verb === 'approve' ? [ran(4200)] : verb === 'edit' ? [ran(1_000 + first)] : [])
      expect(await one(1).inbox()).toEqual([])
    }
  })

  test('POL-3: 100 concurrent votes with quorum 3 yield three distinct approvers or one denial', async () => {
    await start({ policy: { rules: [{ tool: 'refund', then: 'ask', quorum: 3 }] } })
    const random = seeded(seed + 1)
    for (let round = 0; round < 4; round++) {
      bodies.length = 0
      const { id } = await waiting(`q${round}`)
      // Only odd rounds contain denials. Every name votes twice.
      const words = Array.from({ length: many }, () => (round % 2 === 1 && random() < 0.1 ? 'deny' : 'approve') as Verb)
      const answers = await Promise.all(words.map((verb, n) => one(n).decide(id, wordOf(verb, n % (many / 2)))))
      const votes = answers.filter((answer) => answer.answer === 'accepted')
      const last = votes.filter(({ status }) => status !== 'pending')
      expect(last).toHaveLength(1)
      const status = last[0]?.status
      for (const answer of answers)
        if (answer.answer === 'already_decided') expect(answer.status).toBe(status)
        else if (answer.answer === 'refused') expect(answer.why).toBe('voted_already')
        else expect(answer.answer).toBe('accepted')
      expect(votes.length).toBe(status === 'approved' ? 3 : votes.length)
      expect(votes.length).toBeLessThanOrEqual(3)
      const outcome = await ended(`q${round}`)
      expect(outcome.status).toBe(status === 'approved' ? 'success' : 'failure')
      expect(bodies).toEqual(status === 'approved' ? [ran(4200)] : [])
      const said = (await place.store.events({ after: 0, limit: 10_000 })).filter(
        ({ type, body }) => type === 'decision.made' && body.wait === id,
      )
      const people = said.flatMap(({ body }) =>
        'by' in body && 'decision' in body && body.decision === 'approve' ? [body.by] : [],
      )
      expect(new Set(people).size).toBe(people.length)
    }
  })

  test('POL-2: when approve and deny race, both answers match the outcome', async () => {
    await start()
    const random = seeded(seed + 2)
    const rounds = kind === 'postgres' ? 40 : 100
    const won = { approved: 0, denied: 0 }
    for (let round = 0; round < rounds; round++) {
      bodies.length = 0
      const { id } = await waiting(`r${round}`)
      const words: Verb[] = random() < 0.5 ? ['approve', 'deny'] : ['deny', 'approve']
      const swap = Math.floor(random() * 2)
      const answers = await Promise.all(
        words.map(async (verb, n) => {
          // A random number of event loop turns separates the two decisions.
          for (let turns = Math.floor(random() * 3); turns > 0; turns--)
            await new Promise((resolve) => setImmediate(resolve))
          return one(n + swap).decide(id, wordOf(verb, n))
        }),
      )
      const verb = words[winner(answers, words)] as 'approve' | 'deny'
      won[statusOf[verb]]++
      expect((await ended(`r${round}`)).status).toBe(verb === 'approve' ? 'success' : 'failure')
      expect(bodies).toEqual(verb === 'approve' ? [ran(4200)] : [])
    }
    expect(Math.min(won.approved, won.denied), JSON.stringify(won)).toBeGreaterThan(0)
  })

  test('POL-2: when cancel and approve race, a rejected approval runs nothing', async () => {
    await start()
    const random = seeded(seed + 3)
    for (let round = 0; round < 30; round++) {
      bodies.length = 0
      const session = one(round).session(`s${round}`)
      await session.run([ask(4200, 'c')], { until: 'waiting' })
      const [item] = await one(round).inbox({ tenant: 'default', session: `s${round}` })
      const [decided] = await Promise.all([
        one(round + Math.floor(random() * 2)).decide((item as InboxItem).id, wordOf('approve', 1)),
        session.cancel('never mind'),
      ])
      const [outcome] = await inTime(place.clock, session.run([ask(4200, 'c')]))
      if (decided.answer !== 'accepted') {
        expect(decided).toMatchObject({ answer: 'already_decided', status: 'withdrawn' })
        expect(outcome?.status).toBe('cancelled')
        expect(bodies).toEqual([])
      }
      if (outcome?.status === 'success') expect(bodies).toEqual([ran(4200)])
      else expect(bodies.length).toBeLessThanOrEqual(1)
      expect(await one(0).inbox()).toEqual([])
    }
  })

  test('POL-3: when expiry and approve race, the call either expires or runs, never both', async () => {
    await start()
    for (let round = 0; round < 20; round++) {
      bodies.length = 0
      const { id, expiresAt } = await waiting(`d${round}`)
      await place.clock.advance(expiresAt - place.clock.now() - 1)
      const [decided] = await Promise.all([one(round).decide(id, wordOf('approve', 1)), place.clock.advance(1)])
      const outcome = await ended(`d${round}`)
      if (decided.answer === 'accepted') expect(outcome).toMatchObject({ status: 'success', attempts: 1 })
      else {
        expect(decided).toMatchObject({ answer: 'already_decided', status: 'expired' })
        expect(outcome).toMatchObject({ status: 'failure', failure: { code: 'approval_expired' } })
      }
      expect(bodies).toEqual(decided.answer === 'accepted' ? [ran(4200)] : [])
      expect(await one(1).inbox()).toEqual([])
    }
  })

  test('POL-2: a decider that read the wait before the call ended gets the actual decision', async () => {
    await start()
    const { id } = await waiting('slow')
    let [look, looked] = [(): void => {}, (): void => {}]
    const gate = new Promise<void>((resolve) => (look = resolve))
    const begun = new Promise<void>((resolve) => (looked = resolve))
    // It has read the open wait; its read of the call is delayed until the call has settled.
    const call: Store['call'] = async (uid) => {
      looked()
      await gate
      return place.store.call(uid)
    }
    const slow = { ...place.store, call }
    both.push(
      await createRuntime({
        store: slow,
        clock: place.clock,
        logger: quiet,
        keys,
        worker: false,
        tools: [refund({ ran: [] })],
      }),
    )
    const late = (both[2] as Runtime).decide(id, wordOf('deny', 2))
    await begun
    expect(await (both[0] as Runtime).decide(id, wordOf('approve', 1))).toMatchObject({ answer: 'accepted' })
    const chat = (both[0] as Runtime).session('chat')
    expect(await inTime(place.clock, chat.run([ask(4200, 'slow')]))).toMatchObject([{ status: 'success' }])
    look()
    expect(await late).toMatchObject({ answer: 'already_decided', status: 'approved', by: [{ by: 'user:1' }] })
    expect(bodies).toEqual([ran(4200)])
  })

  test('POL-2: an approval before the call has parked is accepted and runs it once', async () => {
    await start()
    for (let round = 0; round < 20; round++) {
      bodies.length = 0
      const run = one(0)
        .session('early')
        .run([ask(4200, `e${round}`)])
      let item: InboxItem | undefined
      await until(async () => ((item = (await one(1).inbox())[0]), item !== undefined))
      expect(await one(1).decide((item as InboxItem).id, wordOf('approve', 1))).toMatchObject({ answer: 'accepted' })
      expect(await inTime(place.clock, run)).toMatchObject([{ status: 'success', attempts: 1 }])
      expect(bodies).toEqual([ran(4200)])
    }
  })
})
