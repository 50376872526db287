import { retry, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Execution } from '../../../src/engine/engine.ts'
import { failure, type Outcome } from '../../../src/core/outcome.ts'
import type { Tool } from '../../../src/tools/tool.ts'
import { decideRetry } from '../../../src/calls/attempts/attempt-loop.ts'

const input = { type: 'object' } as const
const reads = (more: object): Tool =>
  tool({ name: 'reads', description: 'Reads', input, hints: { readOnly: true }, execute: () => 1, ...more })

/** A call with this number of retries; its jitter is at the maximum. */
const tried = (retries: number): Execution =>
  ({ retries, derive: () => new Uint8Array(3).fill(255) }) as unknown as Execution
const delay = (retries: number, of: Tool, outcome: Outcome): number | undefined => {
  const verdict = decideRetry(tried(retries), of, outcome)
  return 'delayMs' in verdict ? Math.ceil(verdict.delayMs) : undefined
}
const down = failure({ class: 'unavailable', code: 'down', message: 'Down' })

describe('TIME-4: retry decisions and delays', () => {
  test('TIME-4: the backoff begins at the base, doubles with every attempt, and ends at the cap', () => {
    const of = reads({ retry: { attempts: 6, base: '1s', cap: '5s' } })
    expect([0, 1, 2, 3, 4, 5].map((retries) => delay(retries, of, down))).toEqual([
      1_000,
      2_000,
      4_000,
      5_000,
      5_000,
      undefined,
    ])
    expect(delay(0, reads({ retry: { attempts: 2 } }), down)).toBe(500)
  })

  test('TIME-4: the delay has full jitter', () => {
    const verdict = decideRetry(
      { ...tried(0), derive: () => Uint8Array.of(128, 0, 0) },
      reads({ retry: { attempts: 2 } }),
      down,
    )
    expect(verdict).toEqual({ delayMs: 250 })
  })

  test('TIME-4: an exceeded deadline is never retried', () => {
    const late = failure({ class: 'timeout', code: 'deadline_exceeded', message: 'Late' })
    const slow = failure({ class: 'timeout', code: 'attempt_timeout', message: 'Slow' })
    const of = reads({ retry: { attempts: 3 } })
    expect(decideRetry(tried(0), of, late)).toEqual({ settle: late })
    expect(delay(0, of, slow)).toBe(500)
  })

  test('TIME-4: a delay requested by the tool applies up to the cap', () => {
    const { failure: declared } = retry({ after: '2s' })
    const outcome: Outcome = { status: 'failure', failure: declared }
    expect(delay(0, reads({}), outcome)).toBe(2_000)
    expect(delay(0, reads({ retry: { attempts: 3, cap: '1s' } }), outcome)).toBe(1_000)
  })
})

test('TIME-4: the failure of the last attempt is marked exhausted', () => {
  const execution = { retries: 9, derive: () => new Uint8Array(3) } as unknown as Execution
  expect(decideRetry(execution, reads({ retry: { attempts: 10 } }), down)).toMatchObject({
    settle: { failure: { retry: { when: 'exhausted', attempts: 10 } } },
  })
})
