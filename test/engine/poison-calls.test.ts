// A call that kills its workers is not run forever. The claim counts the deaths, so the count does not depend on what
// the call does.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime, type RuntimeOptions, type Tool, tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Store } from '../../src/store/store.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { mortal, type StoreKind, storeOf } from '../kit/stores/killable-store.ts'
import { hang, rerunTool, simpleTool } from '../kit/simple-tools.ts'

const empty = z.object({})

describe.each(['memory', 'sqlite'] as const)('poison calls on %s', (kind: StoreKind) => {
  let dir: string
  let clock: ManualClock
  let store: Store
  beforeEach(() => {
    clock = manualClock()
    dir = mkdtempSync(join(tmpdir(), 'pawl-poison-'))
    store = storeOf(kind, join(dir, 'agent.db'), clock)
  })
  afterEach(async () => {
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  })

  /** A worker that claims the open calls and dies. */
  const dies = async (options: Partial<RuntimeOptions>, before?: (runtime: Runtime) => void): Promise<void> => {
    const { store: own, die } = mortal(store)
    const runtime = await createRuntime({ store: own, clock, logger: quiet, ...options })
    before?.(runtime)
    await clock.advance('3m') // suspects run only in workers that have been up for a while
    die()
    await clock.advance('31s')
  }
  const lives = (options: Partial<RuntimeOptions>): Promise<Runtime> =>
    createRuntime({ store, clock, logger: quiet, ...options })
  const endOf = async (runtime: Runtime, name: string): Promise<unknown> => {
    const [end] = await runtime.session('s').run([{ id: 'a', name }])
    return end
  }

  const killing = (more: object = {}): { tool: Tool; runs: () => number } => {
    let runs = 0
    const definition = {
      name: 'kill',
      description: 'Kills',
      input: empty,
      onCrash: 'rerun',
      timeout: { attempt: '1d' },
      ...more,
    } as const
    return { tool: tool({ ...definition, execute: () => (runs++, hang()) }), runs: () => runs }
  }

  test('DUR-8: after three deaths the call fails as poisoned and its body does not run again', async () => {
    const { tool: kill, runs } = killing()
    await dies({ tools: [kill] }, (runtime) => void endOf(runtime, 'kill'))
    await dies({ tools: [kill] })
    await dies({ tools: [kill] })
    expect(runs()).toBe(3)
    const runtime = await lives({ tools: [kill] })
    expect(await endOf(runtime, 'kill')).toMatchObject({
      status: 'failure',
      failure: { code: 'poisoned', class: 'internal', raw: { deaths: 3, attempt: 3 } },
    })
    expect(runs()).toBe(3)
    await runtime.close()
  })

  test('DUR-8: poisonAfter sets the number of deaths and must be a positive integer', async () => {
    const { tool: kill, runs } = killing()
    await dies({ tools: [kill], poisonAfter: 1 }, (runtime) => void endOf(runtime, 'kill'))
    const runtime = await lives({ tools: [kill], poisonAfter: 1 })
    expect(await endOf(runtime, 'kill')).toMatchObject({ failure: { code: 'poisoned' } })
    expect(runs()).toBe(1)
    await runtime.close()
    await expect(lives({ poisonAfter: 0 })).rejects.toThrow('`poisonAfter` is 0')
    await expect(lives({ poisonAfter: 1.5 })).rejects.toThrow('`poisonAfter` is 1.5')
  })

  test('DUR-8: a call that records progress between the deaths is not poisoned', async () => {
    let stage = 0
    const slow = rerunTool('slow', { description: 'A step per life', timeout: { attempt: '1d' } }, async (_, ctx) => {
      for (let step = 0; step < 6; step++) {
        await ctx.step(`${step}`, () => step)
        if (step > stage) {
          stage++
          await hang()
        }
      }
      return 'done'
    })
    await dies({ tools: [slow] }, (runtime) => void endOf(runtime, 'slow'))
    for (let life = 0; life < 4; life++) await dies({ tools: [slow] })
    const runtime = await lives({ tools: [slow] })
    expect(await endOf(runtime, 'slow')).toMatchObject({ status: 'success', value: 'done' })
    await runtime.close()
  })

  test('DUR-8: a sleeping call tolerates more worker deaths', async () => {
    const sleepy = rerunTool('sleepy', async (_, ctx) => {
      await ctx.sleep('1h')
      return 'awake'
    })
    await dies({ tools: [sleepy] }, (runtime) => void endOf(runtime, 'sleepy'))
    for (let life = 0; life < 4; life++) await dies({ tools: [sleepy] })
    const runtime = await lives({ tools: [sleepy] })
    const ending = endOf(runtime, 'sleepy')
    await clock.advance('1h')
    expect(await ending).toMatchObject({ status: 'success', value: 'awake' })
    await runtime.close()
  })

  test('DUR-8: worker deaths in prepare count once the call has been taken over', async () => {
    let asked = 0
    const kill = simpleTool('kill', { timeout: { attempt: '1d' }, prepare: () => (asked++, hang()) }, () => 'never')
    await dies({ tools: [kill] }, (runtime) => void endOf(runtime, 'kill'))
    for (let life = 0; life < 3; life++) await dies({ tools: [kill] })
    const before = asked
    const runtime = await lives({ tools: [kill] })
    expect(await endOf(runtime, 'kill')).toMatchObject({ failure: { code: 'poisoned' } })
    expect(asked).toBe(before)
    await runtime.close()
  })

  test('DUR-8: deaths caused by one call do not count for a call queued behind it', async () => {
    const { tool: kill } = killing({ concurrency: 'exclusive' })
    const next = tool({
      name: 'next',
      description: 'Waits for its turn',
      input: empty,
      concurrency: 'exclusive',
      execute: () => 'fine',
    })
    const both = (runtime: Runtime) =>
      runtime.session('s').run([
        { id: 'a', name: 'kill' },
        { id: 'b', name: 'next' },
      ])
    await dies({ tools: [kill, next] }, (runtime) => void both(runtime))
    await dies({ tools: [kill, next] })
    await dies({ tools: [kill, next] })
    const runtime = await lives({ tools: [kill, next] })
    expect(await both(runtime)).toMatchObject([{ failure: { code: 'poisoned' } }, { value: 'fine' }])
    await runtime.close()
  })

  test('DUR-8: a poison call that must not run twice ends as unknown', async () => {
    const { tool: kill } = killing({ onCrash: 'stop', reconcile: () => hang() })
    await dies({ tools: [kill] }, (runtime) => void endOf(runtime, 'kill'))
    await dies({ tools: [kill] })
    await dies({ tools: [kill] })
    const runtime = await lives({ tools: [kill] })
    expect(await endOf(runtime, 'kill')).toMatchObject({
      status: 'unknown',
      unknown: { evidence: { deaths: 3 } },
    })
    await runtime.close()
  })
})
