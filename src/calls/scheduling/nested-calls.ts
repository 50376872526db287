// Calls and their nested calls. While all nested calls of a body are away (parked or waiting), the body is paused too:
// its clocks stop, and its slot and keys are free. The first nested call that returns resumes its parent first, because
// it runs in the slot of the parent.

import type { ToSettle } from '../../engine/engine.ts'
import type { Failure } from '../../core/outcome.ts'
import type { Acquirer } from './semaphore-gates.ts'

/** Controls the clocks and the slot of an attempt. Both are paused while the body waits. */
export interface AttemptControl {
  pause(): void
  resume(): Promise<void>
  progress(): void
  /** People start to decide, or have decided. The total timeout is paused in between. */
  setDeciding(begin: boolean): void
  /** Throws if the time of the attempt is over, even if the timer has not fired yet. */
  assertInTime(): void
  /** The task emitted its end: the result of the body is ignored from now on. */
  taskEnded(end: ToSettle): void
  /** A hook ended the turn in a nested call. */
  abort(why: Failure): void
}

/** The nested calls of one attempt. */
export class NestedCalls {
  readonly control: AttemptControl
  readonly #away = new Set<string>()
  /** Nested calls that wait for a person's decision. */
  readonly #deciding = new Set<string>()
  #open = 0
  #paused = false
  #resuming: Promise<void> | null = null

  constructor(control: AttemptControl) {
    this.control = control
  }

  get isEmpty(): boolean {
    return this.#open === 0
  }

  addCalls(calls: number): void {
    this.#open += calls
  }

  callAway(uid: string): void {
    this.#away.add(uid)
    this.#pauseIfAllAway()
  }

  callReturned(uid: string): Promise<void> | null {
    this.#away.delete(uid)
    return this.bringBack()
  }

  setDeciding(uid: string, begin: boolean): void {
    if (begin === this.#deciding.has(uid)) return
    if (begin) this.#deciding.add(uid)
    else this.#deciding.delete(uid)
    this.control.setDeciding(begin)
  }

  callSettled(uid: string): void {
    this.setDeciding(uid, false)
    this.#away.delete(uid)
    this.#open--
    this.#pauseIfAllAway()
  }

  /** Resumes the body if it is paused. */
  bringBack(): Promise<void> | null {
    if (!this.#paused) return this.#resuming
    this.#paused = false
    this.#resuming = this.control
      .resume()
      .catch((error: unknown) => {
        // Still paused: the next returning call tries again, and finally the body itself gets the error.
        this.#paused = true
        throw error
      })
      .finally(() => (this.#resuming = null))
    return this.#resuming
  }

  #pauseIfAllAway(): void {
    if (this.#paused || this.#open === 0 || this.#away.size < this.#open) return
    this.#paused = true
    this.control.pause()
  }
}

export class NestedCallGroups {
  readonly #groups = new Map<string, NestedCalls>()
  readonly #away = new Set<string>()

  of(parent: string, control: AttemptControl): NestedCalls {
    let group = this.#groups.get(parent)
    // A new attempt has its own clocks.
    if (group?.control !== control) this.#groups.set(parent, (group = new NestedCalls(control)))
    return group
  }

  releaseIfEmpty(parent: string, group: NestedCalls): void {
    if (group.isEmpty && this.#groups.get(parent) === group) this.#groups.delete(parent)
  }

  /** The attempt is over: nested calls that return later wait for the next attempt. */
  attemptEnded(parent: string, control: AttemptControl): void {
    if (this.#groups.size > 0 && this.#groups.get(parent)?.control === control) this.#groups.delete(parent)
  }

  /** True if the nested call is away. After a crash or a retry, its parent may not have reached it yet. */
  isAway(uid: string): boolean {
    return this.#away.has(uid)
  }

  /** The pipeline of the call has finished. */
  pipelineDone(uid: string): void {
    if (this.#away.size > 0) this.#away.delete(uid)
  }

  callAway({ uid, ancestors: above }: Pick<Acquirer, 'uid' | 'ancestors'>): void {
    if (above.length === 0) return
    this.#away.add(uid)
    this.#groups.get(above.at(-1) ?? '')?.callAway(uid)
  }

  /** People start to decide about a call, or have decided. The total timeout of its ancestors is paused in between. */
  setDeciding(above: readonly string[], uid: string, begin: boolean): void {
    for (const parent of above) this.#groups.get(parent)?.setDeciding(uid, begin)
  }

  callReturned({ uid, ancestors: above }: Acquirer): Promise<void> | null {
    if (above.length === 0) return null
    this.#away.delete(uid)
    return this.#groups.get(above.at(-1) ?? '')?.callReturned(uid) ?? null
  }
}
