// Trials of suspects: calls whose workers died repeatedly without progress. One suspect runs at a time in a process, so
// that the next death shows which of them kills it; other calls are not delayed. A suspect that has run for its
// probation time is considered harmless, and the next one starts beside it. Used by LocalExecution.

import type { Clock } from '../../../core/clock.ts'

export interface Suspect {
  readonly uid: string
  /** Its outermost call: nested calls run in the trial of their parent. */
  readonly family: string
  /** Worker deaths so far; the suspect with the fewest is tried first. */
  readonly deaths: number
  /** How long this worker must have been up. */
  readonly uptimeMs: number
  /** The probation is over. */
  onProbationEnd(): void
}

const baseProbationMs = 5_000
/** A call that kills its worker late is on trial longer each time, until its death falls into the trial. */
const probationGrowth = 4
const maxProbationMs = 5 * 60_000

const probationMs = (deaths: number): number =>
  Math.min(baseProbationMs * probationGrowth ** Math.max(0, deaths - 2), maxProbationMs)

interface Waiting {
  readonly suspect: Suspect
  readonly start: () => void
}

export class Trials {
  readonly #clock: Clock
  readonly #openedAt: number
  /** The suspects on trial: one, and nested calls of it. */
  #onTrial: Suspect[] = []
  #waiting: Waiting[] = []
  #cancelTimer = (): void => {}

  constructor(clock: Clock) {
    this.#clock = clock
    this.#openedAt = clock.monotonic()
  }

  get uptimeMs(): number {
    return this.#clock.monotonic() - this.#openedAt
  }

  has(uid: string): boolean {
    return this.#onTrial.some((each) => each.uid === uid)
  }

  /** Resolves when the suspect may run, or when it leaves. */
  enter(suspect: Suspect): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ suspect, start: resolve })
      this.#startNext()
    })
  }

  /** The call has ended, parked or waits for something else. */
  leave(uid: string): void {
    for (const { suspect, start } of this.#waiting) if (suspect.uid === uid) start()
    this.#waiting = this.#waiting.filter(({ suspect }) => suspect.uid !== uid)
    this.#onTrial = this.#onTrial.filter((each) => each.uid !== uid)
    this.#startNext()
  }

  #startNext(): void {
    const family = this.#onTrial[0]?.family
    const { uptimeMs } = this
    const isReady = ({ suspect }: Waiting): boolean =>
      family === undefined ? suspect.uptimeMs <= uptimeMs : suspect.family === family
    const [next, ...others] = this.#waiting.filter(isReady).toSorted((a, b) => a.suspect.deaths - b.suspect.deaths)
    if (next) {
      this.#waiting = this.#waiting.filter((each) => each !== next)
      this.#onTrial.push(next.suspect)
      next.start()
      if (family !== undefined && others.length > 0) return this.#startNext()
    }
    this.#setTimer(next?.suspect ?? null)
  }

  /** Ends the probation of the suspect that was just started, or waits until the next one may start. */
  #setTimer(started: Suspect | null): void {
    const first = this.#onTrial[0]
    if (first && first !== started) return
    this.#cancelTimer()
    this.#cancelTimer = (): void => {}
    if (first) this.#cancelTimer = this.#clock.timer(probationMs(first.deaths), () => this.#endProbation())
    else if (this.#waiting.length > 0) {
      const readyAt = Math.min(...this.#waiting.map(({ suspect }) => suspect.uptimeMs))
      this.#cancelTimer = this.#clock.timer(Math.max(1, readyAt - this.uptimeMs), () => this.#startNext())
    }
  }

  #endProbation(): void {
    const harmless = this.#onTrial
    this.#onTrial = []
    for (const each of harmless) each.onProbationEnd()
    this.#startNext()
  }
}
