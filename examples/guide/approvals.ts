// The code of docs/guide/approvals.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { connectionRequired, createRuntime, notice, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { z } from 'zod'

const clock = manualClock()
const paid: number[] = []

// #region ask
const refund = tool({
  name: 'refund',
  title: 'Refund an order',
  description: 'Sends money back to the customer',
  input: z.object({ order: z.string(), cents: z.number().int().positive() }),
  execute: ({ cents }) => {
    paid.push(cents)
    return { refunded: cents }
  },
})

const runtime = await createRuntime({
  store: 'memory:',
  tools: [refund],
  policy: {
    rules: [{ tool: 'refund', when: { cents: { gt: 2000 } }, then: 'ask', reason: 'Refunds over 20 need a yes.' }],
  },
  clock,
})
// #endregion

// #region waits
const session = runtime.session('chat-42', { tenant: 'acme', principal: 'user:ada' })
const calls = [
  { id: 'small', name: 'refund', input: { order: 'A1', cents: 500 } },
  { id: 'large', name: 'refund', input: { order: 'A2', cents: 4200 } },
]
const [small, large] = await session.run(calls, { batch: 'msg_1', until: 'waiting' })
assert.equal(small?.status, 'success') // it needs nobody, and waits for nobody
assert.equal(large?.status === 'waiting' && large.for, 'approval')
// #endregion

// #region decide
const [item] = await runtime.inbox({ tenant: 'acme' })
assert.equal(item?.preview.summary, 'Refund an order: order "A2", cents 4200.')
assert.equal(item.reason, 'Refunds over 20 need a yes.')
assert.deepEqual(item.args, { order: 'A2', cents: 4200 }) // exactly what would run

await runtime.decide(item.id, { approve: true, by: 'user:bea' })
const [, done] = await session.run(calls, { batch: 'msg_1' }) // the same batch again joins it
assert.deepEqual(done?.status === 'success' && done.value, { refunded: 4200 })
// #endregion

const next = async (id: string, cents: number): Promise<string> => {
  await session.run([{ id, name: 'refund', input: { order: 'A3', cents } }], { until: 'waiting' })
  const items = await runtime.inbox({ tenant: 'acme', session: 'chat-42' })
  return items.at(-1)?.id as string
}

