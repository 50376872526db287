import { createRuntime, type Model } from 'pawl'
import { expect, test } from 'vitest'
import { quiet } from '../kit/stores/fresh-store.ts'
import { stores } from '../kit/open-runtime.ts'
import { readOnlyTool } from '../kit/simple-tools.ts'

test.each(stores)(
  'VAL-8 SESS-2: a malformed model answer fails the turn as model_failed or is repaired (%s)',
  async (_, fresh) => {
    const own = readOnlyTool('own', () => 'ran')
    const call = { type: 'call', id: 'a', name: 'own', input: '{}' }
    for (const [answer, code] of [
      [{ parts: [{ type: 'text' }], finish: 'stop' }, 'model_failed'],
      [{ parts: [null], finish: 'stop' }, 'model_failed'],
      [{ parts: 'x' }, 'model_failed'],
      [null, 'model_failed'],
      [{ parts: [{ ...call, input: { a: 1n } }] }, 'model_failed'],
      [{ parts: [{ ...call, id: 5, name: {} }] }, undefined],
      [{ parts: [{ type: 'text', text: 'x', meta: { a: () => {} } }], usage: { inputTokens: 'many' } }, undefined],
      [{ parts: [{ ...call, meta: { signature: 'x'.repeat(3_000_000) } }] }, undefined],
      [{ parts: [{ type: 'provider_call' }, { type: 'source', url: 5 }, { type: 'text', text: 'x' }] }, undefined],
      [
        {
          parts: [
            { type: 'provider_result', output: { page: 'half \ud800' } },
            { type: 'text', text: 'x' },
          ],
        },
        undefined,
      ],
      [
        {
          parts: [
            { type: 'provider_result', output: 1n },
            { type: 'text', text: 'x' },
          ],
        },
        'model_failed',
      ],
    ] as const) {
      const { store, clock } = fresh()
      let asked = 0
      const model: Model = {
        name: 'm',
        generate: async () =>
          (asked++ === 0 ? answer : { parts: [{ type: 'text', text: 'ok' }], finish: 'stop' }) as never,
      }
      const runtime = await createRuntime({ store, clock, logger: quiet, tools: [own] })
      const { outcome } = runtime.session('s').turn({ model, message: 'Go' })
      await clock.advance('1m')
      const ended = await outcome
      await runtime.close({ grace: 0 })
      expect(ended.status === 'failure' ? ended.failure.code : undefined).toBe(code)
    }
  },
)
