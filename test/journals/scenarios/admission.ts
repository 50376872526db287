// From the requested call to its first attempt: tool resolution, hooks, arguments, prepare, policy, budgets.

import type { Hook, RuntimeOptions, Tool } from 'pawl'
import type { Scenario, World } from '../scenario.ts'
import { batch, calls, object, work } from './kit.ts'

const order = {
  type: 'object',
  properties: { n: { type: 'integer', minimum: 1 } },
  required: ['n'] as string[],
  additionalProperties: false,
}

/** Runs one batch on one worker with these tools. */
const once =
  (tools: readonly Tool[], asked: readonly object[] = calls, options: Partial<RuntimeOptions> = {}): Scenario =>
  async (world: World) => {
    const runtime = await world.run(tools, options)
    return world.outcome(runtime.session('s', { principal: 'user:ada' }).run(asked as typeof calls, batch))
  }
const hooked = (hook: Omit<Hook, 'name'>): Scenario =>
  once([work((input) => ({ got: input }), { input: order })], [{ id: 'a', name: 'work', input: { n: 1 } }], {
    hooks: [{ name: 'guard', ...hook }],
  })

export const admission: Readonly<Record<string, Scenario>> = {
  'a tool that does not exist': once([work(() => 1)], [{ id: 'a', name: 'wrok', input: {} }]),
  'the before hook denies': hooked({ before: () => ({ deny: 'Not on Sundays' }) }),
  'the before hook answers': hooked({ before: () => ({ answer: { cached: true } }) }),
  'the before hook replaces the arguments': hooked({ before: () => ({ replace: { n: 2 } }) }),
  'the before hook aborts the turn': hooked({ before: () => ({ abort: 'Stop here' }) }),
  'the before hook throws': hooked({
    before: () => {
      throw new Error('broken hook')
    },
  }),
  'the after hook replaces the outcome': hooked({
    after: () => ({ replace: { status: 'success', value: 'replaced' } }),
  }),
  'the after hook aborts the turn': hooked({ after: () => ({ abort: 'Seen enough' }) }),
  'invalid arguments': once([work(() => 1, { input: order })], [{ id: 'a', name: 'work', input: { n: 0, m: 1 } }]),
  'argument text that is not JSON': once(
    [work(() => 1, { input: order })],
    [{ id: 'a', name: 'work', input: '{"n": 1' }],
  ),
  'argument text is repaired': once(
    [work((input) => input, { input: order, repair: (raw: string) => JSON.parse(`${raw}}`) as unknown })],
    [{ id: 'a', name: 'work', input: '{"n": 1' }],
  ),
  'prepare answers': once([work(() => 1, { prepare: () => ({ answer: 'prepared' }) })]),
  'prepare changes the arguments and hands a payload on': once(
    [
      work((input, ctx) => ({ input, prepared: ctx.prepared }), {
        input: order,
        prepare: () => ({ input: { n: 7 }, payload: { token: 'p' } }),
      }),
    ],
    [{ id: 'a', name: 'work', input: { n: 1 } }],
  ),
  'prepare fails': once([
    work(() => 1, {
      prepare: () => {
        throw new Error('cannot prepare')
      },
    }),
  ]),
  'the policy denies': once([work(() => 1)], calls, {
    policy: { rules: [{ tool: 'work', then: 'deny', reason: 'Closed today' }] },
  }),
  'the policy of the session denies': async (world) => {
    const runtime = await world.run([work(() => 1)])
    const session = runtime.session('s', { policy: { rules: [{ tool: 'work', then: 'deny' }] } })
    await world.outcome(session.run(calls, batch))
  },
  'nobody is there to approve': async (world) => {
    const runtime = await world.run([work(() => 1, { approval: 'always' })])
    await world.outcome(runtime.session('s', { attended: false }).run(calls, batch))
  },
  'budgets of session and turn': async (world) => {
    const runtime = await world.run([work(() => 'same')], {
      budgets: { session: { calls: 3 }, turn: { repeats: 1 }, tenant: { calls: 100, per: '1d' } },
    })
    const session = runtime.session('s')
    for (const [index, n] of [1, 1, 2, 3].entries())
      await world.outcome(session.run([{ id: 'a', name: 'work', input: { n } }], { batch: `b${index}`, turn: 't' }))
  },
  'a budget of invalid arguments': async (world) => {
    const runtime = await world.run([work(() => 'same', { input: order })], { budgets: { session: { invalid: 1 } } })
    for (const name of ['b1', 'b2'])
      await world.outcome(runtime.session('s').run([{ id: 'a', name: 'work', input: {} }], { batch: name }))
  },
  'a call is asked for again with other arguments': async (world) => {
    const runtime = await world.run([work((input) => input)])
    await world.outcome(runtime.session('s').run([{ id: 'a', name: 'work', input: { n: 1 } }], batch))
    return await world
      .outcome(runtime.session('s').run([{ id: 'a', name: 'work', input: { n: 2 } }], batch))
      .catch(String)
  },
  'an idempotency key names the place, and meta comes back': once(
    [work((input) => input)],
    [{ id: 'a', name: 'work', input: { n: 1 }, idempotencyKey: 'order-7', meta: { trace: 1 }, timeout: '5s' }],
  ),
  'a sensitive tool is sealed': once(
    [work((input) => ({ pin: input.pin }), { sensitive: true, input: object })],
    [{ id: 'a', name: 'work', input: { pin: '1234' } }],
  ),
  'encrypt seals all calls': once([work((_, ctx) => ctx.step('s', () => 1), { onCrash: 'rerun' })], calls, {
    encrypt: true,
  }),
}
