// A call and those it runs under it (SCHED-2). While all of them wait for the outside, so does the call: its clocks stand still, and its
// place and its keys are free. Whoever comes back first brings it back first, as it is in its place that a nested call runs.

import type { ToSettle } from '../../engine/engine.ts'
import type { Failure } from '../../core/outcome.ts'
import type { Guest } from './gates.ts'

/** The clocks of the attempt and its place in the queue: both stand still while the body waits for the outside. */
export interface Pace {
  pause(): void
  resume(): Promise<void>
  progress(): void
  /** People begin to decide, or have decided: the total time does not count meanwhile (TIME-2). */
  deciding(begin: boolean): void
  /** Throws if its time is over, whether or not a timer has said so. */
  look(): void
  /** A task has told its end: nothing of its body counts any more. */
  told(end: ToSettle): void
  /** A hook ended the turn in a call under it. */
  abort(why: Failure): void
}

/** The calls under one body. */
export class NestedCalls {
  readonly pace: Pace
  readonly #away = new Set<string>()
  /** Those of them that people decide about. */
  readonly #deciding = new Set<string>()
  #open = 0
  #paused = false
  #coming: Promise<void> | null = null

  constructor(pace: Pace) {
    this.pace = pace
  }

  get none(): boolean {
    return this.#open === 0
  }

  began(calls: number): void {
    this.#open += calls
  }

  left(uid: string): void {
    this.#away.add(uid)
    this.#look()
  }

  back(uid: string): Promise<void> | null {
    this.#away.delete(uid)
    return this.together()
  }

  deciding(uid: string, begin: boolean): void {
    if (begin === this.#deciding.has(uid)) return
    if (begin) this.#deciding.add(uid)
    else this.#deciding.delete(uid)
    this.pace.deciding(begin)
  }

  settled(uid: string): void {
    this.deciding(uid, false)
    this.#away.delete(uid)
    this.#open--
    this.#look()
  }

  /** The body is about to go on: brings it back, if it is away. */
  together(): Promise<void> | null {
    if (!this.#paused) return this.#coming
    this.#paused = false
    this.#coming = this.pace
      .resume()
      .catch((error: unknown) => {
        // It is still away: whoever comes next tries again, and the body itself hears of it in the end.
        this.#paused = true
        throw error
      })
      .finally(() => (this.#coming = null))
    return this.#coming
  }

  #look(): void {
    if (this.#paused || this.#open === 0 || this.#away.size < this.#open) return
    this.#paused = true
    this.pace.pause()
  }
}

export class NestedCallGroups {
  readonly #families = new Map<string, NestedCalls>()
  readonly #away = new Set<string>()

  of(parent: string, pace: Pace): NestedCalls {
    let family = this.#families.get(parent)
    // Another attempt has clocks of its own.
    if (family?.pace !== pace) this.#families.set(parent, (family = new NestedCalls(pace)))
    return family
  }

  over(parent: string, family: NestedCalls): void {
    if (family.none && this.#families.get(parent) === family) this.#families.delete(parent)
  }

  /** An attempt is over: what comes back under its call has nothing to do with it, and waits for the one that is to come. */
  ended(parent: string, pace: Pace): void {
    if (this.#families.size > 0 && this.#families.get(parent)?.pace === pace) this.#families.delete(parent)
  }

  /** A call under another that waits for the outside: its parent may come to it only later, after a crash or a retry. */
  isAway(uid: string): boolean {
    return this.#away.has(uid)
  }

  /** Its pipeline is through. */
  gone(uid: string): void {
    if (this.#away.size > 0) this.#away.delete(uid)
  }

  left({ uid, above }: Pick<Guest, 'uid' | 'above'>): void {
    if (above.length === 0) return
    this.#away.add(uid)
    this.#families.get(above.at(-1) ?? '')?.left(uid)
  }

  /** People begin to decide about a call, or have decided: the total time of what waits for it stands still as well (TIME-2). */
  deciding(above: readonly string[], uid: string, begin: boolean): void {
    for (const parent of above) this.#families.get(parent)?.deciding(uid, begin)
  }

  back({ uid, above }: Guest): Promise<void> | null {
    if (above.length === 0) return null
    this.#away.delete(uid)
    return this.#families.get(above.at(-1) ?? '')?.back(uid) ?? null
  }
}
