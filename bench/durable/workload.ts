// The workload of all subjects: calls of N recorded steps in sequence, each of which returns 100 bytes of JSON; C
// concurrent callers, each of which starts its next call when the previous one has ended.

import { monitorEventLoopDelay } from 'node:perf_hooks'

export interface Subject {
  /** Runs a call of `steps` steps to completion. `caller` is 0 to C - 1. */
  call(steps: number, caller: number): Promise<unknown>
  /** Number of durable commits of its store since the previous call of this function. */
  commits?(): number
  /** Processes started by the subject, which are suspended and killed with it. */
  readonly pids?: readonly number[]
}

export interface Shape {
  readonly steps: number
  readonly callers: number
}

export const shapes: readonly Shape[] = [1, 50].flatMap((callers) => [1, 5, 20].map((steps) => ({ steps, callers })))

export interface Measure {
  readonly calls: number
  readonly seconds: number
  readonly p50: number
  readonly p99: number
  /** Event loop delay in milliseconds, 99th percentile of a 1 ms timer. */
  readonly loopDelay: number
  readonly commits?: number
}

export const result = { ok: true, text: 'x'.repeat(78) } // 100 bytes of JSON

/** The body of every step. Counted, so that a subject cannot be fast by skipping steps. */
let stepsRun = 0
export function step(): typeof result {
  stepsRun++
  return result
}

export async function slice(subject: Subject, { steps, callers }: Shape, ms: number): Promise<Measure> {
  const latencies: number[] = []
  const loop = monitorEventLoopDelay({ resolution: 1 })
  subject.commits?.()
  const before = stepsRun
  loop.enable()
  const from = performance.now()
  const caller = async (_: unknown, index: number): Promise<void> => {
    do {
      const at = performance.now()
      await subject.call(steps, index)
      latencies.push(performance.now() - at)
    } while (performance.now() - from < ms)
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const seconds = (performance.now() - from) / 1000
  loop.disable()
  const expected = latencies.length * steps
  if (stepsRun - before < expected) throw new Error(`${stepsRun - before} steps ran, not ${expected}`)
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number
  const commits = subject.commits?.()
  return {
    calls: sorted.length,
    seconds,
    p50: at(0.5),
    p99: at(0.99),
    // The recorded delay includes the millisecond of the timer. A count of 0 means the loop was blocked for the slice.
    loopDelay: loop.count === 0 ? seconds * 1000 : loop.percentile(99) / 1e6 - 1,
    ...(commits === undefined ? {} : { commits }),
  }
}
