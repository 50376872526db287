// Many alarms of few lengths. Nearly every attempt has the same timeout, so nearly all of them stand in one row, in the order in which
// they are due, and one timer of the clock serves the row.

import type { Clock } from '../../core/clock.ts'

export interface TimeoutTimer {
  /** By the monotonic clock; set here. */
  due: number
  ring(): void
}

interface Row {
  readonly alarms: Set<TimeoutTimer>
  callOff: () => void
}

export class TimeoutTimers {
  readonly #clock: Clock
  readonly #rows = new Map<number, Row>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  set(ms: number, alarm: TimeoutTimer): void {
    alarm.due = this.#clock.monotonic() + ms
    const row = this.#rows.get(ms)
    if (row) row.alarms.add(alarm)
    else this.#rows.set(ms, { alarms: new Set([alarm]), callOff: this.#clock.timer(ms, () => this.#ring(ms)) })
  }

  off(ms: number, alarm: TimeoutTimer): void {
    const row = this.#rows.get(ms)
    if (!row?.alarms.delete(alarm) || row.alarms.size > 0) return
    row.callOff()
    this.#rows.delete(ms)
  }

  #ring(ms: number): void {
    const row = this.#rows.get(ms)
    if (!row) return
    const now = this.#clock.monotonic()
    for (const alarm of row.alarms) {
      if (alarm.due > now) {
        row.callOff = this.#clock.timer(alarm.due - now, () => this.#ring(ms))
        return
      }
      row.alarms.delete(alarm)
      alarm.ring()
    }
    // Whoever rang may have emptied this row and begun another.
    if (this.#rows.get(ms) === row && row.alarms.size === 0) this.#rows.delete(ms)
  }
}
