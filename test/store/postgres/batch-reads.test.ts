// BatchReader: concurrent reads are combined into one query, and each caller gets its own records.

import { expect, test } from 'vitest'
import { BatchReader } from '../../../src/store/postgres/batch-reads.ts'

interface Query {
  readonly keys: readonly string[]
  answer(): void
  fail(): void
}

/** Two rows per key, except for 'none'. Queries stay open until answer() or fail(). */
function bench(): { together: BatchReader<{ key: string; n: number }, { n: number }>; queries: Query[] } {
  const queries: Query[] = []
  const query = (keys: readonly string[]): Promise<{ key: string; n: number }[]> =>
    new Promise((resolve, reject) => {
      const rows = keys.flatMap((key) => (key === 'none' ? [] : [1, 2].map((n) => ({ key, n }))))
      queries.push({ keys, answer: () => resolve(rows.toReversed()), fail: () => reject(new Error('away')) })
    })
  return { together: new BatchReader({ query, keyOf: ({ key }) => key, toRecord: ({ n }) => ({ n }) }), queries }
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

test('concurrent reads are one query with separate records per caller', async () => {
  const { together, queries } = bench()
  const asked = Promise.all([together.all('a'), together.all('b'), together.all('a'), together.one('none')])
  await turn()
  expect(queries.map(({ keys }) => keys)).toEqual([['a', 'b', 'none']])
  queries[0]?.answer()
  const [first, second, again, none] = await asked
  expect([first, second, again, none]).toEqual([
    [{ n: 2 }, { n: 1 }],
    [{ n: 2 }, { n: 1 }],
    [{ n: 2 }, { n: 1 }],
    undefined,
  ])
  expect(first[0]).not.toBe(again[0])
})

test('at most two queries run; later reads go into the next one, even for the same key', async () => {
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

test('reads beyond the batch size are split, and a failed query rejects only its own reads', async () => {
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
