// The depth limit of nested calls: a typed failure that the body above sees, on every store and after a crash.

import type { Runtime, Tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { stores, workersOn } from '../../kit/open-runtime.ts'
import { simpleTool } from '../../kit/simple-tools.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'

/** Calls itself until it is as deep as requested; returns the end of the deepest call. */
const recursive = (atBottom: () => unknown = () => 'bottom'): Tool => {
  const down: Tool = simpleTool('down', { onCrash: 'rerun', background: true }, async (input, ctx) => {
    const { levels } = input as { levels: number }
    if (levels === 0) return atBottom()
    const end = await ctx.call(down, { levels: levels - 1 })
    return end.status === 'success' ? end.value : end.status === 'failure' ? end.failure : end
  })
  return down
}

const descend = async (runtime: Runtime, levels: number): Promise<unknown> => {
  const [end] = await runtime.session('s').run([{ id: 'a', name: 'down', input: { levels } }])
  return end?.status === 'success' ? end.value : end
}

const refusal = { code: 'nested_too_deep', class: 'resource_limit', source: 'runtime', retry: { when: 'never' } }

onEachStore('nesting', (bench) => {
  test('CALL-14: 32 levels of nested calls run, and the 33rd is refused to the body above it', async () => {
    const runtime = await bench.open([recursive()])
    expect(await descend(runtime, 32)).toBe('bottom')
    const other = await bench.open([recursive()], { store: 'memory:' })
    expect(await descend(other, 33)).toMatchObject({
      ...refusal,
      message: expect.stringMatching(/33 levels deep; the limit is 32/),
    })
    const recorded = await other.session('s').calls.list({ status: 'failure' })
    expect(recorded.map(({ outcome, attempts }) => [outcome, attempts])).toMatchObject([[{ failure: refusal }, 0]])
  })

  test('CALL-14: endless recursion ends with a failure, also in a task', async () => {
    const runtime = await bench.open([recursive()])
    expect(await descend(runtime, 1_000)).toMatchObject(refusal)
    const { id } = await runtime.session('s').tasks.start({ tool: 'down', input: { levels: 1_000 } })
    const task = await runtime.session('s').tasks.wait(id)
    expect(task).toMatchObject({ state: 'succeeded', outcome: { value: refusal } })
  })

  test('CALL-14: sizes.nesting sets the limit', async () => {
    const runtime = await bench.open([recursive()], { sizes: { nesting: 2 } })
    expect(await descend(runtime, 3)).toMatchObject(refusal)
    expect(await runtime.session('t').run([{ id: 'a', name: 'down', input: { levels: 2 } }])).toMatchObject([
      { value: 'bottom' },
    ])
  })
})

describe.for(stores)('nesting after a crash on %s', ([, fresh]) => {
  const workers = workersOn(fresh)

  test('CALL-14: another worker recovers a chain at the limit, also if its own limit is lower', async () => {
    const { clock, store, open } = workers()
    const dying = mortal(store)
    const reached = Promise.withResolvers<void>()
    const stuck = recursive(() => (reached.resolve(), new Promise(() => {})))
    const first = await open({ tools: [stuck] }, dying.store)
    ignoreResult(first.session('s').run([{ id: 'a', name: 'down', input: { levels: 32 } }]))
    await reached.promise
    await clock.advance('1s')
    dying.die()
    const second = await open({ tools: [recursive()], sizes: { nesting: 4 } })
    await clock.advance('40s')
    expect(await descend(second, 32)).toBe('bottom')
  })
})
