// A race: another process swaps directories for links to the outside while every operation runs, for a few seconds, or
// 60 with `npm run test:long`. A naive read runs alongside and does escape, which proves the race.

import { fork } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PawlError } from '../../../src/core/errors.ts'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { keepingOn } from './file-backends.ts'
import { long } from '../../kit/long-run.ts'
import { ground, secret } from '../../kit/folder-escape-detector.ts'

const expected = (error: unknown): undefined => {
  if (!(error instanceof PawlError) || !/^(file|directory)_/.test(error.code)) throw error
}

const seconds = long ? 60 : 4

test(
  `BOX-2: no operation follows a swapped link in a race of ${seconds} seconds`,
  { timeout: (seconds + 30) * 1000 },
  async () => {
    const { root, outside, trace, end } = ground()
    mkdirSync(join(root, 'd/deep'), { recursive: true })
    for (const name of ['d/canary', 'd/deep/canary', 'f']) writeFileSync(join(root, name), 'inside')
    const before = trace()
    const clock = manualClock()
    const files = keepingOn('', memoryStore({ clock }), clock, root).open()
    const swapper = fork(join(import.meta.dirname, 'child-link-swap.ts'), [root, outside])
    const counts = { operations: 0, done: 0, refused: 0, careless: 0 }
    try {
      await new Promise((resolve) => swapper.once('message', resolve))
      const operations: (() => Promise<unknown>)[] = [
        () => files.read('d/canary'),
        () => files.read('d/deep/canary'),
        // The window between check and open is short; concurrent reads hit it more often.
        ...Array.from(
          { length: 4 },
          () => () => Promise.all(Array.from({ length: 16 }, () => files.read('f').catch(expected))),
        ),
        () => files.write('d/canary', 'inside'),
        () => files.write('d/deep/canary', 'inside'),
        () => files.write('f', 'inside'),
        () => files.write('d/new/one', 'inside'),
        () => files.stat('d/deep/canary'),
        () => files.list('d'),
        () => files.list('d/deep'),
        () => files.glob('d/**'),
        () => files.makeDirectory('d/made'),
        () => files.move('d/canary', 'd/deep/moved', { replace: true }),
        () => files.move('d/deep/moved', 'd/canary', { replace: true }),
        () => files.remove('d/canary'),
        () => files.remove('d/new', { recursive: true }),
        () => files.remove('d/made'),
      ]
      const until = performance.now() + seconds * 1000
      const shown: string[] = []
      while (performance.now() < until) {
        for (const operation of operations) {
          counts.operations++
          try {
            const answer = JSON.stringify((await operation()) ?? null, (key, value: unknown) =>
              key === 'bytes' && typeof value === 'object' ? undefined : value,
            )
            if (answer.includes(secret) || answer.includes('"link"')) shown.push(answer)
            counts.done++
          } catch (error) {
            if (!(error instanceof PawlError)) throw error
            expect(error.code).toMatch(/^(file|directory)_/)
            counts.refused++
          }
          try {
            if (readFileSync(join(root, 'd/canary'), 'utf8') === secret) counts.careless++
          } catch {}
        }
      }
      expect(shown).toEqual([])
      expect(trace()).toBe(before)
      // Proves the race: operations succeeded and failed, and the naive read escaped.
      for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0)
      const { swaps } = await new Promise<{ swaps: number }>((resolve) => {
        swapper.once('message', (word) => resolve(word as { swaps: number }))
        swapper.send('how many')
      })
      expect(swaps).toBeGreaterThan(500)
      console.log(`race: ${JSON.stringify({ ...counts, swaps })}`)
    } finally {
      swapper.disconnect()
      await new Promise((resolve) => (swapper.exitCode === null ? swapper.once('exit', resolve) : resolve(undefined)))
      end()
    }
  },
)
