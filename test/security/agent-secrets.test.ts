// A process in which an agent did not run redacts the agent's secrets where its parent session shows what it returned.

import { agent } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { rerunTask, rerunTool } from '../kit/simple-tools.ts'
import { dieAfter, mortal } from '../kit/stores/killable-store.ts'
import { stores, workersOn } from '../kit/open-runtime.ts'
import { advanceUntil } from '../kit/wait-until.ts'

const secret = 'sk-live-4f9a71c2-zz'

describe.each(stores)('secrets of agents on %s', (_kind, fresh) => {
  const world = workersOn(fresh, { lease: '1s' })
  const saves = rerunTool('saves', async (_, ctx) => (await ctx.secrets.set('key', secret), 'ok'))
  const experts = () => scriptedModel([{ call: { name: 'saves' } }, `The key is ${secret}`], { name: 'expert' })

  for (const crashes of [false, true])
    test(`DUR-12: the parent's model does not read an agent's secret${crashes ? ' after a crash' : ''}`, async () => {
      const { clock, store, open } = world()
      const setup = () => {
        const expert = experts()
        const boss = scriptedModel([{ call: { name: 'ask', input: { task: 'x' } } }, 'Done'], { name: 'boss' })
        return {
          boss,
          options: { tools: [saves, agent({ name: 'ask', description: 'd', model: expert })], models: [expert, boss] },
        }
      }
      const life = mortal(store)
      // Dies with the outcome of the call `ask` in the parent session, before the parent's model is asked again.
      const dying = dieAfter(life, ({ updateCall }) => {
        const { state, outcome } = updateCall?.progress ?? {}
        return (
          crashes &&
          state === 'settled' &&
          String(outcome).includes('The key is') &&
          !String(outcome).includes('"text"')
        )
      })
      const first = setup()
      const one = await open(first.options, dying)
      void one
        .session('s')
        .turn({ model: 'boss', message: 'Go' })
        .outcome.catch(() => {})
      for (let n = 0; n < 20; n++) await clock.advance('1s')
      const second = setup()
      if (crashes) {
        await open(second.options)
        for (let n = 0; n < 60; n++) await clock.advance('1s')
      }
      const read = JSON.stringify([...first.boss.requests, ...second.boss.requests].map(({ messages }) => messages))
      expect(read).not.toContain(secret)
      expect(read).toContain('The key is [redacted]')
    })

  test('DUR-12: another process redacts the secret of an agent in the notice of its task', async () => {
    const { clock, store, open } = world()
    const runs = rerunTask('runs', async (_, ctx) => {
      const outcome = await ctx.turn({ model: 'expert', message: 'x' })
      return (outcome as { value?: { text: string } }).value?.text
    })
    const options = { tools: [saves, runs], models: [experts()] }
    const life = mortal(store)
    const worker = await open(options, life.store)
    await worker.session('s').tasks.start({ tool: 'runs' })
    await advanceUntil(clock, async () => (await worker.session('s').notices.list()).length === 1)
    expect(JSON.stringify(await worker.session('s').notices.list())).toContain('The key is [redacted]')
    life.die()
    const web = await open({ ...options, worker: false })
    const notices = JSON.stringify(await web.session('s').notices.list())
    expect(notices).toContain('The key is')
    expect(notices).not.toContain(secret)
  })
})
