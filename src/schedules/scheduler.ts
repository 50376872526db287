// THE SCHEDULER: looks at what is due, on every worker, and fires it (CRON-2, CRON-4). What is due is one list in the order of time for all
// sessions of the store, so it needs one timer. Nobody is its leader: whoever comes first fires, and the change that does so decides.

import { PawlError } from '../core/errors.ts'
import type { StoredDocument } from '../store/store.ts'
import { deliver } from './deliver-event.ts'
import { type Fired, type FireHost, fireSchedule } from './fire-schedule.ts'
import { dueAt } from './schedule-row.ts'
import type { DeliveryRow } from './trigger-row.ts'
import { fireWake, type WakeRow } from './wake.ts'

const page = 100
/** How many are fired at once: they share a write. */
const atOnce = 16
/** Other processes may write without end; they are looked at this often. */
const restMs = 1_000
const retryMs = 1_000
const mostSaid = 1_000

export class Scheduler {
  readonly #host: FireHost
  readonly #callOffs: (() => void)[]
  #timer: (() => void) | null = null
  #armedFor = Number.POSITIVE_INFINITY
  #looking: Promise<void> | null = null
  #again = false
  #looked = Number.NEGATIVE_INFINITY
  #expectedUntil = Number.NEGATIVE_INFINITY
  #stopped = false
  #away = false
  /** What was said to be wrong with a row is said once. */
  readonly #said = new Set<string>()

  /** `everyMs`: how often it looks in any case. Should nothing tell of what another process wrote, or the clock jump, this finds it. */
  constructor(host: FireHost, everyMs: number) {
    this.#host = host
    const { clock, store } = host
    this.#callOffs = [
      clock.every(everyMs, () => this.look()),
      store.onHint(({ outside }) => (outside ? this.#outside() : this.#ours())),
    ]
    this.look()
  }

  /** Something is due at an instant: wakes then, if nothing wakes it sooner. */
  soon(at: number): void {
    const { clock } = this.#host
    const ms = at - clock.now()
    if (ms <= 0) return this.look()
    if (this.#stopped || at >= this.#armedFor) return
    this.#timer?.()
    this.#armedFor = at
    this.#timer = clock.timer(ms, () => this.look())
  }

  /** Something that is due at once is about to be written here, with something else. */
  written(): void {
    this.#expectedUntil = this.#host.clock.monotonic() + restMs
    this.soon(this.#host.clock.now() + restMs)
  }

  /** One look at a time; what happens during one makes another. */
  look(): void {
    if (this.#stopped) return
    this.#again = true
    this.#looking ??= this.#looks()
  }

  /** Fires no more; resolves when what was under way is over. */
  async close(): Promise<void> {
    this.#stopped = true
    this.#timer?.()
    for (const callOff of this.#callOffs) callOff()
    await this.#looking
  }

  #ours(): void {
    if (this.#host.clock.monotonic() < this.#expectedUntil) this.look()
  }

  /** Another process wrote: it may be a schedule. */
  #outside(): void {
    const { clock } = this.#host
    const rested = this.#looked + restMs
    if (clock.monotonic() >= rested) this.look()
    else this.soon(clock.now() + rested - clock.monotonic())
  }

  async #looks(): Promise<void> {
    const { clock, logger } = this.#host
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false
        this.#looked = clock.monotonic()
        this.#timer?.()
        this.#armedFor = Number.POSITIVE_INFINITY
        // What was fired may be due again: slots that are made up for.
        if (await this.#pass()) this.#again = true
      }
      this.#away = false
    } catch (error) {
      if (!this.#stopped && !this.#away) logger.warn('What is due could not be looked at; trying again soon', { error })
      this.#away = true
      this.soon(clock.now() + retryMs)
    } finally {
      this.#looking = null
    }
    // Asked for after the last look had ended, and before it was said.
    if (this.#again && !this.#away) this.look()
  }

  /** Fires all that is due, page by page in the order of time; sets the timer for what comes next. True if anything was. */
  async #pass(): Promise<boolean> {
    const { store, clock } = this.#host
    let any = false
    for (let after = ''; !this.#stopped;) {
      const rows = await store.documentsOf({ of: 'due', after, limit: page })
      const now = clock.now()
      const due = rows.filter((row) => dueAt(row) <= now)
      for (let from = 0; from < due.length && !this.#stopped; from += atOnce) {
        const fired = await Promise.allSettled(due.slice(from, from + atOnce).map((row) => this.#fire(row)))
        any ||= fired.some((each) => each.status === 'fulfilled' && each.value === 'done')
        // All of them are over before the next look.
        for (const each of fired) if (each.status === 'rejected') throw each.reason as Error
      }
      const next = rows[due.length]
      if (next) this.soon(dueAt(next))
      if (next || rows.length < page) break
      after = (rows.at(-1) as StoredDocument).key
    }
    return any
  }

  /** One that cannot be fired does not stand in the way of the others. */
  async #fire(row: StoredDocument): Promise<Fired> {
    const { logger } = this.#host
    try {
      const what = JSON.parse(row.value) as { readonly schedule: string } | DeliveryRow | WakeRow
      if ('wake' in what) return await fireWake(this.#host, row, what.wake)
      return await ('schedule' in what
        ? fireSchedule(this.#host, row, what.schedule)
        : deliver(this.#host, row, what.delivery))
    } catch (error) {
      if (error instanceof PawlError && (error.code === 'store_unavailable' || error.code === 'runtime_closed'))
        throw error
      if (this.#said.size > mostSaid) this.#said.clear()
      if (!this.#said.has(row.key))
        logger.error('Something that is due cannot be fired', { due: row.key, session: row.session, error })
      this.#said.add(row.key)
      return 'left'
    }
  }
}
