// The delay of the event loop, as `monitorEventLoopDelay` of Node measures it: how late timers of this process are.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { gauge } from './text-format.ts'

type DelayHistogram = ReturnType<typeof monitorEventLoopDelay>

const resolutionMs = 20
const nanoseconds = 1e9
const quantiles = [0.5, 0.9, 0.99]

export class EventLoopDelay {
  /** Started with the first scrape: without one it costs nothing. */
  #histogram: DelayHistogram | null = null

  /** Since the last scrape. */
  render(): string[] {
    const histogram = (this.#histogram ??= start())
    const measured = histogram.count > 0
    // The measured interval includes the resolution.
    const delay = (value: number): number => (measured ? Math.max(0, value / nanoseconds - resolutionMs / 1_000) : 0)
    const values = quantiles.map((quantile) => [
      { quantile: String(quantile) },
      delay(histogram.percentile(quantile * 100)),
    ]) as [{ quantile: string }, number][]
    const lines = gauge('pawl_event_loop_delay_seconds', 'Delay of the event loop since the last scrape.', [
      ...values,
      [{ quantile: '1' }, delay(histogram.max)],
    ])
    histogram.reset()
    return lines
  }

  close(): void {
    this.#histogram?.disable()
  }
}

function start(): DelayHistogram {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
  histogram.enable()
  return histogram
}
