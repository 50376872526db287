// A suspect on this worker: waits for its trial, and leaves it while other calls do its work. Used by LocalExecution.

import type { SemaphoresPort } from '../../engine.ts'
import type { LeasedCall } from './leased-call.ts'
import { markLazily, requiredUptimeMs } from './worker-deaths.ts'

export class CallTrial {
  readonly #leased: LeasedCall
  readonly #family: string
  readonly #mayRun: () => boolean
  readonly #semaphores: Pick<SemaphoresPort, 'release'>
  #forgetStop: (() => void) | null = null

  /** `mayRun`: false while the body would only wait or sleep; then there is nothing to try. */
  constructor(
    leased: LeasedCall,
    root: string | undefined,
    semaphores: Pick<SemaphoresPort, 'release'>,
    mayRun: () => boolean,
  ) {
    this.#leased = leased
    this.#family = root ?? leased.request.uid
    this.#semaphores = semaphores
    this.#mayRun = mayRun
  }

  /** Resolves when the call may run, or when its execution is stopped. */
  async enter(): Promise<void> {
    const leased = this.#leased
    const { deaths, host, request, stopped } = leased
    if (deaths.all === 0 || stopped || !this.#mayRun()) return
    markLazily(leased, false) // if the worker dies meanwhile, the call only waited
    const entered = host.trials.enter({
      uid: request.uid,
      family: this.#family,
      deaths: deaths.all,
      uptimeMs: requiredUptimeMs(deaths),
      onProbationEnd: () => markLazily(leased, true),
    })
    this.#forgetStop = leased.onStop(() => host.trials.leave(request.uid))
    // As between attempts, other calls may use the slots meanwhile. The next start takes them again.
    if (!host.trials.has(request.uid)) this.#semaphores.release()
    await entered
  }

  leave(): void {
    if (!this.#forgetStop) return
    this.#forgetStop()
    this.#forgetStop = null
    this.#leased.host.trials.leave(this.#leased.request.uid)
  }

  /** How long the worker has been up; null if the call is not on trial. */
  get uptimeMs(): number | null {
    const { host, request } = this.#leased
    return host.trials.has(request.uid) ? host.trials.uptimeMs : null
  }
}

/** By then the calls that a turn has started are on record. */
const recordedMs = 20

/**
 * Other calls do the work meanwhile, so a worker that dies then does not die because of this call. Until they are on
 * record, this call answers for them: otherwise a call that kills its worker at once would never be counted. A task is
 * on record before a body waits for it. No record links it to that body, so the mark of the body does.
 */
export async function notAtRiskWhile<T>(
  leased: LeasedCall,
  trial: CallTrial | null,
  isForTask: boolean,
  wait: () => Promise<T>,
): Promise<T> {
  let hasLeft = false
  let cancelTimer = (): void => {}
  const leave = (): void => {
    hasLeft = true
    trial?.leave()
    markLazily(leased, false, null, isForTask)
  }
  if (isForTask) {
    leased.isMarked = true
    leave()
  } else cancelTimer = leased.host.clock.timer(recordedMs, leave)
  try {
    return await wait()
  } finally {
    cancelTimer()
    if (hasLeft) {
      await trial?.enter()
      markLazily(leased, leased.progress.state === 'running', trial?.uptimeMs)
    }
  }
}
