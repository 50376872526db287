// Worker deaths before and after each write of a call, and the recovery by the next worker.

import { retry, type Tool } from 'pawl'
import type { Death, Scenario } from '../scenario.ts'
import { batch, calls, dieInCalls, never, work } from './kit.ts'

const rerun = { onCrash: 'rerun', timeout: '10h' } as const

/** The first worker dies at this point; the second takes the call over when the lease has run out. */
const dies =
  (death: Death, tools: readonly Tool[], after?: readonly Tool[]): Scenario =>
  async (world) => {
    await dieInCalls(world, tools, death)
    const runtime = await world.run(after ?? tools)
    await world.advance('31s')
    return world.outcome(runtime.session('s').run(calls, batch))
  }
/** The worker dies while its body runs and all its effects are recorded. */
const inBody: Death = {}

const plain = work((_, ctx) => ctx.attempt)
const again = work((_, ctx) => ctx.attempt, rerun)
const steps = work(
  async (_, ctx) => [
    await ctx.step('one', { n: 1 }, () => ctx.attempt),
    await ctx.step('two', () => ctx.attempt, { once: true }),
  ],
  rerun,
)
const hangsFirst = (more: object): Tool =>
  work((_, ctx) => (ctx.attempt === 1 ? never() : `attempt ${ctx.attempt}`), more)

export const recovery: Readonly<Record<string, Scenario>> = {
  'before the call is on record': dies({ event: 'call.received', when: 'before' }, [plain]),
  'when the call is on record': dies({ event: 'call.received', when: 'after' }, [plain]),
  'before the start is on record': dies({ event: 'call.started', when: 'before' }, [plain]),
  'after the start, of a tool that must not run twice': dies({ event: 'call.started', when: 'after' }, [plain]),
  'after the start, of a tool that may run again': dies({ event: 'call.started', when: 'after' }, [again]),
  'before the outcome is on record, of a tool that must not run twice': dies(
    { event: 'call.settled', when: 'before' },
    [plain],
  ),
  'before the outcome is on record, of a tool that may run again': dies({ event: 'call.settled', when: 'before' }, [
    again,
  ]),
  'when the outcome is on record': dies({ event: 'call.settled', when: 'after' }, [plain]),
  'before the first step is on record': dies({ event: 'step.done', when: 'before' }, [steps]),
  'after the first step': dies({ event: 'step.done', when: 'after' }, [steps]),
  'when a step that must not run twice has started': dies({ event: 'step.started', when: 'after' }, [steps]),
  'after the step that must not run twice': dies({ event: 'step.done', nth: 2, when: 'after' }, [steps]),
  'before a failed step is on record': dies({ event: 'step.failed', when: 'before' }, [
    work(async (_, ctx) => {
      const caught = await ctx
        .step('bad', () => Promise.reject(new Error('no')))
        .catch((error: { code: string }) => error.code)
      return ctx.step('good', () => caught)
    }, rerun),
  ]),
  'during a sleep': dies(inBody, [
    work(async (_, ctx) => {
      await ctx.sleep('100s')
      return [await ctx.now(), ctx.random(), ctx.uuid()]
    }, rerun),
  ]),
  'during the delay of a retry': dies(inBody, [
    work((_, ctx) => {
      if (ctx.attempt === 1) throw retry({ after: '50s' })
      return ctx.attempt
    }, rerun),
  ]),
  'the tool looks up what the attempt did': dies(inBody, [hangsFirst({ reconcile: () => ({ value: 'found' }) })]),
  'the tool finds that the attempt failed': dies(inBody, [
    hangsFirst({ reconcile: () => ({ failure: { message: 'It was declined', code: 'declined' } }) }),
  ]),
  'the tool lets the attempt be made again': dies(inBody, [hangsFirst({ reconcile: () => ({ rerun: true }) })]),
  'the tool cannot find out what the attempt did': dies(inBody, [
    hangsFirst({ reconcile: () => Promise.reject(new Error('no')) }),
  ]),
  'the input of a recorded step has changed': dies(
    inBody,
    [work(async (_, ctx) => (await ctx.step('charge', { cents: 1 }, () => 1), never()), rerun)],
    [work((_, ctx) => ctx.step('charge', { cents: 2 }, () => 1), rerun)],
  ),
  'the arguments are upgraded to a new version': dies(
    inBody,
    [work(never, { ...rerun, version: '1' })],
    [work((input) => input, { ...rerun, version: '2', upgrade: () => ({ upgraded: true }) })],
  ),
  'a new version cannot upgrade the arguments': dies(
    inBody,
    [work(never, { ...rerun, version: '1' })],
    [work((input) => input, { ...rerun, version: '2' })],
  ),
  'a body that had made calls': dies({ event: 'call.settled', when: 'after' }, [
    work(
      async (_, ctx) =>
        (
          await ctx.run([
            { id: 'x', name: 'leaf' },
            { id: 'y', name: 'leaf' },
          ])
        ).map(({ status }) => status),
      {
        ...rerun,
        concurrency: 'parallel',
      },
    ),
    work((_, ctx) => ctx.callId, { name: 'leaf' }),
  ]),
  'an approved call with other arguments': async (world) => {
    const tools = [work((input, ctx) => (ctx.attempt === 1 ? never() : input), { ...rerun, approval: 'always' })]
    const first = await world.open({ tools })
    await first.runtime.session('s').run(calls, { ...batch, until: 'waiting' })
    const [item] = await first.runtime.inbox()
    await first.runtime.decide(item?.id ?? '', { approve: true, edit: { n: 2 }, by: 'user:bea' })
    await world.advance('1s')
    first.die()
    const runtime = await world.run(tools)
    await world.advance('31s')
    return world.outcome(runtime.session('s').run(calls, batch))
  },
  'three workers die over one call': async (world) => {
    const tools = [work(never, rerun)]
    for (let life = 0; life < 3; life++) {
      const worker = await world.open({ tools })
      if (life === 0) void worker.runtime.session('s').run(calls, batch)
      await world.advance('31s')
      worker.die()
      await world.advance('31s')
    }
    const runtime = await world.run(tools)
    await world.advance('31s')
    return world.outcome(runtime.session('s').run(calls, batch))
  },
  'a worker that lost its lease writes nothing when it comes back': async (world) => {
    let wake = (): void => {}
    const tools = (body: () => unknown): Tool[] => [work((_, ctx) => ctx.step('one', body as () => number), rerun)]
    let deaf = false
    const zombie = await world.open(
      { tools: tools(() => new Promise((resolve) => (wake = () => resolve('zombie')))) },
      { deaf: () => deaf },
    )
    void zombie.runtime
      .session('s')
      .run(calls, batch)
      .catch(() => {})
    await world.advance('1s')
    deaf = true
    const heir = await world.run(tools(() => 'heir'))
    await world.advance('31s')
    await world.outcome(heir.session('s').run(calls, batch))
    deaf = false
    wake()
    await world.advance('1s')
  },
  'a cancel is asked for, and the worker dies before it has stopped': async (world) => {
    const tools = [work(never, { ...rerun })]
    const first = await world.open({ tools })
    void first.runtime.session('s').run(calls, batch)
    await world.advance('1s')
    void first.runtime.session('s').cancel('Stop', 'user:ada')
    await world.settle()
    first.die()
    const runtime = await world.run(tools)
    await world.advance('31s')
    return world.outcome(runtime.session('s').run(calls, batch))
  },
}
