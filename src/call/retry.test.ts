import { expect, test } from 'vitest'
import type { Invocation } from '../engine/engine.ts'
import { failure } from '../kernel/outcome.ts'
import { tool } from '../tool/tool.ts'
import { afterFailure } from './retry.ts'

const reads = tool({
  name: 'reads',
  description: 'Reads',
  input: { type: 'object' },
  hints: { readOnly: true },
  retry: { attempts: 10 },
  execute: () => 1,
})
const down = failure({ class: 'internal', code: 'internal_error', message: 'Down' })
const again = (retries: number, derived: number[]): number => {
  const invocation = { retries, derive: () => Uint8Array.from(derived) } as unknown as Invocation
  return (afterFailure(invocation, reads, down) as { again: number }).again
}

test('TIME-4: the delay doubles from 500 ms to 30 s, and a random part of it is waited for', () => {
  const most = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((retries) => Math.round(again(retries, [255, 255, 255])))
  expect(most).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  expect(again(3, [0, 0, 0])).toBe(0)
  expect(again(3, [128, 0, 0])).toBe(2_000)
})

test('TIME-4: the last of its tries is exhausted', () => {
  const invocation = { retries: 9, derive: () => new Uint8Array(3) } as unknown as Invocation
  expect(afterFailure(invocation, reads, down)).toMatchObject({ settle: { failure: { retry: { when: 'exhausted', attempts: 10 } } } })
})
