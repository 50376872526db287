// Remembered rules of an older store may have patterns that are refused now. They must not widen access or break the
// tool.

import { tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { collections } from '../../src/store/collections.ts'
import { stores, workersOn } from '../kit/open-runtime.ts'
import { advanceUntil } from '../kit/wait-until.ts'

describe.each(stores)('remembered patterns on %s', (_kind, fresh) => {
  const world = workersOn(fresh)
  test.each([
    ['approve', 'asks again', 'ask', { status: 'waiting' }],
    ['deny', 'denies', 'be denied', { status: 'failure', failure: { code: 'denied_by_person' } }],
  ] as const)('POL-3: a remembered %s whose pattern is refused now %s', async (then, _effect, would, outcome) => {
    const { clock, store, open } = world()
    const sql = tool({
      name: 'sql',
      description: 'd',
      input: { type: 'object', properties: { q: { type: 'string' } } },
      approval: 'always',
      execute: () => 1,
    })
    const warnings: [string, unknown][] = []
    const ignore = (): void => {}
    const warn = (message: string, fields: object): void => void warnings.push([message, fields])
    const logger = { debug: ignore, info: ignore, error: ignore, warn } as never
    const runtime = await open({ tools: [sql], logger })
    const session = runtime.session('s')
    void session.run([{ id: 'a', name: 'sql', input: { q: 'drop' } }]).catch(ignore)
    await advanceUntil(clock, async () => (await runtime.inbox()).length === 1)
    const [item] = await runtime.inbox()
    const verb = then === 'approve' ? { approve: true } : { deny: true }
    const remember = { when: { q: { matches: 'drop' } } }
    await runtime.decide(item?.id ?? '', { ...verb, by: 'user:bea', remember } as never)
    await clock.advance('1s')
    // As an earlier version accepted and stored it.
    const of = { tenant: 'default', session: 's' }
    for await (const { key, value } of collections.rule.iterate(store, of)) {
      const changed = value.replace('"drop"', '"(?i)drop"')
      await store.commit({
        guards: [],
        documents: [{ ...collections.rule.name(of, key), value: changed }],
        events: [],
      })
    }
    const run = session.run([{ id: 'b', name: 'sql', input: { q: 'drop' } }], { until: 'waiting' })
    for (let n = 0; n < 5; n++) await clock.advance('1s')
    expect(await run).toMatchObject([outcome])
    expect(warnings).toEqual([
      [expect.stringMatching(/remembered rule .*; revoke it$/), expect.objectContaining({ tool: 'sql' })],
    ])
    expect(await runtime.explain({ tool: 'sql', input: { q: 'drop' }, session: 's' })).toMatchObject({ would })
  })
})
