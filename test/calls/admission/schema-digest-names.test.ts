// A property may be named like an annotation keyword. A rule about it must count as a change of the schema.

import { tool, type Tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { hang } from '../../kit/simple-tools.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { stores, workersOn } from '../../kit/open-runtime.ts'

describe.each(stores)('schema digest on %s', (_kind, fresh) => {
  const world = workersOn(fresh, { lease: '1s' })
  test('DUR-15: a dependentRequired for a property named `title` counts as a change', async () => {
    const { clock, store, open } = world()
    const seen: unknown[] = []
    const work = (dependentRequired: object, execute: (given: unknown) => unknown): Tool =>
      tool({
        name: 'work',
        description: 'd',
        onCrash: 'rerun',
        input: {
          type: 'object',
          properties: { title: { type: 'string' }, author: { type: 'string' } },
          dependentRequired,
        },
        execute,
      } as never)
    const life = mortal(store)
    const old = await open({ tools: [work({}, hang)] }, life.store)
    void old
      .session('s')
      .run([{ id: 'a', name: 'work', input: { title: 'x' } }])
      .catch(() => {})
    for (let n = 0; n < 5; n++) await clock.advance(100)
    life.die()
    await clock.advance('10s')
    const next = await open({ tools: [work({ title: ['author'] }, (given) => void seen.push(given))] })
    for (let n = 0; n < 10; n++) await clock.advance('1s')
    expect(seen).toEqual([])
    expect((await next.session('s').calls.get('a'))?.outcome).toMatchObject({ failure: { code: 'tool_changed' } })
  })
})
