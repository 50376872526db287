// Many undecided approvals: an inbox page is fast, no approval has its own timer, and one decision costs as much as among
// twenty. `npm run test:long` has 10,000 of them.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type InboxItem, type Runtime } from 'pawl'
import { manualClock } from 'pawl/testing'
import { afterAll, describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { long } from '../kit/long-run.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { storeOf } from '../kit/stores/killable-store.ts'
import { argumentTool } from '../kit/simple-tools.ts'

const many = long ? 10_000 : 2_000
const dir = mkdtempSync(join(tmpdir(), 'pawl-pending-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const refund = (ran: unknown[]) =>
  argumentTool(
    'refund',
    { type: 'object', properties: { order: { type: 'string' }, cents: { type: 'number' } } },
    {
      description: 'Refund an order. Money goes back.',
      hints: { destructive: true },
      concurrency: 'parallel',
    },
    (input) => void ran.push(input),
  )

/** Wraps a store and counts its method calls. */
function counted(store: Store): { store: Store; count(): number } {
  let calls = 0
  const methods = Object.entries(store).map(([name, method]) => [
    name,
    typeof method === 'function'
      ? (...args: never[]) => (calls++, (method as (...args: never[]) => unknown)(...args))
      : (method as unknown),
  ])
  return { store: Object.fromEntries(methods) as Store, count: () => calls }
}

const fastest = async (times: number, run: () => Promise<unknown>): Promise<number> => {
  let best = Number.POSITIVE_INFINITY
  for (let n = 0; n < times; n++) {
    const from = performance.now()
    await run()
    best = Math.min(best, performance.now() - from)
  }
  return best
}

describe.each(['memory', 'sqlite'] as const)('many pending approvals on %s', { timeout: 60_000 }, (kind) => {
  test('POL-4 POL-6: inbox pages are fast; the timer count and the cost of a decision are constant', async () => {
    const clock = manualClock()
    const { store, count } = counted(storeOf(kind, join(dir, 'agent.db'), clock))
    const ran: unknown[] = []
    const runtime = await createRuntime({ store, tools: [refund(ran)], clock, logger: quiet, lease: '30d' })
    const fill = async (from: number, to: number): Promise<void> => {
      for (let n = from; n < to; n += 500) {
        const calls = Array.from({ length: Math.min(500, to - n) }, (_, k) => ({
          id: `c${n + k}`,
          name: 'refund',
          input: { order: `A${n + k}`, cents: n + k },
        }))
        const open = await runtime
          .session(`s${n}`, { tenant: n % 1_000 === 0 ? 'even' : 'odd' })
          .run(calls, { until: 'waiting' })
        expect(open.every(({ status }) => status === 'waiting')).toBe(true)
      }
    }
    const costOf = async (
      decide: (runtime: Runtime, item: InboxItem) => Promise<unknown>,
      item: InboxItem,
    ): Promise<number> => {
      const before = count()
      await decide(runtime, item)
      await clock.advance(1)
      return count() - before
    }
    const approve = (of: Runtime, { id }: InboxItem): Promise<unknown> =>
      of.decide(id, { approve: true, by: 'user:bea' })

    await fill(0, 20)
    const timersOfFew = clock.pending
    const [few] = await runtime.inbox()
    const costOfFew = await costOf(approve, few as InboxItem)
    expect(ran).toHaveLength(1)

    await fill(500, many + 500)
    // One timer serves all deadlines; the rest are the timers of the idle runtime.
    expect(clock.pending).toBe(timersOfFew)

    const page = (): Promise<InboxItem[]> => runtime.inbox({ limit: 100 })
    expect(await page()).toHaveLength(100)
    expect(await fastest(20, page)).toBeLessThan(50)
    const odd = await runtime.inbox({ tenant: 'odd', limit: 100 })
    expect(odd.every(({ tenant }) => tenant === 'odd')).toBe(true)
    expect(
      await fastest(20, () => runtime.inbox({ tenant: 'odd', limit: 100, after: odd[99]?.id as string })),
    ).toBeLessThan(50)
    expect(
      await fastest(20, () => runtime.inbox({ tenant: 'odd', session: `s${many - 500}`, limit: 100 })),
    ).toBeLessThan(50)

    // Paging returns every item exactly once.
    const seen = new Set<string>()
    for (let after = ''; ;) {
      const items = await runtime.inbox({ limit: 1_000, ...(after === '' ? {} : { after }) })
      for (const { id } of items) seen.add(id)
      if (items.length < 1_000) break
      after = items.at(-1)?.id as string
    }
    expect(seen.size).toBe(many + 19)

    const [one] = await runtime.inbox({ tenant: 'odd', session: `s${many - 500}` })
    expect(await costOf(approve, one as InboxItem)).toBeLessThanOrEqual(costOfFew + 2)
    expect(ran).toHaveLength(2)

    // Idle time causes almost no store calls.
    const before = count()
    await clock.advance('10m')
    expect(count() - before).toBeLessThan(20)
    expect(clock.pending).toBe(timersOfFew)
    await runtime.close({ grace: 0 })
    await store.close()
  })
})
