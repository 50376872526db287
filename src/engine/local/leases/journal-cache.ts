// The journal of a call as this worker knows it: what was read when the call was taken up, and what was added since. Most calls have none
// of it, so the maps are made when there is something to keep.

import type { StepRecord, WaitRecord } from '../../../store/records/call-record.ts'
import { markOfWait } from '../../../store/records/signal-names.ts'
import { PawlError } from '../../../core/errors.ts'
import { refuseOtherInput } from '../../replay-difference.ts'
import type { StepEnd, StepSpec } from '../../engine.ts'
import { isResting } from './worker-deaths.ts'

const retryKey = /^retry:\d+$/

export class JournalCache {
  #steps: Map<string, StepRecord> | null
  #waits: Map<string, WaitRecord> | null
  /** How many attempts have ended in a failure that is tried again. */
  retries: number
  /** There was something on record to be read. */
  readonly read: boolean

  constructor(read: { steps?: readonly StepRecord[]; waits?: readonly WaitRecord[] }) {
    this.#steps = read.steps ? new Map(read.steps.map((step) => [step.key, step])) : null
    this.#waits = read.waits ? new Map(read.waits.map((wait) => [wait.name, wait])) : null
    this.read = read.steps !== undefined
    this.retries = read.steps?.filter(({ key }) => retryKey.test(key)).length ?? 0
  }

  step(key: string): StepRecord | undefined {
    return this.#steps?.get(key)
  }

  /** How a step ended, if it is not to run in this round; throws if nobody knows and it must not run twice. */
  endOf({ key, input, once }: StepSpec, round: number): StepEnd | null {
    const found = this.step(key)
    if (!found) return null
    if (found.input !== input) refuseOtherInput(key, found.input, input)
    if (found.state === 'done') return { done: found.value as string }
    // Once is once: what failed may have had its effect all the same.
    if (found.state === 'failed' && (once || found.round === round)) return { failed: found.value as string }
    if (found.state === 'started' && once)
      throw new PawlError('step_unknown', `The step is '${key}'.`, { details: { step: key, startedAt: found.at } })
    return null
  }

  keep(step: StepRecord): void {
    this.#steps ??= new Map()
    this.#steps.set(step.key, step)
  }

  wait(name: string): WaitRecord | undefined {
    return this.#waits?.get(name)
  }

  keepWait(wait: WaitRecord): void {
    this.#waits ??= new Map()
    this.#waits.set(wait.name, wait)
  }

  answered(name: string, resolution: string): void {
    const wait = this.#waits?.get(name)
    if (wait) this.keepWait({ ...wait, resolution })
  }

  get waits(): readonly WaitRecord[] {
    return [...(this.#waits?.values() ?? [])]
  }

  /** The instant at which the next attempt may begin. */
  get delayedUntil(): number | null {
    const last = this.retries === 0 ? undefined : this.#steps?.get(`retry:${this.retries}`)
    return last ? Number(last.value) : null
  }

  resting(now: number): boolean {
    const waits = this.waits.filter(({ name }) => !this.#hasHeard(name))
    return isResting(this.#steps?.values() ?? [], waits, now)
  }

  /** What came before it was waited for: then nobody answers the wait, and nobody waits. */
  #hasHeard(wait: string): boolean {
    const mark = this.step(markOfWait(wait) ?? '')?.value
    return typeof mark === 'string' && mark.startsWith('{"have":')
  }
}
