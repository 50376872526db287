// The scheduler: every worker runs one. It polls the `due` collection, which is ordered by time across all sessions,
// and fires due slots, event deliveries and wakes; one timer suffices. There is no leader: the first commit wins.

import { PawlError } from '../core/errors.ts'
import { runUntraced } from '../engine/trace-scope.ts'
import type { StoredDocument } from '../store/store.ts'
import { deliver } from './deliver-event.ts'
import { type FireResult, fireSchedule } from './fire-schedule.ts'
import { dueAt } from './schedule-row.ts'
import type { DeliveryRow } from './trigger-row.ts'
import type { SchedulesHost } from './ports.ts'
import { fireWake, type WakeRow } from './wake-session.ts'
import { collections } from '../store/collections.ts'

const page = 100
/** Rows fired in parallel, so that the store can group their commits. */
const batchSize = 16
/** Writes of other processes cause at most one poll per interval. */
const minPollIntervalMs = 1_000
const retryMs = 1_000
const maxReported = 1_000

export class Scheduler {
  readonly #host: SchedulesHost
  readonly #stopListeners: (() => void)[]
  #timer: (() => void) | null = null
  #armedFor = Number.POSITIVE_INFINITY
  #polling: Promise<void> | null = null
  #pollAgain = false
  #lastPollAt = Number.NEGATIVE_INFINITY
  #expectedUntil = Number.NEGATIVE_INFINITY
  #stopped = false
  #pollFailed = false
  /** Keys of rows whose failure was logged: each is logged once. */
  readonly #reported = new Set<string>()

  /** `everyMs`: fallback poll interval, for missed hints from other processes and for clock jumps. */
  constructor(host: SchedulesHost, everyMs: number) {
    this.#host = host
    const { clock, store } = host
    this.#stopListeners = [
      clock.every(everyMs, () => this.poll()),
      store.onHint(({ outside }) => (outside ? this.#onRemoteWrite() : this.#onLocalWrite())),
    ]
    host.due.listener = this
    this.poll()
  }

  /** Polls at this instant, unless an earlier poll is already scheduled. */
  wakeAt(at: number): void {
    const { clock } = this.#host
    const ms = at - clock.now()
    if (ms <= 0) return this.poll()
    if (this.#stopped || at >= this.#armedFor) return
    this.#timer?.()
    this.#armedFor = at
    this.#timer = clock.timer(ms, () => this.poll())
  }

  /** This process is about to commit a row that is due at once: poll after the next local write. */
  expectWrite(): void {
    this.#expectedUntil = this.#host.clock.monotonic() + minPollIntervalMs
    this.wakeAt(this.#host.clock.now() + minPollIntervalMs)
  }

  /** One poll at a time; a request during a poll causes another one. */
  poll(): void {
    if (this.#stopped) return
    this.#pollAgain = true
    this.#polling ??= runUntraced(this.#host.observers, () => this.#pollLoop())
  }

  /** Stops firing; resolves when the running poll has finished. */
  async close(): Promise<void> {
    this.#stopped = true
    this.#timer?.()
    for (const stop of this.#stopListeners) stop()
    await this.#polling
  }

  #onLocalWrite(): void {
    if (this.#host.clock.monotonic() < this.#expectedUntil) this.poll()
  }

  /** Another process wrote something, possibly a `due` row. */
  #onRemoteWrite(): void {
    const { clock } = this.#host
    const nextPollAt = this.#lastPollAt + minPollIntervalMs
    if (clock.monotonic() >= nextPollAt) this.poll()
    else this.wakeAt(clock.now() + nextPollAt - clock.monotonic())
  }

  async #pollLoop(): Promise<void> {
    const { clock, logger } = this.#host
    try {
      while (this.#pollAgain && !this.#stopped) {
        this.#pollAgain = false
        this.#lastPollAt = clock.monotonic()
        this.#timer?.()
        this.#armedFor = Number.POSITIVE_INFINITY
        // With catchUp 'all', a schedule that was just fired may be due again.
        if (await this.#pass()) this.#pollAgain = true
      }
      this.#pollFailed = false
    } catch (error) {
      if (!this.#stopped && !this.#pollFailed) logger.warn('The scheduler could not read due rows; retrying', { error })
      this.#pollFailed = true
      this.wakeAt(clock.now() + retryMs)
    } finally {
      this.#polling = null
    }
    // A poll was requested after the last iteration but before #polling was reset.
    if (this.#pollAgain && !this.#pollFailed) this.poll()
  }

  /** Fires all due rows, page by page in time order, and arms the timer for the next one. True if any row was fired. */
  async #pass(): Promise<boolean> {
    const { store, clock } = this.#host
    let any = false
    for (let after = ''; !this.#stopped;) {
      const rows = await store.documentsOf({ of: collections.due.of, after, limit: page })
      const now = clock.now()
      const due = rows.filter((row) => dueAt(row) <= now)
      for (let from = 0; from < due.length && !this.#stopped; from += batchSize) {
        const fired = await Promise.allSettled(due.slice(from, from + batchSize).map((row) => this.#fire(row)))
        any ||= fired.some((each) => each.status === 'fulfilled' && each.value === 'done')
        // Rethrow only after the whole batch has finished.
        for (const each of fired) if (each.status === 'rejected') throw each.reason as Error
      }
      const next = rows[due.length]
      if (next) this.wakeAt(dueAt(next))
      if (next || rows.length < page) break
      after = (rows.at(-1) as StoredDocument).key
    }
    return any
  }

  /** A row that cannot be fired is logged and left, so that it does not block the others. */
  async #fire(row: StoredDocument): Promise<FireResult> {
    const { logger } = this.#host
    try {
      const what = collections.due.parse(row.value) as { readonly schedule: string } | DeliveryRow | WakeRow
      if ('wake' in what) return await fireWake(this.#host, row, what.wake)
      return await ('schedule' in what
        ? fireSchedule(this.#host, row, what.schedule)
        : deliver(this.#host, row, what.delivery))
    } catch (error) {
      if (error instanceof PawlError && (error.code === 'store_unavailable' || error.code === 'runtime_closed'))
        throw error
      if (this.#reported.size > maxReported) this.#reported.clear()
      if (!this.#reported.has(row.key))
        logger.error('A due slot, delivery or wake cannot be fired', { due: row.key, session: row.session, error })
      this.#reported.add(row.key)
      return 'left'
    }
  }
}
