// Places across the fleet (SCHED-2, SCHED-3): those of this worker's calls that stand in line for one. The places themselves are on record,
// with the call that has them; a call here waits only when it was refused one.

import type { CallOptions } from '../../../store/records/call-record.ts'
import { PawlError } from '../../../core/errors.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Hold, Store, Take } from '../../../store/store.ts'
import type { Logger } from '../../../tools/context/context.ts'

/** How often to look, beneath the hints: a worker may have died, and the time of a place may have passed. */
const pollMs = 500

interface InLine {
  readonly take: Take
  readonly wake: (error?: Error) => void
}

export class FleetSemaphores {
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #inLine = new Set<InLine>()
  #looking = false
  #again = false
  /** The next look is for circles too. */
  #circles = false
  #callOff: (() => void) | null = null

  constructor(host: { store: Store; clock: Clock; logger: Logger }) {
    this.#store = host.store
    this.#clock = host.clock
    this.#logger = host.logger
  }

  /** Until there may be room. Its ticket is on record. */
  awaitRoom(take: Take, signal: AbortSignal): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      if (signal.aborted) return resolve()
      const wake = (error?: Error): void => {
        if (!this.#inLine.delete(waiting)) return
        signal.removeEventListener('abort', stopped)
        if (this.#inLine.size === 0) this.#callOff = this.#callOff?.() ?? null
        if (error) reject(error)
        else resolve()
      }
      const stopped = (): void => wake()
      const waiting: InLine = { take, wake }
      this.#inLine.add(waiting)
      signal.addEventListener('abort', stopped)
      this.#callOff ??= this.#clock.every(pollMs, () => this.#look(true))
      // It stands in line first and looks second, so that what is given back in between is not missed.
      this.#look(false)
    })
  }

  /** Somebody wrote. */
  hinted(): void {
    if (this.#inLine.size > 0) this.#look(false)
  }

  #look(circles: boolean): void {
    this.#circles ||= circles
    if (this.#looking) return void (this.#again = true)
    this.#looking = true
    const forCircles = this.#circles
    this.#circles = false
    this.#lookOnce(forCircles)
      .catch((error: unknown) => this.#logger.warn('Places could not be looked at; trying again soon', { error }))
      .finally(() => {
        this.#looking = false
        const again = this.#again
        this.#again = false
        if (again && this.#inLine.size > 0) this.#look(false)
      })
  }

  async #lookOnce(circles: boolean): Promise<void> {
    const waiting = [...this.#inLine]
    const full = await this.#store.full(waiting.map(({ take }) => take))
    const stay = waiting.filter(({ wake }, index) => {
      if (!full[index]) wake()
      return full[index]
    })
    // Only who runs under another call can wait for itself.
    if (circles && stay.some(({ take }) => take.above)) await this.#findCircles(stay)
  }

  /**
   * SCHED-4 across workers. A call in line waits for all that have a place under its name; and a call waits for those it runs. Of the calls
   * in a circle the one that came last is refused, whoever finds it.
   */
  async #findCircles(stay: readonly InLine[]): Promise<void> {
    const holds = await this.#store.holds()
    const inLine = holds.filter((hold) => hold.ticket !== null)
    const above = new Map<string, readonly string[]>()
    for (const { holder } of inLine) above.set(holder, await this.#above(holder))
    for (const { take, wake } of stay) {
      const circle = circleOf(take.holder, inLine, holds, above)
      if (circle !== null && circle.every((uid) => uid <= take.holder)) {
        wake(new PawlError('would_deadlock', `The call is ${take.holder}.`))
      }
    }
  }

  async #above(uid: string): Promise<readonly string[]> {
    const record = await this.#store.call(uid)
    const { root, above = [] } = record?.options ? (JSON.parse(record.options) as CallOptions) : {}
    return root === undefined ? [] : [root, ...above]
  }
}

/** The calls in line that would have to go on before this one can, if it is among them itself; null if it is not. */
function circleOf(
  uid: string,
  inLine: readonly Hold[],
  holds: readonly Hold[],
  above: ReadonlyMap<string, readonly string[]>,
): string[] | null {
  const seen = new Set<string>()
  const chain = new Set([uid, ...(above.get(uid) ?? [])])
  /** In every place under its name is a call that cannot go on before `uid` does. */
  const isStuck = (waiter: string): boolean => {
    seen.add(waiter)
    const { name } = inLine.find((each) => each.holder === waiter) as Hold
    const inside = holds.filter(
      (each) => each.name === name && each.ticket === null && !(above.get(waiter) ?? []).includes(each.holder),
    )
    return (
      inside.length > 0 &&
      inside.every(
        ({ holder }) =>
          chain.has(holder) ||
          [...above].some(([at, calls]) => calls.includes(holder) && (seen.has(at) ? false : isStuck(at))),
      )
    )
  }
  return inLine.some((each) => each.holder === uid) && isStuck(uid) ? [...seen] : null
}
