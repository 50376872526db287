// A suspect that waits for its trial holds no slots (decision 0039): fresh work runs meanwhile.

import type { Tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { hang, rerunTask } from '../../kit/simple-tools.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { stores, workersOn } from '../../kit/open-runtime.ts'

describe.each(stores)('suspects on %s', (_kind, fresh) => {
  const world = workersOn(fresh, { lease: '1s' })

  interface Scenario {
    /** Number of suspects. */
    readonly count: number
    readonly areTasks?: boolean
    /** Options of the suspects' tool. */
    readonly options?: object
    /** The tool of the fresh work. */
    readonly freshTool: 'work' | 'other'
    readonly freshSession: string
  }

  /** The calls lose two workers that each lived for 15 s; then fresh work arrives. Returns its delay. */
  async function delayOfFreshWork({ count, areTasks, options, freshTool, freshSession }: Scenario): Promise<number> {
    const { clock, store, open } = world()
    const work = (execute: () => unknown): Tool => rerunTask('work', { timeout: '1h', ...options }, execute)
    for (let death = 0; death < 2; death++) {
      const life = mortal(store)
      const session = (await open({ tools: [work(hang)] }, life.store)).session('s')
      for (let n = 0; death === 0 && n < count; n++)
        if (areTasks) await session.tasks.start({ tool: 'work', id: `t${n}` })
        else session.run([{ id: `c${n}`, name: 'work' }], { batch: `b${n}` }).catch(() => {})
      for (let n = 0; n < 15; n++) await clock.advance('1s')
      life.die()
      await clock.advance('10s')
    }
    const next = await open({ tools: [work(() => 'ran'), rerunTask('other', {}, () => 'ran')] })
    await clock.advance('2s')
    const session = next.session(freshSession)
    const from = clock.now()
    let delay: number | null = null
    const { id } = await session.tasks.start({ tool: freshTool })
    for (let n = 0; n < 300 && delay === null; n++) {
      await clock.advance('1s')
      if ((await session.tasks.get(id))?.state === 'succeeded') delay = clock.now() - from
    }
    // The suspects take their slots again when their trials begin.
    const isDone = async (): Promise<boolean> => (await store.unsettled({ after: '', limit: 1 })).length === 0
    for (let n = 0; n < 300 && !(await isDone()); n++) await clock.advance('1s')
    expect(await isDone()).toBe(true)
    return delay ?? Infinity
  }

  test('DUR-8: a suspect that waits for its trial does not use up limits.concurrent', async () => {
    const options = { limits: { concurrent: 1 } }
    expect(await delayOfFreshWork({ count: 1, options, freshTool: 'work', freshSession: 'z' })).toBeLessThan(5_000)
  })

  test('DUR-8: a suspect that waits for its trial does not hold its concurrency key', async () => {
    const options = { concurrency: { key: () => 'k' } }
    expect(await delayOfFreshWork({ count: 1, options, freshTool: 'work', freshSession: 'z' })).toBeLessThan(5_000)
  })

  test('DUR-8: suspect tasks that wait for their trials do not use up tasksPerSession', async () => {
    const delay = await delayOfFreshWork({ count: 5, areTasks: true, freshTool: 'other', freshSession: 's' })
    expect(delay).toBeLessThan(5_000)
  })
})
