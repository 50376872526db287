// What other processes wrote, as far as somebody here waits for it. The feed names what changed, so a foreign write costs what it wrote and
// not what waits here; and where more was written than is waited for, looking at what is waited for costs less.
//
// Everything up to a position was looked at. Whoever comes to wait for something later listens first and looks at it second, so nothing
// falls in between: that is `lookAt` for a call, and `Waiters.answer` for a wait.

import type { CallRecord } from '../../store/records/call-record.ts'
import { PawlError } from '../../core/errors.ts'
import type { Store } from '../../store/store.ts'
import { cancelKey, type Why } from './cancellation/cancel-record.ts'
import type { ActiveCall } from './active-calls.ts'
import { unlessUnreadable } from '../../store/read-or-report.ts'
import type { Timers, Waiters } from './waits/timers.ts'

const page = 256

interface OutsideHost {
  readonly store: Store
  readonly waiters: Waiters
  readonly timers: Timers
  readonly lives: ReadonlyMap<string, ActiveCall>
  /** A call that somebody here waits for was settled elsewhere. */
  settled(record: CallRecord): void
  /** Its record cannot be opened. */
  broken(live: ActiveCall, error: unknown): void
}

/** Somebody asked it to stop on another worker. What this one asked itself is stopped already. */
async function cancelled(live: ActiveCall | undefined, why: Why): Promise<void> {
  const { execution } = live ?? {}
  if (execution?.held.cancelledOutside(why)) await execution.abandon().catch(() => {}) // then the pipeline does it
}

export class RemoteChanges {
  readonly #host: OutsideHost
  #seen = 0
  #erasures = 0
  #looking: Promise<void> | null = null
  #again = false
  /** The last look came to nothing. */
  missed = false
  /** How often it has looked. */
  looks = 0

  constructor(host: OutsideHost) {
    this.#host = host
  }

  /** One look at a time; a hint during one makes another. */
  look(): Promise<void> {
    this.#again = true
    this.#looking ??= (async () => {
      try {
        this.missed = true
        while (this.#again) {
          this.#again = false
          await this.#look()
        }
        this.missed = false
      } finally {
        this.#looking = null
      }
    })()
    return this.#looking
  }

  /** A call that is not driven here may have been settled elsewhere. One that is, is looked at when it is let go. */
  async lookAt(live: ActiveCall | undefined): Promise<void> {
    if (!live) return
    live.newsWhileHeld = live.execution !== null
    if (live.execution) return
    const { store, lives, settled, broken } = this.#host
    const record = await unlessUnreadable(
      () => store.call(live.uid),
      (error) => broken(live, error),
    )
    if (!record && live.onRecord)
      return broken(live, new PawlError('store_unavailable', 'The call is no longer on record: it was erased.'))
    if (record?.state === 'settled' && lives.get(live.uid) === live && !live.execution) settled(record)
  }

  async lookForCancel(live: ActiveCall): Promise<void> {
    const asked = live.execution && (await this.#host.store.steps(live.uid)).find(({ key }) => key === cancelKey)
    if (asked) await cancelled(live, JSON.parse(asked.value as string) as Why)
  }

  async #look(): Promise<void> {
    this.looks++
    const { store, waiters, timers, lives } = this.#host
    // Asked before anything is looked at: what is written meanwhile comes after it.
    const end = await store.lastPosition()
    if (end <= this.#seen) return
    // What was erased is told by no event.
    const { count } = lives.size > 0 ? await store.erased() : { count: this.#erasures }
    const erased = count !== this.#erasures
    this.#erasures = count
    if (erased || end - this.#seen > lives.size + waiters.count) {
      await waiters.lookAtAll()
      for (const live of lives.values()) {
        await this.lookAt(live)
        await this.lookForCancel(live)
      }
    } else await this.#read(end)
    const next = await store.nextDeadline()
    if (next !== undefined) timers.soon(next)
    this.#seen = end
  }

  async #read(end: number): Promise<void> {
    const { store, waiters, lives } = this.#host
    for (let after = this.#seen; after < end;) {
      const events = await store.events({ after, limit: page })
      for (const { type, call, body, position } of events) {
        after = position
        if (type === 'wait.resolved') await waiters.answered(body.wait)
        else if (type === 'call.settled') await this.lookAt(lives.get(call))
        else if (type === 'call.cancelling') await cancelled(lives.get(call), body)
      }
      if (events.length === 0) return
    }
  }
}
