// Adversary: what the model reads of short results (VAL-3, VAL-7, CALL-8).

import { tool } from 'pawl'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'

onEachStore('adversary: shown', (bench) => {
  const found = tool({ name: 'found', description: 'Finds', input: z.object({}), execute: () => [1, 2] })

  // Why: the shortcut for short results takes all of the recorded text after `"value":`, so what a hook's outcome has besides its value
  // is read by the model, and what it reads is not JSON.
  test('VAL-3 CALL-8: a replaced outcome with other fields beside its value is shown as its value alone', async () => {
    const runtime = await bench.open([found], {
      hooks: [{ name: 'stamp', after: () => ({ replace: { status: 'success', value: { b: 2 }, checkedBy: 'secret-scanner' } as never }) }],
    })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'found' }])
    expect(end?.parts).toEqual([{ type: 'text', text: '{"b":2}' }])
  })

  test('VAL-3 CALL-8: a hook may answer with the outcome of another call', async () => {
    const runtime = await bench.open([found], {
      hooks: [
        {
          name: 'cache',
          after: async (facts) =>
            facts.session === 'c' ? undefined : { replace: (await runtime.session('c').run([{ id: 'x', name: 'found' }]))[0] as never },
        },
      ],
    })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'found' }])
    expect(end?.parts).toEqual([{ type: 'text', text: '[1,2]' }])
    expect(end?.callId).toBe('a')
  })
})
