// Requests to people and to the client: approvals, questions, connections, unknown outcomes, client tools.

import { connectionRequired, type InboxDecision, type Runtime, type RuntimeOptions, type Tool } from 'pawl'
import type { Scenario, World } from '../scenario.ts'
import { batch, bodiless, calls, dieInCalls, never, work } from './kit.ts'

const approved = work((input) => ({ ran: input }), {
  approval: 'always',
  preview: () => ({ summary: 'Pays 5 €', details: '- 5\n+ 0', format: 'diff' }),
})
const asked = [{ id: 'a', name: 'work', input: { n: 1 } }]

/** Runs the call until it needs a decision, then makes these decisions. */
const decided =
  (
    decisions: readonly InboxDecision[],
    tools: readonly Tool[] = [approved],
    options: Partial<RuntimeOptions> = {},
  ): Scenario =>
  async (world) => {
    const runtime = await world.run(tools, options)
    const session = runtime.session('s', { principal: 'user:ada' })
    const running = session.run(asked, batch)
    await world.advance('1s')
    const answers = await decide(world, runtime, decisions)
    return { answers, outcomes: await world.outcome(running) }
  }

async function decide(world: World, runtime: Runtime, decisions: readonly InboxDecision[]): Promise<unknown[]> {
  const [item] = await runtime.inbox()
  const answers: unknown[] = [item]
  for (const decision of decisions) {
    answers.push(await runtime.decide(item?.id ?? '', decision))
    await world.advance('1s')
  }
  return answers
}

const asks = (more: object): Tool =>
  work(async (_, ctx) => (await ctx.ask({ text: 'Which size?', deadline: '1h', ...more })).value, { onCrash: 'rerun' })

const connects = work(
  async (_, ctx) => {
    const connection = await ctx.connection('github')
    return connection === null ? connectionRequired('github') : `with ${connection.token.length} characters`
  },
  { onCrash: 'rerun' },
)

