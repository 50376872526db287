// Tools of the background bench, and how it measures the start of a task.

import { z } from 'zod'
import type { Runtime } from '../../src/runtime-options.ts'
import { tool } from '../../src/tools/tool.ts'

export const tries = 15
export const keys = { secret: Buffer.alloc(32, 7) }
export const quiet = { debug() {}, info() {}, warn() {}, error() {} }
/** Receives the performance.now() at which a task of the other tenant started. */
let began = (_at: number): void => {}
export const work = tool({
  name: 'work',
  description: 'Works for a moment',
  input: z.object({ ms: z.number() }),
  hints: { readOnly: true },
  background: true,
  execute: ({ ms }) => new Promise<void>((done) => void setTimeout(done, ms)),
})
const first = tool({
  name: 'first',
  description: 'Tells that it has begun',
  input: z.object({}),
  hints: { readOnly: true },
  background: true,
  execute: () => began(performance.now()),
})
export const tools = [work, first]

/** Milliseconds from the call of start() until the body runs. */
export async function untilBegun(runtime: Runtime, n: number): Promise<number> {
  const { promise, resolve: begin } = Promise.withResolvers<number>()
  began = begin
  const from = performance.now()
  await runtime.session(`s${n}`, { tenant: 'other' }).tasks.start({ tool: first, wake: 'silent' })
  return (await promise) - from
}
