// The model's view of outcomes that a hook replaced.

import { tool } from 'pawl'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'

onEachStore('replaced outcomes', (bench) => {
  const found = tool({ name: 'found', description: 'Finds', input: z.object({}), execute: () => [1, 2] })

  // The fast path for short results must not take other fields of the recorded outcome: the model would read them, and
  // the text would not be JSON.
  test('VAL-3 CALL-8: the view of a replaced outcome shows its value only', async () => {
    const runtime = await bench.open([found], {
      hooks: [
        {
          name: 'stamp',
          after: () => ({ replace: { status: 'success', value: { b: 2 }, checkedBy: 'secret-scanner' } as never }),
        },
      ],
    })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'found' }])
    expect(end?.parts).toEqual([{ type: 'text', text: '{"b":2}' }])
  })

  test('VAL-3 CALL-8: a hook may replace an outcome with that of another call', async () => {
    const runtime = await bench.open([found], {
      hooks: [
        {
          name: 'cache',
          after: async (facts) =>
            facts.session === 'c'
              ? undefined
              : { replace: (await runtime.session('c').run([{ id: 'x', name: 'found' }]))[0] as never },
        },
      ],
    })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'found' }])
    expect(end?.parts).toEqual([{ type: 'text', text: '[1,2]' }])
    expect(end?.callId).toBe('a')
  })
})
