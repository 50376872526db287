// Calls that wait for an external answer: parked on a returned later, or awaiting it in the body.

import type { Tool, ToolContext, WaitAnnouncement } from 'pawl'
import type { Scenario, World } from '../scenario.ts'
import { batch, calls, dieInCalls, work } from './kit.ts'

type Later = Awaited<ReturnType<ToolContext['later']>>

/** A tool that passes its wait key to the test before it returns or awaits its later. */
function later(how: 'parks' | 'waits', options: object = {}, more: object = {}): { tool: Tool; keys: string[] } {
  const keys: string[] = []
  const body = async (_: unknown, ctx: ToolContext): Promise<unknown> => {
    const made: Later = await ctx.later({ deadline: '1h', ...options })
    keys.push(made.key)
    return how === 'parks' ? made : { heard: await made.value }
  }
  return { keys, tool: work(body, { onCrash: 'rerun', timeout: '10h', ...more }) }
}

const answered =
  (how: 'parks' | 'waits', answer: object, more: object = {}): Scenario =>
  async (world: World) => {
    const { tool, keys } = later(how, {}, more)
    const runtime = await world.run([tool])
    const running = runtime.session('s').run(calls, batch)
    await world.advance('1m')
    const first = await runtime.resolve(keys[0] ?? '', answer as { value: string })
    await world.advance('1s')
    const second = await runtime.resolve(keys[0] ?? '', answer as { value: string })
    return { first, second, outcomes: await world.outcome(running) }
  }

export const waits: Readonly<Record<string, Scenario>> = {
  'a parked call is answered': answered('parks', { value: { paid: true } }),
  'a parked call is answered with a failure': answered('parks', {
    failure: { code: 'declined', message: 'The card was declined' },
  }),
  'an answer does not match the output schema': answered('parks', { value: 'text' }, { output: { type: 'number' } }),
  'a body waits and is answered': answered('waits', { value: 'yes' }),
  'a body waits and is answered with a failure': answered('waits', { failure: { code: 'declined', message: 'No' } }),
  'a parked call is charged for the time before it parked': async (world) => {
    const keys: string[] = []
    const parks = work(
      async (_, ctx) => {
        await new Promise<void>((resolve) => void world.clock.timer(2_000, resolve))
        const made = await ctx.later({ deadline: '1h' })
        keys.push(made.key)
        return made
      },
      { onCrash: 'rerun' },
    )
    const runtime = await world.run([parks], { budgets: { session: { time: '1h', cost: 10 } } })
    const running = runtime.session('s').run(calls, batch)
    await world.advance('1m')
    await runtime.resolve(keys[0] ?? '', { value: 1 })
    return world.outcome(running)
  },
  'a wait times out': async (world) => {
    const runtime = await world.run([later('parks').tool])
    return world.outcome(runtime.session('s').run(calls, batch))
  },
  'a wait in a body times out and fails the turn': async (world) => {
    const runtime = await world.run([later('waits', { onTimeout: 'fail' }).tool])
    return world.outcome(runtime.session('s').run(calls, batch))
  },
  'a parked call is cancelled, and its tool hears of it': async (world) => {
    const told: unknown[] = []
    const { tool } = later('parks', { name: 'job' }, { cancel: ({ name }: { name: string }) => void told.push(name) })
    const runtime = await world.run([tool])
    const running = runtime.session('s').run(calls, batch)
    await world.advance('1m')
    await runtime.session('s').cancel('Not wanted', 'user:ada')
    return { outcomes: await world.outcome(running), told }
  },
  'a wait is announced, again after a failure': async (world) => {
    const announced: unknown[] = []
    const runtime = await world.run([later('parks', { announce: { type: 'job.wanted', payload: { n: 1 } } }).tool], {
      announce(announcement) {
        const { key: _key, ...rest } = announcement as WaitAnnouncement
        announced.push(rest)
        if (announced.length === 1) throw new Error('no network')
      },
    })
    const running = runtime.session('s').run(calls, batch)
    await world.advance('10m')
    await runtime.session('s').cancel()
    return { announced, outcomes: await world.outcome(running) }
  },
  'two named waits in one body': async (world) => {
    const keys: string[] = []
    const both = work(
      async (_, ctx) => {
        const [a, b] = [await ctx.later({ name: 'a', deadline: '1h' }), await ctx.later({ name: 'b', deadline: '2h' })]
        keys.push(a.key, b.key)
        return [await a.value, await b.value]
      },
      { onCrash: 'rerun', timeout: '10h' },
    )
    const runtime = await world.run([both])
    const running = runtime.session('s').run(calls, batch)
    await world.advance('1s')
    await runtime.resolve(keys[1] ?? '', { value: 2 })
    await world.advance('1s')
    await runtime.resolve(keys[0] ?? '', { value: 1 })
    return world.outcome(running)
  },
  'a worker dies while a call is parked, and the answer lands on another one': async (world) => {
    const { tool, keys } = later('parks')
    await dieInCalls(world, [tool])
    const runtime = await world.run([tool])
    await world.advance('31s')
    await runtime.resolve(keys[0] ?? '', { value: 'landed' })
    return world.outcome(runtime.session('s').run(calls, batch))
  },
  'a worker dies while its body waits, and the answer comes before the next one': async (world) => {
    const { tool, keys } = later('waits')
    await dieInCalls(world, [tool])
    const door = await world.run([tool], { worker: false })
    await door.resolve(keys[0] ?? '', { value: 'early' })
    const runtime = await world.run([tool])
    await world.advance('40s')
    return world.outcome(runtime.session('s').run(calls, batch))
  },
  'a worker dies at the write that parks the call': async (world) => {
    const { tool, keys } = later('parks')
    const first = await world.open({ tools: [tool] }, { event: 'call.parked', when: 'before' })
    void first.runtime.session('s').run(calls, batch)
    await world.advance('1s')
    const runtime = await world.run([tool])
    await world.advance('31s')
    await runtime.resolve(keys[0] ?? '', { value: 'landed' })
    return world.outcome(runtime.session('s').run(calls, batch))
  },
}
