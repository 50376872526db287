// Metrics of the server in the Prometheus text format. Labels have a bounded set of values: names of operations, tools
// and states, never ids or texts of a request.

import type { InboxItem, Runtime } from '../../index.ts'
import { CallMetrics } from './call-metrics.ts'
import { EventLoopDelay } from './event-loop-delay.ts'
import { Counter, gauge, Histogram } from './text-format.ts'

/** Upper bounds in seconds. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** A scrape reads at most this many items of the inbox. */
const maxInboxItems = 1_000
/** Upper bounds of the ages of open items, in milliseconds. */
const ages = [
  ['1m', 60_000],
  ['1h', 3_600_000],
  ['1d', 86_400_000],
  ['7d', 604_800_000],
  ['older', Infinity],
] as const

interface Clock {
  now(): number
  monotonic(): number
}

export class Metrics {
  readonly #clock: Clock
  readonly #requests = new Counter('pawl_http_requests_total', 'Answered requests.')
  readonly #durations = new Histogram(
    'pawl_http_request_duration_seconds',
    'Time to the response, or to the start of a stream.',
    bounds,
  )
  readonly #calls = new CallMetrics()
  readonly #eventLoop = new EventLoopDelay()
  readonly #stopObserving: () => void
  readonly #runtime: Runtime
  /** A scrape in progress, shared by all that come meanwhile. */
  #scrape: Promise<string> | null = null

  constructor(runtime: Runtime, clock: Clock) {
    this.#runtime = runtime
    this.#clock = clock
    this.#stopObserving = runtime.observe(this.#calls.observe)
  }

  /** A request that was answered. `operation` is a name of the route table, or that of a page. */
  record(operation: string, status: number, seconds: number): void {
    this.#requests.add({ operation, status: String(status) })
    this.#durations.observe({ operation }, seconds)
  }

  /** The cost of a scrape grows with open calls and is bounded. */
  render(openStreams: number): Promise<string> {
    this.#scrape ??= this.#read(openStreams).finally(() => (this.#scrape = null))
    return this.#scrape
  }

  close(): void {
    this.#stopObserving()
    this.#eventLoop.close()
  }

  async #read(openStreams: number): Promise<string> {
    const startedAt = this.#clock.monotonic()
    await this.#runtime.cursor()
    const latency = (this.#clock.monotonic() - startedAt) / 1_000
    const { open, findings, unlisted, store } = await this.#runtime.health()
    const inbox = await this.#runtime.inbox({ limit: maxInboxItems })
    const held = store.workers.filter(({ leaseMs }) => leaseMs > 0).length
    const lines = [
      ...this.#requests.render(),
      ...this.#durations.render(),
      ...gauge('pawl_http_streams_open', 'Open event and chat streams.', [[{}, openStreams]]),
      ...this.#calls.render(),
      ...gauge(
        'pawl_calls_open',
        'Open calls by state.',
        Object.entries(open).map(([state, count]) => [{ state }, count]),
      ),
      ...gauge('pawl_inbox_open', `Items that wait for people, at most ${maxInboxItems}.`, [[{}, inbox.length]]),
      ...this.#pendingByAge(inbox),
      ...gauge('pawl_workers', 'Workers that hold a lease.', [[{}, held]]),
      ...gauge('pawl_leases', 'Leases of workers: held, or expired and not yet taken over.', [
        [{ state: 'held' }, held],
        [{ state: 'expired' }, store.workers.length - held],
      ]),
      ...gauge('pawl_health_findings', 'Problems that `pawl health` shows.', [[{}, findings.length + unlisted]]),
      ...gauge('pawl_store_bytes', 'Size of the store.', [[{}, store.bytes]]),
      ...gauge('pawl_store_events_total', 'Position of the newest event.', [[{}, store.position]], 'counter'),
      ...gauge('pawl_store_read_seconds', 'Time of one read of the store, measured by this scrape.', [[{}, latency]]),
      ...this.#eventLoop.render(),
    ]
    return `${lines.join('\n')}\n`
  }

  #pendingByAge(inbox: readonly InboxItem[]): string[] {
    const now = this.#clock.now()
    const counts = new Map<string, number>(ages.map(([age]) => [age, 0]))
    let oldestMs = 0
    for (const { kind, askedAt } of inbox) {
      if (kind !== 'approval') continue
      const ageMs = Math.max(0, now - askedAt)
      oldestMs = Math.max(oldestMs, ageMs)
      const [age] = ages.find(([, most]) => ageMs <= most) ?? ages[0]
      counts.set(age, (counts.get(age) ?? 0) + 1)
    }
    return [
      ...gauge(
        'pawl_approvals_pending',
        'Approvals that wait for a decision, by age: up to a minute, an hour, a day, a week, and older.',
        [...counts].map(([age, count]) => [{ age }, count]),
      ),
      ...gauge('pawl_approvals_oldest_seconds', 'Age of the oldest approval that waits for a decision.', [
        [{}, oldestMs / 1_000],
      ]),
    ]
  }
}