const a = await next('a', 9000)
const b = await next('b', 9100)
const c = await next('c', 9200)
// #region words
await runtime.decide(a, { deny: true, reason: 'Offer a voucher first', by: 'user:bea' }) // the model reads the reason
await runtime.decide(b, { edit: { order: 'A3', cents: 3000 }, by: 'user:bea' }) // runs with these, and the model is told
await runtime.decide(c, { answer: { refunded: 0 }, reason: 'Already done by hand', by: 'user:bea' }) // runs nothing
// #endregion
const all = await session.run(
  ['a', 'b', 'c'].map((id, index) => ({ id, name: 'refund', input: { order: 'A3', cents: 9000 + index * 100 } })),
)
const texts = all.map(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
// #region told
assert.match(texts[0] ?? '', /A person denied this call: Offer a voucher first\. It was not run\./)
assert.match(
  texts[1] ?? '',
  /^\[A person changed the arguments of this call before it ran\. It ran with: {"order":"A3","cents":3000}\]/,
)
assert.match(texts[2] ?? '', /^\[A person answered instead of this tool, which was not run: Already done by hand\]/)
// #endregion
assert.deepEqual(paid, [500, 4200, 3000])

const d = await next('d', 2500)
// #region remember
const decided = await runtime.decide(d, {
  approve: true,
  by: 'user:bea',
  remember: { scope: 'session', when: { cents: { lte: 3000 } }, for: '2h' },
})
assert.equal(decided.answer === 'accepted' && decided.status, 'approved')
const [again] = await session.run([{ id: 'e', name: 'refund', input: { order: 'A4', cents: 2600 } }])
assert.equal(again?.status, 'success') // nobody was asked

const [rule] = await runtime.rules.list({ tenant: 'acme' })
assert.ok(rule)
await runtime.rules.revoke(rule.id, { tenant: 'acme', by: 'user:bea' })
// #endregion
await runtime.close()

// #region quorum
const strict = await createRuntime({
  store: 'memory:',
  tools: [refund],
  policy: {
    rules: [
      { tool: 'refund', when: { cents: { gt: 2000 } }, then: 'ask' },
      {
        tool: 'refund',
        when: { cents: { gt: 100_000 } },
        then: 'ask',
        quorum: 2,
        approvers: 'user:*',
        separate: true,
        expires: '1d',
      },
      { tool: 'refund', when: { cents: { gt: 1_000_000 } }, then: 'deny', reason: 'Nobody refunds that much here.' },
    ],
  },
})
const why = await strict.explain({ tool: 'refund', input: { order: 'A5', cents: 2_000_000 }, session: 's' })
assert.equal(why.would, 'be denied')
assert.match(why.why, /^Rule 2 of layer 0 decides: deny\./)
// #endregion

const house = { id: 'house', name: 'refund', input: { order: 'A6', cents: 500_000 } }
const two = strict.session('s', { principal: 'user:ada' })
await two.run([house], { until: 'waiting' })
const [big] = await strict.inbox()
assert.ok(big)
// #region votes
assert.equal((await strict.decide(big.id, { approve: true, by: 'user:ada' })).answer, 'refused') // she asked for it
const first = await strict.decide(big.id, { approve: true, by: 'user:bea' })
assert.equal(first.answer === 'accepted' && first.status, 'pending')
const second = await strict.decide(big.id, { approve: true, by: 'user:cem' })
assert.equal(second.answer === 'accepted' && second.status, 'approved')
assert.equal((await strict.decide(big.id, { deny: true, by: 'user:dan' })).answer, 'already_decided')
// #endregion
await two.run([house])
await strict.close()

// #region preview
const move = tool({
  name: 'move_file',
  description: 'Moves a file',
  input: z.object({ from: z.string(), to: z.string() }),
  approval: ({ to }) => to.startsWith('/shared/'), // whether a person is asked
  preview: ({ from, to }) => ({ summary: `Move ${from} to ${to}`, details: `- ${from}\n+ ${to}`, format: 'diff' }),
  execute: () => 'moved',
})
// #endregion

// #region question
const book = tool({
  name: 'book_table',
  description: 'Books a table',
  input: z.object({ people: z.number() }),
  onCrash: 'rerun', // it waits inside
  async execute({ people }, ctx) {
    const asked = await ctx.ask({
      text: 'Inside or outside?',
      choices: ['inside', 'outside'],
      default: 'inside',
      deadline: '10m',
    })
    const { answer, by } = await asked.value
    return `${people} seats ${answer as string}, chosen by ${by ?? 'nobody'}`
  },
})
// #endregion

// #region connection
const issues = tool({
  name: 'list_issues',
  description: 'Lists issues',
  input: z.object({}),
  async execute(_, ctx) {
    const github = await ctx.connection('github')
    if (!github) return connectionRequired('github', { message: 'Connect GitHub to list your issues.' })
    return ['#1', '#2'] // asked with github.token, which no argument, result, feed or model ever sees
  },
})
// #endregion

// #region client
const locate = tool({
  name: 'locate',
  description: 'Where the user is',
  input: z.object({}),
  output: z.object({ city: z.string() }),
  client: true, // the caller runs it
})
// #endregion

const desk = await createRuntime({ store: 'memory:', tools: [move, book, issues, locate], clock })
const talk = desk.session('talk', { principal: 'user:ada' })
const booked = talk.run([{ id: 'q', name: 'book_table', input: { people: 2 } }])
const listed = talk.run([{ id: 'l', name: 'list_issues' }])
await talk.run([{ id: 'l', name: 'list_issues' }], { until: 'waiting' })
await clock.advance('1s')
const question = (await desk.inbox({ kind: 'question' }))[0]
assert.ok(question)
// #region answers
await desk.decide(question.id, { answer: 'outside', by: 'user:ada' })
await desk.connections.set({ provider: 'github', principal: 'user:ada' }, { token: 'a token', by: 'user:ada' })
const [handed] = await talk.run([{ id: 'where', name: 'locate' }], { until: 'waiting' })
assert.equal(handed?.status === 'waiting' && handed.for, 'client')
await talk.answer('where', { value: { city: 'Ghent' } })
// #endregion
const [table] = await booked
assert.equal(table?.status === 'success' && table.value, '2 seats outside, chosen by user:ada')
assert.equal((await listed)[0]?.status, 'success')

// #region superseded
const pending = { id: 'm', name: 'move_file', input: { from: '/a', to: '/shared/a' } }
const [open] = await talk.run([pending], { batch: 'msg_9', until: 'waiting' })
assert.ok(open?.status === 'waiting')
const placeholder = open.parts // the result of the call for now; the user may say something else

const [moving] = await desk.inbox({ kind: 'approval' })
assert.ok(moving)
await desk.decide(moving.id, { approve: true, by: 'user:bea' })
const [moved] = await talk.run([pending], { batch: 'msg_9' })
assert.ok(moved)
const later = notice(moved) // the model reads it later, marked as nobody's words
// #endregion
assert.match(JSON.stringify(placeholder), /Tool call waiting/)
assert.match(JSON.stringify(later), /Runtime notice/)
await desk.close()
