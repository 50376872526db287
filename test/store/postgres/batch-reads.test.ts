// Reads that are asked for at once are one query, and everybody gets what is theirs.

import { expect, test } from 'vitest'
import { Together } from '../../../src/store/postgres/batch-reads.ts'

interface Query {
  readonly keys: readonly string[]
  answer(): void
  fail(): void
}

/** Two rows per key, except for 'none'. Queries wait until they are told to answer. */
function bench(): { together: Together<{ key: string; n: number }, { n: number }>; queries: Query[] } {
  const queries: Query[] = []
  const query = (keys: readonly string[]): Promise<{ key: string; n: number }[]> =>
    new Promise((resolve, reject) => {
      const rows = keys.flatMap((key) => (key === 'none' ? [] : [1, 2].map((n) => ({ key, n }))))
      queries.push({ keys, answer: () => resolve(rows.toReversed()), fail: () => reject(new Error('away')) })
    })
  return { together: new Together({ query, keyOf: ({ key }) => key, of: ({ n }) => ({ n }) }), queries }
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

test('asked for at once: one query, a record of their own for everybody, nothing where nothing is', async () => {
  const { together, queries } = bench()
  const asked = Promise.all([together.all('a'), together.all('b'), together.all('a'), together.one('none')])
  await turn()
  expect(queries.map(({ keys }) => keys)).toEqual([['a', 'b', 'none']])
  queries[0]?.answer()
  const [first, second, again, none] = await asked
  expect([first, second, again, none]).toEqual([[{ n: 2 }, { n: 1 }], [{ n: 2 }, { n: 1 }], [{ n: 2 }, { n: 1 }], undefined])
  expect(first[0]).not.toBe(again[0])
})

test('two queries are under way at most; who asks meanwhile is in the next, also for a key that is being read', async () => {
  const { together, queries } = bench()
  const asked: Promise<unknown>[] = []
  for (const key of ['a', 'b', 'a', 'c']) {
    asked.push(together.all(key))
    await turn()
  }
  expect(queries.map(({ keys }) => keys)).toEqual([['a'], ['b']])
  queries[1]?.answer()
  await turn()
  expect(queries.map(({ keys }) => keys)).toEqual([['a'], ['b'], ['a', 'c']])
  for (const { answer } of queries) answer()
  expect(await Promise.all(asked)).toHaveLength(4)
})

test('more than one query takes are several; one that fails fails those who asked with it alone', async () => {
  const { together, queries } = bench()
  const asked = Promise.allSettled(Array.from({ length: 1_200 }, (_, index) => together.one(`k${index}`)))
  await turn()
  queries[0]?.fail()
  await turn()
  expect(queries.map(({ keys }) => keys.length)).toEqual([500, 500, 200])
  for (const { answer } of queries) answer()
  const ends = await asked
  expect(ends.slice(0, 500).every(({ status }) => status === 'rejected')).toBe(true)
  expect(ends.slice(500).every(({ status }) => status === 'fulfilled')).toBe(true)
})
