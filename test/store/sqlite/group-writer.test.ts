// The SQLite group writer: event loop and thread give the same answers, and groups survive the loss of the thread.

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
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
import {
  callRecord,
  change,
  eventRecord,
  stepRecord,
  waitRecord,
} from '../../../src/testing/store-cases/record-builders.ts'
import { watchEventLoop } from '../../kit/event-loop-pauses.ts'

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
/** The threads that received messages, of all stores opened from now on. */
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
const many = (count: number): Change[] =>
  Array.from({ length: count }, (_, at) => change({ events: [eventRecord(at)] }))
const countOf = async (store: Store): Promise<number> => (await store.events({ after: 0, limit: 100_000 })).length

test('DUR-6: event loop and thread give the same answers, even for unwritable changes', async () => {
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
  expect(told[0]).toMatchObject([
    { ok: true },
    { ok: false },
    { ok: true },
    { alone: true, errcode: 2067 },
    { alone: true },
    {},
    {},
    {},
  ])
})

test('DUR-6: the event loop writes small groups and the thread writes large ones', async () => {
  const asked = threads()
  const { store } = open({ commit: 'process' }) // no sync, so a slow disk cannot move small groups to the thread
  await written(store, many(1))
  expect(asked).toEqual([])
  await vi.waitFor(async () => {
    await written(store, many(300))
    expect(asked).toHaveLength(1)
  })
  // Small groups return to the event loop after a while without large ones.
  await vi.waitFor(async () => {
    const before = vi.mocked(Worker.prototype.postMessage).mock.calls.length
    await written(store, many(1))
    expect(vi.mocked(Worker.prototype.postMessage).mock.calls.length).toBe(before)
  })
})

test('DUR-6: if the thread dies, its group has an unknown result; acknowledged writes are kept', async () => {
  const asked = threads()
  const { store, file } = open({ writer: 'thread' })
  let acknowledged = 0
  let unknown = 0
  for (let round = 0; round < 20; round++) {
    const answers = written(store, many(10))
    // The first group is in flight when the thread is terminated.
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

describe('while another process holds the write lock', () => {
  test('DUR-6: the event loop is not blocked, and everything is written in the end', async () => {
    const { store, file } = open()
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    const pauses = watchEventLoop()
    const writing: unknown[] = [
      store.commit(change({ events: [eventRecord(1)] })),
      store.renew('w', 1_000),
      store.setting('k', 'v'),
    ]
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const longest = pauses.stop()
    other.exec('ROLLBACK')
    other.close()
    expect(await Promise.all(writing as Promise<unknown>[])).toEqual([{ ok: true }, 1, 'v'])
    expect(longest).toBeLessThan(500)
  })
})

test('DUR-6: checkpoints run off the event loop, and the WAL stays bounded', async () => {
  const { store, file } = open({ commit: 'process' })
  const value = JSON.stringify('x'.repeat(20_000))
  for (let n = 0; n < 2_000; n++) await store.commit(change({ steps: [stepRecord('c', `${n}`, { value })] }))
  // 2,000 times 20 kB were written; from 16 MB on the thread checkpoints.
  expect(statSync(`${file}-wal`).size).toBeLessThan(30_000_000)
})

test('DUR-6: a process that waits for the lock of another one stays alive', async () => {
  const { store, file } = open()
  const release = vi.fn<() => void>()
  const hold = vi.spyOn(systemClock, 'hold').mockReturnValue(release)
  const other = new DatabaseSync(file)
  other.exec('BEGIN IMMEDIATE')
  const renewed = store.renew('w', 60_000)
  expect(hold).toHaveBeenCalledTimes(1)
  expect(release).not.toHaveBeenCalled()
  other.exec('COMMIT')
  expect(await renewed).toBe(1)
  expect(release).toHaveBeenCalledTimes(1)
  other.close()
})

test('FEED-1: writes of our own thread are not reported as foreign, writes of others are', async () => {
  const clock = manualClock()
  const { store: other, file } = open({ clock })
  const store = sqliteStore({ file, clock, commit: 'power', writer: 'thread' })
  stores.push(store)
  let outside = 0
  store.onHint((hint) => void (hint.outside && outside++))
  const looked = async (): Promise<number> => {
    await clock.advance(100)
    // The thread answers in order, so the poll was answered before this commit.
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

describe('in a child process', () => {
  const child = join(import.meta.dirname, 'child-writer.ts')
  const said = async (flags: readonly string[], from: string, ...close: 'close'[]): Promise<unknown> => {
    const { stdout } = await run(process.execPath, [...flags, child, from, join(freshDir(), 'a.db'), ...close], {
      timeout: 15_000,
    })
    return JSON.parse(stdout)
  }
  const answers = [{ ok: true }, { ok: true }, { ok: true }]

  test('DUR-6: from source, the thread does not keep a process alive without close()', async () => {
    expect(await said([], join(root, 'src'))).toEqual({ answers, threads: 1, events: 3 })
  })
  test('DUR-13: the process stays alive until close() resolves', async () => {
    expect(await said([], join(root, 'src'), 'close')).toEqual({ answers, threads: 1, events: 3 })
  })
  test('DUR-6: where threads are not permitted, the event loop writes', async () => {
    const flags = ['--permission', '--allow-fs-read=*', '--allow-fs-write=*']
    expect(await said(flags, join(root, 'src'))).toEqual({ answers, threads: 0, events: 3 })
  })
})
