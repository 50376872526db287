// What a scenario is of which every store call is made to fail in turn (every-call.test.ts).
/* oxlint-disable typescript/no-explicit-any -- bodies of many shapes, and what they are given */

import { type CallAsk, type PawlError, type Runtime, type RuntimeOptions, type Tool, tool } from 'pawl'
import type { Store } from '../../src/store/store.ts'

const input = { type: 'object' } as const

export interface World {
  runtime: Runtime
  effects: Record<string, number>
  did(name: string): number
  key: string
  answered: boolean
  cancels: number
  later(ms: number, fire: (value?: unknown) => void): void
}
export interface Scenario {
  name: string
  /** The promise that it is about; CALL-2 if not said. */
  cites?: string
  tools: (w: World) => Tool[]
  /** What the runtimes have besides. */
  options?: (w: World) => Partial<RuntimeOptions>
  asks: CallAsk[]
  /** Instead of a batch: asked again until it gives its ends, so it must bear that. */
  ask?: (w: World) => Promise<any[]>
  /** What else must be true when all is over; what is wrong. */
  laws?: (w: World, store: Store) => Promise<string[]>
  run?: object
  /** Asked every second until it is over. */
  poke?: (w: World, second: number) => Promise<void> | void
  ends: unknown[] | ((outcomes: any[]) => void)
  most: Record<string, number>
  least?: Record<string, number>
  /** The call may be asked with a signal that fires here. */
  abortAt?: number
}

export const resolveOnce =
  (value: unknown) =>
  async (w: World): Promise<void> => {
    if (!w.key || w.answered) return
    try {
      const { answer } = await w.runtime.resolve(w.key, { value })
      if (answer === 'accepted' || answer === 'already_resolved') w.answered = true
    } catch (error) {
      if ((error as PawlError).code !== 'store_unavailable') throw error
    }
  }
export const t = (name: string, more: object): Tool => tool({ name, description: 'd', input, ...more })
