// Callers in a loop for a while: how many calls per second, and how long one takes.

import { quantile } from '../kit/statistics.ts'
import type { Slice } from './protocol.ts'

/** Each caller makes its next call when its last one is done. */
export async function slice(callers: number, ms: number, call: (caller: number) => Promise<void>): Promise<Slice> {
  const times: number[] = []
  const from = performance.now()
  const end = from + ms
  const repeat = async (caller: number): Promise<void> => {
    for (let begun = performance.now(); begun < end;) {
      await call(caller)
      const ended = performance.now()
      times.push(ended - begun)
      begun = ended
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => repeat(caller)))
  const seconds = (performance.now() - from) / 1_000
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)]
  return { count: times.length, perSecond: times.length / seconds, p50, p99 }
}
