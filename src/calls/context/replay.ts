// Whether a body that runs again is still before the last step that an earlier attempt recorded. ctx.progress holds
// back its reports until then, because they repeat what watchers have seen.

import type { Execution } from '../../engine/engine.ts'

export class Replay {
  /** Keys of recorded steps and sleeps that this attempt has not reached. */
  readonly #ahead: Set<string>
  /** Called once, when the body has caught up. */
  onEnd: (() => void) | null = null

  /** Null if nothing is recorded, as in every first attempt. */
  static of(execution: Execution): Replay | null {
    const recorded = execution.attempt > 1 ? execution.recordedSteps() : []
    return recorded.length > 0 ? new Replay(recorded) : null
  }

  private constructor(recorded: readonly string[]) {
    this.#ahead = new Set(recorded)
  }

  get isActive(): boolean {
    return this.#ahead.size > 0
  }

  /** The body is at this step. One that is not recorded is new work: the body may have skipped the rest. */
  reach(key: string): void {
    if (this.#ahead.size > 0 && (!this.#ahead.delete(key) || this.#ahead.size === 0)) this.end()
  }

  end(): void {
    this.#ahead.clear()
    this.onEnd?.()
  }
}
