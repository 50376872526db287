// The SQLite writer: by the event loop or by a thread, with the same answers; and what becomes of the groups when the thread does not.

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { sqliteStore, type SqliteOptions } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Change, Store, Written } from '../../../src/store/store.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { callRecord, change, eventRecord, stepRecord, waitRecord } from '../../../src/testing/store-cases/record-builders.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')
const dirs: string[] = []
const stores: Store[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.allSettled(stores.splice(0).map((store) => store.close()))
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true })
})

function freshDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-writer-'))
  dirs.push(dir)
  return dir
}
function open(options: Partial<SqliteOptions> = {}): { store: Store; file: string } {
  const file = join(freshDir(), 'a.db')
  const store = sqliteStore({ file, clock: systemClock, commit: 'power', ...options })
  stores.push(store)
  return { store, file }
}
/** Who was asked: the threads of the stores opened meanwhile. */
function threads(): Worker[] {
  const found: Worker[] = []
  const post = Worker.prototype.postMessage
  vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, ...args) {
    if (!found.includes(this)) found.push(this)
    return post.apply(this, args)
  })
  return found
}
const written = (store: Store, changes: readonly Change[]): Promise<Written[]> =>
  Promise.all(changes.map((each) => new Promise<Written>((resolve) => store.write(each, resolve))))
const many = (count: number): Change[] => Array.from({ length: count }, (_, at) => change({ events: [eventRecord(at)] }))
const countOf = async (store: Store): Promise<number> => (await store.events({ after: 0, limit: 100_000 })).length

test('DUR-6: both paths give the same answers, also for what can never be written', async () => {
  const call = callRecord('a')
  const changes = [
    change({ insertCall: call, events: [eventRecord(1)] }),
    change({ guards: [{ kind: 'holds', call: 'a', fence: 2 }], events: [eventRecord(2)] }),
    change({ insertWaits: [waitRecord('w', 'a')] }),
    change({ insertWaits: [waitRecord('v', 'a', { keyHash: 'key of w' })] }),
    change({ steps: [stepRecord('a', 's', { at: undefined as never })] }),
    change({ steps: [stepRecord('a', 's', { value: (() => {}) as never })] }),
    change({ guards: [{ kind: 'open', wait: 'none' }] }),
    change({ steps: [stepRecord('a', 'fine')], events: [eventRecord(3)] }),
  ]
  const told = []
  for (const writer of ['inline', 'thread'] as const) {
    const { store } = open({ writer })
    const answers = await written(store, changes)
    told.push(
      answers.map((each) => {
        if (!('failed' in each)) return each
        const { message, code, errcode } = each.failed as { message: string; code?: string; errcode?: number }
        return { message, code, errcode, alone: each.alone }
      }),
    )
    expect(await countOf(store)).toBe(2)
    expect((await store.steps('a')).map(({ key }) => key)).toEqual(['fine'])
  }
  expect(told[1]).toEqual(told[0])
  expect(told[0]).toMatchObject([{ ok: true }, { ok: false }, { ok: true }, { alone: true, errcode: 2067 }, { alone: true }, {}, {}, {}])
})

test('DUR-6: small groups are written here, large ones by the thread, once it is there', async () => {
  const asked = threads()
  const { store } = open({ commit: 'process' }) // no disk is slow for that
  await written(store, many(1))
  expect(asked).toEqual([])
  await vi.waitFor(async () => {
    await written(store, many(300))
    expect(asked).toHaveLength(1)
  })
  // Small ones again, after a moment without large ones.
  await vi.waitFor(async () => {
    const before = vi.mocked(Worker.prototype.postMessage).mock.calls.length
    await written(store, many(1))
    expect(vi.mocked(Worker.prototype.postMessage).mock.calls.length).toBe(before)
  })
})

