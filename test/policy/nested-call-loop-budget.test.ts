// Loop detection with nested calls.

import { expect, test } from 'vitest'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { readOnlyTool } from '../kit/simple-tools.ts'

const child = readOnlyTool('child', () => 'same')

onEachStore('adversary: budgets', (bench) => {
  test('POL-8: a loop over a tool that makes nested calls is detected', async () => {
    const parent = readOnlyTool('parent', async (_, ctx) => {
      await ctx.call(child, {})
      return 'same'
    })
    const plain = readOnlyTool('plain', () => 'same')
    const runtime = await bench.open([parent, child, plain], { budgets: { session: { repeats: 2 } } })
    const codes = async (name: string): Promise<string[]> => {
      const seen: string[] = []
      for (let i = 0; i < 4; i++) {
        const [end] = await runtime.session(name).run([{ id: 'a', name }], { batch: `m${i}` })
        seen.push(end?.status === 'failure' ? end.failure.code : 'ran')
      }
      return seen
    }
    expect(await codes('plain')).toEqual(['ran', 'ran', 'over_budget', 'over_budget']) // control
    expect(await codes('parent')).toEqual(['ran', 'ran', 'over_budget', 'over_budget'])
  })

  test('POL-8: the nested calls of one body do not count as a loop of the model', async () => {
    const parent = readOnlyTool('parent', async (_, ctx) => {
      const seen: string[] = []
      for (let i = 0; i < 4; i++) {
        const end = await ctx.call(child, {})
        seen.push(end.status === 'failure' ? end.failure.code : 'ran')
      }
      return seen
    })
    const runtime = await bench.open([parent, child], { budgets: { session: { repeats: 2 } } })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'parent' }], { batch: 'm' })
    expect(end).toMatchObject({ value: ['ran', 'ran', 'ran', 'ran'] })
  })
})
