// A call that kills its worker while other bodies only wait for it: it is poisoned after three deaths, as if alone.

import { agent, type Runtime, type Tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { hang, rerunTask, rerunTool } from '../kit/simple-tools.ts'
import { mortal } from '../kit/stores/killable-store.ts'
import { stores, workersOn } from '../kit/open-runtime.ts'

describe.each(stores)('poison on %s', (_kind, fresh) => {
  const world = workersOn(fresh, { lease: '1s' })

  /** Each worker dies when the tool `kill` runs. Returns how many died before everything was settled. */
  async function deathsUntilSettled(make: (kill: Tool) => object, start: (runtime: Runtime) => unknown) {
    const { clock, store, open } = world()
    for (let deaths = 0; deaths < 10; deaths++) {
      const life = mortal(store)
      let [hasRun, isSettled] = [false, false]
      const kill = rerunTask('kill', { timeout: '1h' }, () => {
        hasRun = true
        return hang()
      })
      const runtime = await open(make(kill), life.store)
      if (deaths === 0) start(runtime)
      for (let n = 0; n < 900 && !hasRun && !isSettled; n++) {
        await clock.advance('1s')
        isSettled = (await store.unsettled({ after: '', limit: 1 })).length === 0
      }
      if (isSettled) return deaths
      await clock.advance(100)
      life.die()
      await clock.advance('10s')
    }
    return Infinity
  }

  const runTop = (runtime: Runtime): void =>
    void runtime
      .session('s')
      .run([{ id: 'a', name: 'top' }])
      .catch(() => {})
  const waitForKiller = (name: string): Tool =>
    rerunTool(name, { timeout: '1h' }, async (_, ctx) => {
      await ctx.tasks.start({ tool: 'kill', id: 'k' })
      return (await ctx.tasks.wait('k')).state
    })

  test('DUR-8: a call of an agent that kills its workers is poisoned after three deaths', async () => {
    const make = (kill: Tool) => {
      const expert = scriptedModel([{ call: { name: 'kill' } }, 'Failed'], { name: 'expert' })
      const boss = scriptedModel([{ call: { name: 'ask', input: { task: 'x' } } }, 'Done'], { name: 'boss' })
      return { tools: [kill, agent({ name: 'ask', description: 'd', model: expert })], models: [expert, boss] }
    }
    const start = (runtime: Runtime): void =>
      void runtime
        .session('s')
        .turn({ model: 'boss', message: 'Go' })
        .outcome.catch(() => {})
    expect(await deathsUntilSettled(make, start)).toBe(3)
  })

  test('DUR-8: a task that kills its workers while a body waits for it is poisoned after three deaths', async () => {
    expect(await deathsUntilSettled((kill) => ({ tools: [kill, waitForKiller('top')] }), runTop)).toBe(3)
  })

  test('DUR-8: the parent of a body that waits for a task is not company either', async () => {
    const make = (kill: Tool) => {
      const middle = waitForKiller('middle')
      const top = rerunTool('top', { timeout: '1h' }, async (_, ctx) => (await ctx.call(middle, {})).status)
      return { tools: [kill, middle, top] }
    }
    expect(await deathsUntilSettled(make, runTop)).toBe(3)
  })

  test('DUR-8: a body that kills its workers after it has waited for a task is poisoned', async () => {
    const make = (kill: Tool) => {
      const quick = rerunTask('quick', {}, () => 'done')
      const top = rerunTool('top', { timeout: '1h' }, async (input, ctx) => {
        await ctx.tasks.start({ tool: 'quick', id: 'q' })
        await ctx.tasks.wait('q')
        return kill.execute(input as never, ctx)
      })
      return { tools: [quick, top] }
    }
    expect(await deathsUntilSettled(make, runTop)).toBe(3)
  })
})
