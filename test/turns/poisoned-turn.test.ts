// A poisoned turn: the next turn completes its calls from the record.

import { createRuntime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { mortal } from '../kit/stores/killable-store.ts'
import { type FreshWorld, mortalWorld } from '../kit/worker-takeover.ts'
import { problemsIn } from '../kit/models/conversation-rules.ts'
import { hang, readOnlyTool } from '../kit/simple-tools.ts'

const input = { type: 'object' } as const

describe.each(['memory', 'sqlite'] as const)('a poisoned turn on %s', (kind) => {
  let fresh: FreshWorld
  const { start } = mortalWorld(kind, (given) => void (fresh = given))

  test('SESS-3: sequential calls are completed from the record, the rest as interrupted', async () => {
    const { clock, store } = fresh
    const quick = tool({ name: 'quick', description: 'd', input, hints: { readOnly: true }, execute: () => 'done' })
    const stuck = readOnlyTool('stuck', { timeout: '10h' }, hang)
    const model = scriptedModel([{ call: [{ name: 'quick' }, { name: 'stuck' }, { name: 'quick' }] }], { name: 'm' })
    const options = { clock, logger: quiet, tools: [quick, stuck], models: [model], poisonAfter: 2 }
    const ask = { model, message: 'Go', id: 'x', parallel: false }
    for (let death = 0; death < 4; death++) {
      const dying = mortal(store)
      const runtime = await createRuntime({ ...options, store: dying.store })
      if (death === 0) runtime.session('s').turn(ask)
      await clock.advance(100)
      dying.die()
      await clock.advance('40s')
    }
    const session = (await start([quick, stuck], store, { models: [model], poisonAfter: 2 })).session('s')
    await clock.advance('40s')
    expect(await after(session.turn(ask).outcome, clock)).toMatchObject({ value: { failure: { code: 'poisoned' } } })

    const next = scriptedModel(['Fine'], { name: 'next' })
    await after(session.turn({ model: next, message: 'And?' }).outcome, clock)
    const messages = next.requests[0]?.messages ?? []
    expect(problemsIn(messages)).toEqual([])
    expect(messages.find(({ role }) => role === 'tool')).toMatchObject({
      results: [
        { name: 'quick', status: 'success', parts: [{ text: 'done' }] },
        { name: 'stuck', status: 'failure' },
        { name: 'quick', status: 'interrupted' },
      ],
    })
  })
})
