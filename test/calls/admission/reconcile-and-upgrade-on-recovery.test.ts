// The life of a call over a crash (CALL-7, DUR-3, TIME-3).

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime, tool, type Tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { mortal, storeOf } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'

const empty = z.object({})
const never = (): Promise<never> => new Promise(() => {})

describe.each(['memory', 'sqlite'] as const)('adversary: recovery on %s', (kind) => {
  /** A first worker that can die, and a second one on the same store. */
  async function two(): Promise<{
    clock: ManualClock
    first(tools: Tool[], more?: object): Promise<{ runtime: Runtime; die(): void }>
    second(tools: Tool[], more?: object): Promise<Runtime>
  }> {
    const clock = manualClock()
    const file = join(mkdtempSync(join(tmpdir(), 'pawl-adv-')), 'a.db')
    const store = storeOf(kind, file, clock)
    const keys = { secret: 'x'.repeat(32) }
    return {
      clock,
      async first(tools, more = {}) {
        const one = mortal(store)
        const runtime = await createRuntime({ store: one.store, tools, clock, keys, logger: quiet, lease: '1s', ...more })
        return { runtime, die: () => one.die() }
      },
      second: (tools, more = {}) => createRuntime({ store, tools, clock, keys, logger: quiet, lease: '1s', ...more }),
    }
  }

  test('TOOL-7 CALL-1: what reconcile finds is checked like every other output', async () => {
    const w = await two()
    const make = (reconcile?: () => unknown) =>
      tool({
        name: 'pay',
        description: 'Pays',
        input: empty,
        output: z.object({ id: z.string() }),
        execute: never,
        ...(reconcile ? { reconcile: reconcile as never } : {}),
      })
    const one = await w.first([make()])
    void one.runtime
      .session('s')
      .run([{ id: 'a', name: 'pay' }])
      .catch(() => {})
    await w.clock.advance(0)
    one.die()
    await w.clock.advance('10s')
    const runtime = await w.second([make(() => ({ value: { wrong: true } }))])
    const end = await after(runtime.session('s').run([{ id: 'a', name: 'pay' }]), w.clock)
    await runtime.close({ grace: 0 })
    expect(end).toMatchObject({ value: [{ status: 'failure', failure: { code: 'invalid_output' } }] })
  })

  test('CALL-1 CALL-7: an answer that came while the tool got a new version is not lost', async () => {
    const w = await two()
    let key = ''
    const make = (version: string) =>
      tool({
        name: 'sign',
        description: 'Signs',
        input: empty,
        version,
        onCrash: 'rerun',
        execute: async (_, ctx) => {
          const later = await ctx.later<string>({ deadline: '1d' })
          key = later.key
          return later
        },
      })
    const one = await w.first([make('1')])
    void one.runtime
      .session('s')
      .run([{ id: 'a', name: 'sign' }])
      .catch(() => {})
    await w.clock.advance('1s')
    await one.runtime.close({ grace: 0 })
    const runtime = await w.second([make('2')])
    await runtime.resolve(key, { value: 'signed' })
    const end = await after(runtime.session('s').run([{ id: 'a', name: 'sign' }]), w.clock)
    await runtime.close({ grace: 0 })
    expect(end).toMatchObject({ value: [{ status: 'success', value: 'signed' }] })
  })

  test('TIME-3: a call that was told to stop does not run again after a crash', async () => {
    const w = await two()
    let ran = 0
    const make = () =>
      tool({
        name: 'work',
        description: 'Works',
        input: empty,
        onCrash: 'rerun',
        execute: () => {
          ran++
          return ran === 1 ? never() : 'again'
        },
      })
    const one = await w.first([make()])
    const call = one.runtime.session('s').call(make(), {}, { id: 'a' })
    await w.clock.advance('1s')
    await call.cancel('stop it')
    await w.clock.advance(10) // on record, and inside the grace
    one.die()
    await w.clock.advance('10s')
    const runtime = await w.second([make()])
    const end = await after(runtime.session('s').run([{ id: 'a', name: 'work' }]), w.clock)
    await runtime.close({ grace: 0 })
    expect([ran, end]).toMatchObject([1, { value: [{ status: 'cancelled' }] }])
  })
})
