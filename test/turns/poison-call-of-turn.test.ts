// A turn whose call kills its workers: the call is the culprit, not the turn, if it is on record.

import { createRuntime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { mortal } from '../kit/stores/killable-store.ts'
import { type FreshWorld, mortalWorld } from '../kit/worker-takeover.ts'
import { problemsIn } from '../kit/models/conversation-rules.ts'
import { hang, readOnlyTool } from '../kit/simple-tools.ts'

describe.each(['memory', 'sqlite'] as const)('a poison call of a turn on %s', (kind) => {
  let fresh: FreshWorld
  const { start } = mortalWorld(kind, (given) => void (fresh = given))

  test('DUR-8, SESS-3: a call that kills its worker is poisoned, and its turn continues', async () => {
    const { clock, store } = fresh
    let runs = 0
    const quick = readOnlyTool('quick', () => 'done')
    const kill = readOnlyTool('kill', { timeout: '10h' }, () => (runs++, hang()))
    const model = scriptedModel([{ call: [{ name: 'quick' }, { name: 'kill' }, { name: 'quick' }] }, 'Fine'], {
      name: 'm',
    })
    const options = { clock, logger: quiet, tools: [quick, kill], models: [model] }
    const ask = { model, message: 'Go', id: 'x', parallel: false }
    for (let death = 0; death < 3; death++) {
      const dying = mortal(store)
      const runtime = await createRuntime({ ...options, store: dying.store })
      if (death === 0) runtime.session('s').turn(ask)
      for (let step = 0; step < 20 && runs === death; step++) await clock.advance('10s')
      dying.die()
      await clock.advance('40s')
    }
    const session = (await start([quick, kill], store, { models: [model] })).session('s')
    expect(await after(session.turn(ask).outcome, clock)).toMatchObject({ value: { status: 'success' } })
    expect(runs).toBe(3)
    const messages = model.requests.at(-1)?.messages ?? []
    expect(problemsIn(messages)).toEqual([])
    expect(messages.find(({ role }) => role === 'tool')).toMatchObject({
      results: [
        { name: 'quick', status: 'success', parts: [{ text: 'done' }] },
        { name: 'kill', status: 'failure', parts: [{ text: expect.stringContaining('3 workers stopped') }] },
        { name: 'quick', status: 'success', parts: [{ text: 'done' }] },
      ],
    })
  })

  test('DUR-8: a turn is poisoned if its call kills the worker before anything of it is on record', async () => {
    const { clock, store } = fresh
    let runs = 0
    let die = (): void => {}
    const kill = readOnlyTool('kill', { timeout: '10h' }, () => (runs++, die(), hang()))
    const model = scriptedModel([{ call: { name: 'kill' } }, 'Fine'], { name: 'm' })
    const options = { clock, logger: quiet, tools: [kill], models: [model] }
    const ask = { model, message: 'Go', id: 'x' }
    for (let death = 0; death < 3; death++) {
      const own = mortal(store)
      let dead = false
      die = () => {
        dead = true
        own.die()
      }
      // Writes of the event-loop turn in which the worker dies never reach the store.
      const write: Store['write'] = (change, heard, how) =>
        void setImmediate(() => dead || own.store.write(change, heard, how))
      const opening = createRuntime({ ...options, store: { ...own.store, write } })
      if (death === 0) (await opening).session('s').turn(ask)
      for (let step = 0; step < 20 && !dead; step++) await clock.advance('10s')
      await clock.advance('40s')
      opening.catch(() => {})
    }
    expect(runs).toBe(3)
    const session = (await start([kill], store, { models: [model] })).session('s')
    expect(await after(session.turn(ask).outcome, clock)).toMatchObject({ value: { failure: { code: 'poisoned' } } })
    expect(runs).toBe(3)
  })
})
