// The two connections of a SQLite store (event loop and thread) together with another process.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { GroupWriter } from '../../../src/store/sqlite/group-writer.ts'
import type { Change, Hint, Written } from '../../../src/store/store.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import {
  answerWait,
  callRecord,
  change,
  eventRecord,
  insert,
  insertWaits,
  stepRecord,
  waitRecord,
} from '../../../src/testing/store-cases/record-builders.ts'
import { freshDir } from '../../kit/stores/fresh-store.ts'

const block = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

describe('writes of another process', () => {
  test.each([
    ['the poll runs at another time', false],
    ['the poll runs between a commit of the thread and its answer', true],
  ])(
    'TIME-3, WAIT-2: a foreign write (a cancel, an answer) is noticed by the next poll: %s',
    async (_, between) => {
      const file = join(freshDir(), 'a.db')
      let poll = (): void => {}
      const a = sqliteStore({
        file,
        commit: 'process',
        writer: 'thread',
        clock: {
          ...manualClock(),
          every(_, chore) {
            poll = chore
            return () => {}
          },
        },
      })
      const b = sqliteStore({ file, clock: manualClock(), commit: 'process', writer: 'inline' })
      const heard: Hint[] = []
      a.onHint((hint) => void heard.push(hint))
      const write = (at: number): Change => change({ events: [eventRecord(at)] })
      const polls = async (n: number): Promise<void> => {
        for (let i = 0; i < n; i++) {
          poll()
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
      }
      await a.commit(write(1))
      await polls(2)
      await a.commit(write(2)) // the thread takes over writing
      await new Promise<void>((resolve) => setImmediate(resolve))
      // The thread commits while the loop is busy, and the poll runs before its answer is read.
      const third = a.commit(write(3))
      await new Promise<void>((resolve) => setImmediate(resolve)) // the group is sent
      block(300)
      if (between) poll()
      await third
      await polls(1) // the event loop takes over writing again
      heard.length = 0
      await b.commit(write(4)) // another process writes, and then this one, before the next poll
      await a.commit(write(5))
      await polls(20)
      const outside = heard.filter((hint) => hint.outside).length
      await a.close()
      await b.close()
      expect(outside).toBeGreaterThan(0)
    },
    20_000,
  )
})

describe('a group with an unwritable change', () => {
  test('DUR-1, WAIT-2: a foreign lock while a group is written one by one never doubles a change', async () => {
    const file = join(freshDir(), 'a.db')
    const store = sqliteStore({ file, clock: systemClock, commit: 'process', writer: 'inline' })
    await insert(store, callRecord('c'))
    await insertWaits(store, waitRecord('w', 'c'))
    await store.close()

    const db = new DatabaseSync(file, { timeout: 5_000 })
    const other = new DatabaseSync(file, { timeout: 0 })
    let commits = 0
    // Another process locks the file right after our first commit for 150 ms, longer than the loop waits.
    const seen = new Proxy(db, {
      get(target, name) {
        if (name === 'isTransaction') return target.isTransaction
        if (name !== 'prepare') return (target[name as 'exec'] as () => void).bind(target)
        return (sql: string) => {
          const statement = target.prepare(sql)
          if (sql !== 'COMMIT') return statement
          return {
            run() {
              statement.run()
              if (++commits !== 1) return
              other.exec('BEGIN IMMEDIATE')
              setTimeout(() => other.exec('COMMIT'), 150)
            },
          }
        }
      },
    })
    const writer = new GroupWriter(
      seen,
      systemClock,
      { file, synchronous: 'NORMAL' },
      'adaptive',
      () => {},
      () => false,
    )
    const unwritable = change({ steps: [stepRecord('c', 'k', { value: {} as never })] })
    const answers: Written[] = await writer.write([
      { ...answerWait('w'), events: [eventRecord(1)] },
      change({ events: [eventRecord(2)] }),
      unwritable,
      change({ events: [eventRecord(3)] }),
    ])
    const events = (db.prepare('SELECT at FROM events ORDER BY position').all() as { at: number }[]).map(({ at }) => at)
    await writer.close()
    other.close()
    db.close()
    expect(answers[2]).toHaveProperty('failed')
    expect([answers[0], answers[1], answers[3]]).toEqual([{ ok: true }, { ok: true }, { ok: true }])
    expect(events).toEqual([1, 2, 3])
  })
})
