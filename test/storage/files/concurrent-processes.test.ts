// Several processes on the files of one session: no lost updates, and quotas hold across processes.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openFiles } from '../../../src/storage/files/session-files.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { countedIds, temporary } from './file-backends.ts'

for (const kind of ['the store', 'a folder'] as const) {
  test(
    `BOX-2: three processes count in one file in ${kind} without lost updates or quota overrun`,
    { timeout: 60_000 },
    async () => {
      const place = temporary()
      const file = join(place, 'store.db')
      const folder = kind === 'a folder' ? join(place, 'root') : undefined
      if (folder !== undefined) mkdirSync(folder)
      const store = sqliteStore({ file, clock: systemClock, commit: 'process' })
      try {
        const of = { tenant: 't', session: 's' }
        const files = openFiles({
          store,
          clock: systemClock,
          ids: countedIds,
          of,
          ...(folder === undefined ? {} : { folder }),
        })
        await files.write('count', '0')
        const times = kind === 'a folder' ? 30 : 200
        const children = ['a', 'b', 'c'].map((name) =>
          start('child-counter.ts', { PAWL_COUNT: JSON.stringify({ file, folder, times, name }) }),
        )
        await Promise.all(children.map(word))
        const ends = children.map(word)
        for (const child of children) child.send('go')
        const said = (await Promise.all(ends)) as { refused: number; made: number }[]
        expect((await files.read('count')).text).toBe(String(3 * times))
        expect(said.reduce((sum, { refused }) => sum + refused, 0)).toBeGreaterThan(0)
        // The quota is twelve files, and the counter is one of them.
        expect(said.reduce((sum, { made }) => sum + made, 0)).toBe(11)
        expect((await files.list()).entries).toHaveLength(12)
      } finally {
        await store.close()
        rmSync(place, { recursive: true, force: true })
      }
    },
  )
}

for (const kind of ['the store', 'a folder'] as const) {
  test(`BOX-2: a process killed while writing leaves only whole files in ${kind}`, { timeout: 60_000 }, async () => {
    const place = temporary()
    const file = join(place, 'store.db')
    const folder = kind === 'a folder' ? join(place, 'root') : undefined
    if (folder !== undefined) mkdirSync(folder)
    try {
      const kills = 6
      for (let n = 1; n <= kills; n++) {
        const child = start('child-writer.ts', { PAWL_WRITES: JSON.stringify({ file, folder, name: String(n) }) })
        for (let words = 0; words < n * 3; words++) await word(child)
        child.kill('SIGKILL')
        await new Promise((resolve) => child.once('exit', resolve))
      }
      const store = sqliteStore({ file, clock: systemClock, commit: 'process' })
      const clock = { ...systemClock, now: () => systemClock.now() + (kills + 1) * 60_000 }
      const files = openFiles({
        store,
        clock,
        ids: countedIds,
        of: { tenant: 't', session: 's' },
        ...(folder === undefined ? {} : { folder }),
      })
      const found = (await files.glob('**')).entries.filter((each) => each.kind === 'file')
      expect(found).toHaveLength(kills)
      for (const { path } of found) {
        const { text } = await files.read(path)
        expect(text === (text as string).slice(0, 1).repeat(300_000)).toBe(true)
      }
      await files.write('after', 'x')
      if (folder !== undefined)
        expect(
          readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((each) => each.includes('.pawl-')),
        ).toEqual([])
      else
        expect(await store.documentsOf({ of: 'file-part', after: '', limit: 1000 })).toHaveLength(
          kills * Math.ceil(300_000 / 65_536) + 1,
        )
      await store.close()
    } finally {
      rmSync(place, { recursive: true, force: true })
    }
  })
}

const running: ChildProcess[] = []
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})

function start(script: string, env: Record<string, string>): ChildProcess {
  const child = fork(join(import.meta.dirname, script), { env: { ...process.env, ...env } })
  running.push(child)
  return child
}

/** The next message of a child. */
const word = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (said) => {
      child.off('exit', ended)
      resolve(said)
    })
  })