test('DUR-6: a thread that dies leaves its group unknown, loses nothing acknowledged, and is done without', async () => {
  const asked = threads()
  const { store, file } = open({ writer: 'thread' })
  let acknowledged = 0
  let unknown = 0
  for (let round = 0; round < 20; round++) {
    const answers = written(store, many(10))
    // The first is on its way when the thread is ended, in the middle of whatever it does.
    if (round === 5) setImmediate(() => void asked[0]?.terminate())
    for (const answer of await answers) {
      if ('failed' in answer) {
        expect(answer.failed).toMatchObject({ code: 'store_unavailable' })
        unknown++
      } else if (answer.ok) acknowledged++
    }
  }
  expect(acknowledged).toBeGreaterThanOrEqual(190)
  expect(acknowledged + unknown).toBe(200)
  await store.close()
  const db = new DatabaseSync(file)
  const [found] = db.prepare('SELECT count(*) AS n FROM events').all() as { n: number }[]
  db.close()
  expect([acknowledged, 200]).toContain(found?.n)
})

describe('another process writes', () => {
  test('DUR-6: meanwhile the event loop turns, and everything is written in the end', async () => {
    const { store, file } = open()
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    let longest = 0
    let last = performance.now()
    const ticking = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 5)
    const writing: unknown[] = [store.commit(change({ events: [eventRecord(1)] })), store.renew('w', 1_000), store.setting('k', 'v')]
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    clearInterval(ticking)
    other.exec('ROLLBACK')
    other.close()
    expect(await Promise.all(writing as Promise<unknown>[])).toEqual([{ ok: true }, 1, 'v'])
    expect(longest).toBeLessThan(500)
  })
})

test('DUR-6: the WAL is written back beside the event loop, and does not grow without end', async () => {
  const { store, file } = open({ commit: 'process' })
  const value = JSON.stringify('x'.repeat(20_000))
  for (let n = 0; n < 2_000; n++) await store.commit(change({ steps: [stepRecord('c', `${n}`, { value })] }))
  // 2,000 times 20 kB were written; from 16 MB on the thread takes over.
  expect(statSync(`${file}-wal`).size).toBeLessThan(30_000_000)
})

test('FEED-1: what our own thread writes is no news from outside; what others write is', async () => {
  const clock = manualClock()
  const { store: other, file } = open({ clock })
  const store = sqliteStore({ file, clock, commit: 'power', writer: 'thread' })
  stores.push(store)
  let outside = 0
  store.onHint((hint) => void (hint.outside && outside++))
  const looked = async (): Promise<number> => {
    await clock.advance(100)
    // The thread answers in order: it has been asked for news before this.
    await store.commit(change({}))
    const seen = outside
    outside = 0
    return seen
  }
  await written(store, many(3))
  for (let n = 0; n < 3; n++) {
    await written(store, many(3))
    expect(await looked()).toBe(0)
  }
  await other.commit(change({ events: [eventRecord(9)] }))
  await written(store, many(3))
  expect(await looked()).toBe(1)
})

describe('as a program', () => {
  const child = join(import.meta.dirname, 'child-writer.ts')
  const said = async (flags: readonly string[], from: string, ...close: 'close'[]): Promise<unknown> => {
    const { stdout } = await run(process.execPath, [...flags, child, from, join(freshDir(), 'a.db'), ...close], { timeout: 15_000 })
    return JSON.parse(stdout)
  }
  const answers = [{ ok: true }, { ok: true }, { ok: true }]

  test('DUR-6: from source, and the thread does not keep a program alive that forgot to close', async () => {
    expect(await said([], join(root, 'src'))).toEqual({ answers, threads: 1, events: 3 })
  })
  test('DUR-13: who waits for close() lives to see it', async () => {
    expect(await said([], join(root, 'src'), 'close')).toEqual({ answers, threads: 1, events: 3 })
  })
  test('DUR-6: where no thread may be started, the event loop writes', async () => {
    const flags = ['--permission', '--allow-fs-read=*', '--allow-fs-write=*']
    expect(await said(flags, join(root, 'src'))).toEqual({ answers, threads: 0, events: 3 })
  })
  test('DUR-6: from the built package', { timeout: 60_000 }, async () => {
    const out = freshDir()
    writeFileSync(join(out, 'package.json'), '{"type":"module"}')
    await run(join(root, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.build.json', '--outDir', out], { cwd: root })
    expect(await said([], out)).toEqual({ answers, threads: 1, events: 3 })
  })
})
