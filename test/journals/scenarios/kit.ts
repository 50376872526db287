// Tools and calls shared by several scenarios.

import { type Tool, tool, type ToolContext } from 'pawl'
import { did } from '../recorder.ts'
import type { Death, World } from '../scenario.ts'

export const object = { type: 'object' } as const
export const never = (): Promise<never> => new Promise(() => {})

type Body = (input: Record<string, unknown>, ctx: ToolContext) => unknown
type More = Partial<Parameters<typeof tool>[0]>

/** A tool named `work` unless `more` overrides it. */
export const work = (execute: Body, more: More = {}): Tool =>
  tool({ name: 'work', description: 'Works', input: object, execute: watched(execute), ...more } as Parameters<
    typeof tool
  >[0])

/** Records when the body and its steps run, between the writes of the call. */
const watched =
  (execute: Body): Body =>
  (input, ctx) => {
    did(ctx, `body, attempt ${ctx.attempt}`)
    const step = (id: string, ...given: readonly unknown[]): Promise<unknown> => {
      const runs = (run: unknown): unknown =>
        typeof run === 'function'
          ? (...args: unknown[]) => (did(ctx, `step ${id}`), (run as (...args: unknown[]) => unknown)(...args))
          : run
      return (ctx.step as (id: string, ...given: readonly unknown[]) => Promise<unknown>)(id, ...given.map(runs))
    }
    const get = (target: ToolContext, name: keyof ToolContext): unknown =>
      name === 'step' ? step : Reflect.get(target, name, target)
    return execute(input, new Proxy(ctx, { get: (target, name) => get(target, name as keyof ToolContext) }))
  }

/** A client tool, which has no body. */
export const bodiless = (more: More): Tool =>
  tool({ name: 'work', description: 'Works', input: object, ...more, client: true })

export const calls = [{ id: 'a', name: 'work', input: {} }]
export const batch = { batch: 'b' }

/** Starts the calls on a worker that dies while they run. */
export async function dieInCalls(world: World, tools: readonly Tool[], death?: Death): Promise<void> {
  const worker = await world.open({ tools }, death)
  void worker.runtime.session('s').run(calls, batch)
  await world.advance('1s')
  worker.die()
}