export const people: Readonly<Record<string, Scenario>> = {
  'an approval is given': decided([{ approve: true, by: 'user:bea', reason: 'Looks right' }]),
  'an approval is announced, again after a failure, until it is decided': async (world) => {
    const announced: unknown[] = []
    const runtime = await world.run([approved], {
      announce(announcement) {
        announced.push(announcement)
        throw new Error('no network')
      },
    })
    const running = runtime.session('s', { principal: 'user:ada' }).run(asked, batch)
    await world.advance('3s')
    const answers = await decide(world, runtime, [{ approve: true, by: 'user:bea' }])
    await world.advance('1m')
    return { announced, answers, outcomes: await world.outcome(running) }
  },
  'an approval is denied': decided([{ deny: true, by: 'user:bea', reason: 'Too much' }]),
  'an approval with other arguments': decided([{ approve: true, edit: { n: 2 }, by: 'user:bea' }]),
  'changed arguments go through hooks and prepare again': decided(
    [{ approve: true, edit: { n: 2 }, by: 'user:bea' }],
    [
      work((input) => input, {
        approval: 'always',
        prepare: (input) => ({ input: { ...(input as object), prepared: true } }),
      }),
    ],
    { hooks: [{ name: 'guard', before: ({ input }) => ({ replace: { ...(input as object), seen: true } }) }] },
  ),
  'an approval expires': decided([], [approved], { policy: { approvals: { expires: '10m' } } }),
  'an approval is decided twice': decided([
    { approve: true, by: 'user:bea' },
    { deny: true, by: 'user:cem' },
  ]),
  'an approval takes two people, and one who may not': decided(
    [
      { approve: true, by: 'user:ada' },
      { approve: true, by: 'user:bea' },
      { approve: true, by: 'user:bea' },
      { approve: true, by: 'user:cem' },
    ],
    [work((input) => input)],
    {
      policy: {
        rules: [{ tool: 'work', then: 'ask', quorum: 2, approvers: ['user:*'], separate: true, reason: 'Large order' }],
      },
    },
  ),
  'an approval is remembered, used and revoked': async (world) => {
    const runtime = await world.run([approved])
    const session = runtime.session('s', { principal: 'user:ada' })
    const first = session.run(asked, { batch: 'b1' })
    await world.advance('1s')
    const [item] = await runtime.inbox()
    await runtime.decide(item?.id ?? '', {
      approve: true,
      by: 'user:bea',
      remember: { scope: 'session', when: { n: 1 }, for: '1h' },
    })
    await world.outcome(first)
    await world.outcome(session.run(asked, { batch: 'b2' }))
    const [rule] = await runtime.rules.list({ tenant: 'default', session: 's' })
    await runtime.rules.revoke(rule?.id ?? '', { by: 'user:bea', tenant: 'default', reason: 'Enough' })
    const third = session.run(asked, { batch: 'b3' })
    await world.advance('1s')
    await session.supersede('The user wrote again', 'user:ada')
    return { rule, outcomes: await world.outcome(third) }
  },
  'a denial is remembered for the tenant': async (world) => {
    const runtime = await world.run([approved])
    const first = runtime.session('s').run(asked, batch)
    await world.advance('1s')
    const [item] = await runtime.inbox()
    await runtime.decide(item?.id ?? '', { deny: true, by: 'user:bea', remember: { scope: 'tenant' } })
    await world.outcome(first)
    return world.outcome(runtime.session('other').run(asked, batch))
  },
  'a call is cancelled while it asks for approval': async (world) => {
    const runtime = await world.run([approved])
    const running = runtime.session('s').run(asked, batch)
    await world.advance('1s')
    await runtime.session('s').cancel('No longer needed', 'user:ada')
    return world.outcome(running)
  },
  'a worker dies while an approval is open, and another one goes on': async (world) => {
    const first = await world.open({ tools: [approved] })
    await first.runtime.session('s').run(asked, { ...batch, until: 'waiting' })
    first.die()
    const runtime = await world.run([approved])
    await world.advance('31s')
    const [item] = await runtime.inbox()
    await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
    return world.outcome(runtime.session('s').run(asked, batch))
  },
  'a question is answered': decided([{ answer: 'L', by: 'user:bea' }], [asks({})]),
  'a question with choices gets an answer that is none of them': decided(
    [
      { answer: 'XL', by: 'user:bea' },
      { answer: ['S', 'M'], by: 'user:bea' },
    ],
    [asks({ choices: ['S', 'M', 'L'], several: true })],
  ),
  'a question is declined': decided([{ deny: true, by: 'user:bea' }], [asks({})]),
  'nobody answers a question that has a default': decided([], [asks({ default: 'M' })]),
  'a secret is asked for': decided(
    [{ answer: 'hunter2-hunter2', by: 'user:bea' }],
    [
      work(
        async (_, ctx) =>
          JSON.stringify((await (await ctx.ask({ text: 'Password?', secret: true })).value).answer).length,
        {
          onCrash: 'rerun',
        },
      ),
    ],
  ),
  'a call parks on a question': decided(
    [{ answer: 'tomorrow', by: 'user:bea' }],
    [work((_, ctx) => ctx.ask({ text: 'When?', name: 'when' }))],
  ),
  'a connection is made while a call waits for it': async (world) => {
    const runtime = await world.run([connects])
    const running = runtime.session('s', { principal: 'user:ada' }).run(asked, batch)
    await world.advance('1s')
    const [item] = await runtime.inbox()
    const of = { provider: 'github', principal: 'user:ada' }
    const resumed = await runtime.connections.set(of, { token: 'ghp_0123456789', by: 'user:ada' })
    const outcomes = await world.outcome(running)
    return {
      item,
      resumed,
      outcomes,
      listed: await runtime.connections.list(),
      removed: await runtime.connections.remove(of),
    }
  },
  'a person refuses to connect': decided([{ deny: true, by: 'user:ada' }], [connects]),
  'nobody knows what an attempt did, and a person says that it ran': async (world) =>
    unknown(world, { answer: 'It was paid', by: 'user:bea' }),
  'nobody knows what an attempt did, and a person lets it run again': async (world) =>
    unknown(world, { approve: true, by: 'user:bea' }),
  'nobody knows what an attempt did, and a person leaves it': async (world) =>
    unknown(world, { deny: true, by: 'user:bea' }),
  'a client tool is answered by the caller': async (world) => {
    const runtime = await world.run([bodiless({ client: true, output: { type: 'string' } })])
    const session = runtime.session('s')
    const running = session.run(asked, batch)
    await world.advance('1s')
    const handed = await session.pendingClientCalls()
    const refused = await session.answer('a', { value: 7 })
    const taken = await session.answer('a', { value: 'seven' })
    return { handed, refused, taken, outcomes: await world.outcome(running) }
  },
  'a client tool fails at the caller': async (world) => {
    const runtime = await world.run([bodiless({ client: true })])
    const running = runtime.session('s').run(asked, batch)
    await world.advance('1s')
    await runtime.session('s').answer('a', { failure: { code: 'no_camera', message: 'There is no camera' } })
    return world.outcome(running)
  },
  'the caller of a client tool is silent': async (world) => {
    const runtime = await world.run([bodiless({ client: true, timeout: '30s' })])
    return world.outcome(runtime.session('s').run(asked, batch))
  },
}

/** A worker dies in a body that must not run twice, and a person resolves the unknown outcome. */
async function unknown(world: World, decision: InboxDecision): Promise<unknown> {
  const tools = [work((_, ctx) => (ctx.attempt === 1 ? never() : 'paid again'), { onUnknown: 'ask' })]
  await dieInCalls(world, tools)
  const runtime = await world.run(tools)
  await world.advance('31s')
  const answers = await decide(world, runtime, [decision])
  return { answers, outcomes: await world.outcome(runtime.session('s').run(calls, batch)) }
}
