import { createRuntime, type ModelRequest, tool, type Tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { mortal } from '../kit/stores/killable-store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { opening, stores } from '../kit/open-runtime.ts'

const open = opening()
const input = { type: 'object' } as const
const named = (name: string, more: object = {}): Tool =>
  tool({ name, description: name, input, hints: { readOnly: true }, execute: () => `${name} ran`, ...more })

for (const [kind, fresh] of stores)
  describe(`more of turns on ${kind}`, () => {
    test('SESS-8 TOOL-5: a search that another worker takes up finds tools of a provider', async () => {
      const { clock, store } = fresh()
      const shared: Store = { ...store, close: async () => {} }
      const dying = mortal(shared)
      const far = named('far_away', { defer: 'always' })
      const provider = { name: 'p', trusted: true, list: () => [{ name: 'far_away', description: 'd' }], resolve: async () => far }
      const model = scriptedModel([{ call: { name: 'tool_search', input: { query: 'far' } } }, ({ last }) => last], { name: 'm' })
      const first: Store = {
        ...dying.store,
        write: (change, heard, how) => {
          dying.store.write(change, heard, how)
          if (change.insertCall?.tool === 'tool_search') dying.die()
        },
        commit: async (change) => {
          const done = dying.store.commit(change)
          if (change.insertCall?.tool === 'tool_search') dying.die()
          return done
        },
      }
      const options = { clock, logger: quiet, tools: [named('own')], models: [model], providers: [provider] }
      const ask = { model, message: 'Go', id: 't' }
      ;(await createRuntime({ ...options, store: first }))
        .session('s')
        .turn(ask)
        .outcome.catch(() => {})
      await clock.advance('40s')
      // A worker that knows the tools and not the model: it has fetched no contract.
      const second = await createRuntime({ ...options, models: [], store: shared })
      await clock.advance('2m')
      const third = await createRuntime({ ...options, store: shared })
      const ended = await after(third.session('s').turn(ask).outcome, clock)
      await second.close({ grace: 0 })
      await third.close({ grace: 0 })
      expect(ended).toMatchObject({ value: { value: { text: expect.stringContaining('"loaded":1') } } })
    })

    test('SESS-10: instructions and tools are counted in what a model can read', async () => {
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

    test('VAL-8: a name that nothing goes by does not put all names on record', async () => {
      const tools = Array.from({ length: 300 }, (_, n) => named(`tool_number_${n}`))
      const { runtime, clock } = await open({ tools, capabilities: [{ name: 'off', tools: [named('off')] }] }, fresh)
      const session = runtime.session('s')
      await after(session.run([{ id: 'x', name: 'tool_numbr_7' }]), clock)
      const [call] = (await session.recording()).calls
      expect(call?.record.outcome).toContain('tool_number_7')
      expect(call?.record.options?.length).toBeLessThan(300)
    })
  })
