// Disk syncs per call. In `power` mode every commit is one sync, so the tests count commits.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime, type Runtime, tool } from 'pawl'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../../src/core/clock.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { argumentTool, readOnlyTool } from '../../kit/simple-tools.ts'
import { countCommits } from '../../kit/stores/count-commits.ts'

const empty = z.object({})
const plain = tool({
  name: 'plain',
  description: 'Must not run twice',
  input: empty,
  concurrency: 'parallel',
  execute: () => 1,
})
const barrier = tool({ name: 'barrier', description: 'One after the other', input: empty, execute: () => 1 })
const readOnly = readOnlyTool('read_only', () => 1)
/** So many steps, one after the other. */
const steps = argumentTool(
  'steps',
  z.object({ n: z.number() }),
  { onCrash: 'rerun', concurrency: 'parallel' },
  async ({ n }, ctx) => {
    for (let index = 0; index < n; index++) await ctx.step(`s${index}`, () => index)
  },
)

let dir: string
const stores: Store[] = []
let runtime: Runtime
let threaded: Runtime
const commits = countCommits()
const open = (writer: 'inline' | 'thread'): Promise<Runtime> => {
  const store = sqliteStore({ file: join(dir, `${writer}.db`), clock: systemClock, commit: 'power', writer })
  stores.push(store)
  return createRuntime({ store, limits: { perSession: 64 }, tools: [plain, barrier, readOnly, steps] })
}
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'pawl-syncs-'))
  runtime = await open('inline')
  threaded = await open('thread')
})
afterAll(async () => {
  for (const each of [runtime, threaded]) await each.close()
  for (const store of stores) await store.close()
  rmSync(dir, { recursive: true })
})

let asked = 0
async function syncs(count: number, name: string, input: object = {}, on = runtime): Promise<number> {
  commits.take()
  await on.session('s').run(Array.from({ length: count }, () => ({ id: `c${asked++}`, name, input })))
  return commits.take()
}

test('DUR-6: a call that must not run twice needs two syncs, and a rerunnable one needs one', async () => {
  expect(await syncs(1, 'plain')).toBe(2)
  expect(await syncs(1, 'read_only')).toBe(1)
})

test.for([[1], [5], [20]])('DUR-6: %i sequential steps need one sync each plus one', async ([n]) => {
  expect(await syncs(1, 'steps', { n })).toBe((n as number) + 1)
})

test('DUR-6: 64 concurrent calls share two syncs', async () => {
  expect(await syncs(64, 'plain')).toBe(2)
  expect(await syncs(64, 'read_only')).toBe(1)
  expect(await syncs(50, 'steps', { n: 5 })).toBe(6)
})

test('DUR-6: with the writer thread, concurrent calls need at most twice as many syncs', async () => {
  expect(await syncs(64, 'read_only', {}, threaded)).toBe(1)
  expect(await syncs(64, 'plain', {}, threaded)).toBeLessThanOrEqual(4)
  expect(await syncs(50, 'steps', { n: 5 }, threaded)).toBeLessThanOrEqual(12)
})

test('DUR-6: for sequential calls, each outcome shares a sync with the start of the next call', async () => {
  expect(await syncs(20, 'barrier')).toBe(21)
})

test('DUR-6: power mode syncs every commit, process mode leaves it to the checkpoint', async () => {
  const level = async (commit: 'power' | 'process'): Promise<unknown> => {
    const seen: unknown[] = []
    const exec = DatabaseSync.prototype.exec
    DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
      seen.push(
        ...sql
          .split(';')
          .filter((part) => part.includes('synchronous'))
          .map((part) => part.trim()),
      )
      return exec.call(this, sql)
    }
    const other = await createRuntime({ store: `sqlite:${join(dir, `${commit}.db`)}`, commit })
    await other.close()
    DatabaseSync.prototype.exec = exec
    return seen
  }
  expect(await level('power')).toEqual(['PRAGMA synchronous = FULL'])
  expect(await level('process')).toEqual(['PRAGMA synchronous = NORMAL'])
})
