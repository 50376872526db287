// The work everybody does here: a call of N recorded steps, one after the other, each giving back 100 bytes of JSON; C callers at
// once, each asking for the next call when its last is done.

import { monitorEventLoopDelay } from 'node:perf_hooks'

export interface Subject {
  /** A call of so many steps, to the end. `caller` is who asks: 0 to C - 1. */
  call(steps: number, caller: number): Promise<unknown>
  /** How often its store was asked to make something durable, since the last time this was asked. */
  commits?(): number
  /** Processes of its own, which are stopped and ended with it. */
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
  /** How late a timer of 1 ms was, of hundred at most one later. */
  readonly loopDelay: number
  readonly commits?: number
}

export const result = { ok: true, text: 'x'.repeat(78) } // 100 bytes of JSON

/** The step itself, for all. Counted, so that nobody is fast by not doing it. */
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
    // What it records includes the millisecond of the timer. Nothing: the loop did not turn once.
    loopDelay: loop.count === 0 ? seconds * 1000 : loop.percentile(99) / 1e6 - 1,
    ...(commits === undefined ? {} : { commits }),
  }
}
