import { createRuntime, type ModelRequest, tool, type Tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { dieAfter, keepOpen, mortal } from '../kit/stores/killable-store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { opening, stores } from '../kit/open-runtime.ts'
import { ignoreOutcome } from '../kit/wait-until.ts'

const open = opening()
const input = { type: 'object' } as const
const named = (name: string, more: object = {}): Tool =>
  tool({ name, description: name, input, hints: { readOnly: true }, execute: () => `${name} ran`, ...more })

for (const [kind, fresh] of stores)
  describe(`tool search and prompt size on ${kind}`, () => {
    test('SESS-8 TOOL-5: a search resumed by another worker finds provider tools', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const dying = mortal(shared)
      const far = named('far_away', { defer: 'always' })
      const provider = {
        name: 'p',
        trusted: true,
        list: () => [{ name: 'far_away', description: 'd' }],
        resolve: async () => far,
      }
      const model = scriptedModel([{ call: { name: 'tool_search', input: { query: 'far' } } }, ({ last }) => last], {
        name: 'm',
      })
      const first = dieAfter(dying, (change) => change.insertCall?.tool === 'tool_search')
      const options = { clock, logger: quiet, tools: [named('own')], models: [model], providers: [provider] }
      const ask = { model, message: 'Go', id: 't' }
      ignoreOutcome((await createRuntime({ ...options, store: first })).session('s').turn(ask))
      await clock.advance('40s')
      // This worker has the tools but not the model, so it has not resolved any definition yet.
      const second = await createRuntime({ ...options, models: [], store: shared })
      await clock.advance('2m')
      const third = await createRuntime({ ...options, store: shared })
      const ended = await after(third.session('s').turn(ask).outcome, clock)
      await second.close({ grace: 0 })
      await third.close({ grace: 0 })
      expect(ended).toMatchObject({ value: { value: { text: expect.stringContaining('"loaded":1') } } })
    })

    test('SESS-10: instructions and tools count towards the context size', async () => {
      const sums = (request: ModelRequest): boolean => request.instructions?.startsWith('You sum up') ?? false
      const big = (name: string): Tool => named(name, { description: 'x'.repeat(2_000), defer: 'never' })
      for (const [name, instructions, tools] of [
        ['a', 'x'.repeat(8_000), []],
        ['b', 'Be brief.', ['t1', 't2', 't3', 't4'].map(big)],
      ] as const) {
        const model = scriptedModel([{ when: /./s, say: 'ok' }], { name, contextTokens: 4_000 })
        const { runtime, clock } = await open({ tools: [...tools] }, fresh)
        for (let n = 0; n < 8; n++)
          await after(runtime.session('s').turn({ model, instructions, message: 'y'.repeat(1_000) }).outcome, clock)
        expect([name, model.requests.some(sums)]).toEqual([name, true])
        for (const request of model.requests) expect(JSON.stringify(request).length / 3.3).toBeLessThan(4_000)
      }
    })

    test('VAL-8: a call with an unknown tool name does not record the names of all tools', async () => {
      const tools = Array.from({ length: 300 }, (_, n) => named(`tool_number_${n}`))
      const { runtime, clock } = await open({ tools, capabilities: [{ name: 'off', tools: [named('off')] }] }, fresh)
      const session = runtime.session('s')
      await after(session.run([{ id: 'x', name: 'tool_numbr_7' }]), clock)
      const [call] = (await session.recording()).calls
      expect(call?.record.outcome).toContain('tool_number_7')
      expect(call?.record.options?.length).toBeLessThan(300)
    })
  })
