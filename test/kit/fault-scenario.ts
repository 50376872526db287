// The type of a scenario in which every store call is made to fail in turn (every-call.test.ts).
/* oxlint-disable typescript/no-explicit-any -- tool bodies and inputs of many shapes */

import { type CallAsk, type PawlError, type Runtime, type RuntimeOptions, type Tool, tool } from 'pawl'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'

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
/** A world without a runtime; its timers use the clock. */
export function newWorld(clock: ManualClock): World {
  const w: World = {
    runtime: null as never,
    effects: {},
    key: '',
    answered: false,
    cancels: 0,
    later: (ms, fire) => void clock.timer(ms, fire),
    did: (name) => (w.effects[name] = (w.effects[name] ?? 0) + 1),
  }
  return w
}

export interface Scenario {
  name: string
  /** The promise id for the test title; CALL-2 by default. */
  cites?: string
  tools: (w: World) => Tool[]
  /** Additional runtime options. */
  options?: (w: World) => Partial<RuntimeOptions>
  asks: CallAsk[]
  /** Used instead of a batch. Repeated until it returns outcomes, so it must be repeatable. */
  ask?: (w: World) => Promise<any[]>
  /** Additional invariants checked at the end; returns the violations. */
  laws?: (w: World, store: Store) => Promise<string[]>
  run?: object
  /** Called every second until the scenario ends. */
  poke?: (w: World, second: number) => Promise<void> | void
  ends: unknown[] | ((outcomes: any[]) => void)
  most: Record<string, number>
  least?: Record<string, number>
  /** The time at which the call's abort signal fires. */
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
export const t = (name: string, more: object): Tool =>
  tool({ name, description: 'd', input, ...(more as { execute: Body }) })
type Body = (input: any, ctx: any) => unknown
/** A tool that runs again after a crash. */
export const rerun = (name: string, execute: Body, more: object = {}): Tool =>
  t(name, { onCrash: 'rerun', ...more, execute })

/** A scenario with one call, of the tool `t`. By default it has no effects to count. */
export const oneCall = (
  name: string,
  tools: Scenario['tools'],
  ends: Scenario['ends'],
  more: Omit<Partial<Scenario>, 'name' | 'tools' | 'ends'> = {},
): Scenario => ({ name, tools, asks: [{ id: '1', name: 't' }], ends, most: {}, ...more })

/** The only outcome is a success with this value. */
export const success = (value: unknown): Scenario['ends'] => [{ status: 'success', value }]
