// runtime.calls.recent(): the newest calls of all sessions, in pages, with filters.

import { createRuntime, fail, type RecentCall, type Runtime, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { quiet } from '../kit/stores/fresh-store.ts'

const secret = 'sk-recent-4711-secret'
const add = tool({
  name: 'add',
  description: 'd',
  input: z.object({ n: z.number() }),
  execute: ({ n }) => (n % 2 === 0 ? n : fail(`Odd: ${n}, ${secret}`)),
})
const other = tool({ name: 'other', description: 'd', input: z.object({}), execute: () => 'x' })

let runtime: Runtime
beforeEach(async () => {
  runtime = await createRuntime({ store: 'memory:', tools: [add, other], secrets: [secret], logger: quiet })
  for (let n = 0; n < 10; n++)
    await runtime
      .session(`s${n % 3}`, { tenant: n % 2 === 0 ? 'acme' : 'rival' })
      .run([{ id: `c${n}`, name: n === 8 ? 'other' : 'add', input: n === 8 ? {} : { n: n < 5 ? n : n * 2 } }])
})
afterEach(() => runtime.close())

const ids = (calls: readonly RecentCall[]): string[] => calls.map(({ callId }) => callId)

test('CALL-6: recent calls of a tenant come newest first, and each page continues the last one', async () => {
  const pages: string[][] = []
  let before: string | null = null
  do {
    const page = await runtime.calls.recent({ tenant: 'acme', limit: 2, ...(before === null ? {} : { before }) })
    if (page.calls.length > 0) pages.push(ids(page.calls))
    before = page.next
  } while (before !== null)
  expect(pages).toEqual([['c8', 'c6'], ['c4', 'c2'], ['c0']])
  expect(ids((await runtime.calls.recent()).calls)).toEqual(Array.from({ length: 10 }, (_, n) => `c${9 - n}`))
})

test('CALL-6: recent calls are filtered by session, tool and status', async () => {
  expect(ids((await runtime.calls.recent({ tool: 'other' })).calls)).toEqual(['c8'])
  expect(ids((await runtime.calls.recent({ session: 's1', tenant: 'acme' })).calls)).toEqual(['c4'])
  expect(ids((await runtime.calls.recent({ status: 'failure' })).calls)).toEqual(['c3', 'c1'])
  expect((await runtime.calls.recent({ status: 'running' })).calls).toEqual([])
})

test('CALL-6: recent calls of a period include its start and not its end', async () => {
  const clock = manualClock()
  const timed = await createRuntime({ store: 'memory:', tools: [add], clock, logger: quiet })
  for (let n = 0; n < 6; n++) {
    await timed.session('s').run([{ id: `t${n}`, name: 'add', input: { n: 2 } }])
    await clock.advance('1s')
  }
  const at = (await timed.calls.recent()).calls.map(({ createdAt }) => createdAt).toReversed()
  const page = await timed.calls.recent({ since: at[2] ?? 0, until: at[4] ?? 0 })
  expect(ids(page.calls)).toEqual(['t3', 't2'])
  expect(page.next).toBeNull()
  expect(ids((await timed.calls.recent({ until: at[1] ?? 0 })).calls)).toEqual(['t0'])
  expect((await timed.calls.recent({ since: clock.now() })).calls).toEqual([])
  await timed.close()
})

test('DUR-12: rows of recent calls have neither arguments nor results nor secrets', async () => {
  const { calls } = await runtime.calls.recent({ status: 'failure', limit: 1 })
  expect(calls).toMatchObject([{ name: 'add', status: 'failure', message: 'Odd: 3, [redacted]', tenant: 'rival' }])
  expect(Object.keys(calls[0] ?? {})).not.toEqual(expect.arrayContaining(['input', 'outcome', 'value']))
})
