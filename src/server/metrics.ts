// Metrics of the server in the Prometheus text format. Labels have a fixed set of values: operation names and status
// codes, never ids or names that a request chooses.

import type { Runtime } from '../index.ts'

/** Upper bounds in seconds. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

interface Histogram {
  readonly counts: number[]
  sum: number
  total: number
}

export class Metrics {
  readonly #requests = new Map<string, number>()
  readonly #durations = new Map<string, Histogram>()

  /** A request that was answered. `operation` is a name of the route table, or that of a page. */
  record(operation: string, status: number, seconds: number): void {
    const key = `operation="${operation}",status="${status}"`
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1)
    const histogram = this.#durations.get(operation) ?? { counts: bounds.map(() => 0), sum: 0, total: 0 }
    this.#durations.set(operation, histogram)
    histogram.sum += seconds
    histogram.total++
    const first = bounds.findIndex((bound) => seconds <= bound)
    if (first !== -1) histogram.counts[first] = (histogram.counts[first] as number) + 1
  }

  /** The cost of a scrape grows with open calls and is bounded. */
  async render(runtime: Runtime, openStreams: number): Promise<string> {
    const { open, findings, unlisted, store } = await runtime.health()
    const inbox = await runtime.inbox({ limit: 1_000 })
    const live = store.workers.filter(({ leaseMs }) => leaseMs > 0).length
    const lines = [
      ...metric('pawl_http_requests_total', 'counter', 'Answered requests.', [...this.#requests]),
      ...this.#renderDurations(),
      ...metric('pawl_http_streams_open', 'gauge', 'Open event and chat streams.', [['', openStreams]]),
      ...metric(
        'pawl_calls_open',
        'gauge',
        'Open calls by state.',
        Object.entries(open).map(([state, count]) => [`state="${state}"`, count]),
      ),
      ...metric('pawl_inbox_open', 'gauge', 'Items that wait for people, at most 1000.', [['', inbox.length]]),
      ...metric('pawl_workers', 'gauge', 'Workers that hold a lease.', [['', live]]),
      ...metric('pawl_health_findings', 'gauge', 'Problems that `pawl health` shows.', [
        ['', findings.length + unlisted],
      ]),
      ...metric('pawl_store_bytes', 'gauge', 'Size of the store.', [['', store.bytes]]),
      ...metric('pawl_store_events_total', 'counter', 'Position of the newest event.', [['', store.position]]),
    ]
    return `${lines.join('\n')}\n`
  }

  #renderDurations(): string[] {
    const name = 'pawl_http_request_duration_seconds'
    const lines = [`# HELP ${name} Time to the response, or to the start of a stream.`, `# TYPE ${name} histogram`]
    for (const [operation, { counts, sum, total }] of this.#durations) {
      let below = 0
      for (const [index, bound] of bounds.entries()) {
        below += counts[index] as number
        lines.push(`${name}_bucket{operation="${operation}",le="${bound}"} ${below}`)
      }
      lines.push(`${name}_bucket{operation="${operation}",le="+Inf"} ${total}`)
      lines.push(`${name}_sum{operation="${operation}"} ${sum}`, `${name}_count{operation="${operation}"} ${total}`)
    }
    return lines
  }
}

function metric(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  values: readonly (readonly [labels: string, value: number])[],
): string[] {
  const lines = values.map(([labels, value]) => `${name}${labels === '' ? '' : `{${labels}}`} ${value}`)
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines]
}
