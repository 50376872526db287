// What a held call has asked of people (POL-2 to POL-6): the waits of its journal that say so, and what is kept beside them.

import { decidingMs, isWord, itemName } from '../../../store/records/approval-request.ts'
import { type CallTerms, type WaitRecord, waitTermsOf } from '../../../store/records/call-record.ts'
import type { EventBodies, EventType } from '../../../store/records/event.ts'
import { waitedUntil } from '../../../store/records/call-times.ts'
import type { Change } from '../../../store/store.ts'
import { decodeResolution } from '../../../store/records/resolution.ts'
import type { AskedWait, AsksOfCall } from '../../engine.ts'
import type { LeasedCall } from '../leases/leased-call.ts'
import type { EngineState } from '../engine-state.ts'
import type { JournalCache } from '../leases/journal-cache.ts'

function askedOf(wait: WaitRecord): AskedWait | null {
  const { id, createdAt, deadline, resolution } = wait
  const { asks } = waitTermsOf(wait)
  return asks
    ? { id, asks, createdAt, deadline, resolution: resolution === null ? null : decodeResolution(resolution) }
    : null
}

export class CallAsks implements AsksOfCall {
  readonly #host: EngineState
  readonly #held: LeasedCall
  readonly #known: JournalCache

  constructor(host: EngineState, held: LeasedCall, known: JournalCache) {
    this.#host = host
    this.#held = held
    this.#known = known
  }

  get any(): boolean {
    return this.#known.waits.some((wait) => waitTermsOf(wait).asks)
  }

  found(name: string): AskedWait | null {
    const wait = this.#known.wait(name)
    return wait ? askedOf(wait) : null
  }

  async callOff(name: string, why: string): Promise<boolean> {
    const wait = this.#known.wait(name) as WaitRecord
    const written = await this.#host.answers.callOff(wait, this.#held.request, why)
    const now = await this.#host.store.wait(wait.id)
    if (now) this.#known.keepWait(now)
    return written
  }

  amend(args: string | null, how: Pick<CallTerms, 'edited' | 'prepared' | 'version' | 'cost'>): void {
    const { progress } = this.#held
    const terms = JSON.stringify({ ...(JSON.parse(progress.terms ?? '{}') as CallTerms), ...how })
    this.#held.progress = { ...progress, ...(args === null ? {} : { args }), terms }
  }

  tell<T extends EventType>(type: T, body: EventBodies[T]): void {
    const { clock } = this.#host
    this.#held.ride(this.#held.held({ events: [this.#held.event(type, clock.now(), body)] }))
  }

  get decidingMs(): number {
    const waits = this.#known.waits
    if (waits.length === 0) return 0
    const asked = waits.flatMap((wait) => {
      const { asks, resolution } = askedOf(wait) ?? {}
      return asks ? [{ wait, asks, resolution: resolution ?? null }] : []
    })
    return decidingMs(asked, this.#host.clock.now())
  }

  /** With the end of the call: nobody need answer any more. */
  closing(): Pick<Change, 'documents'> {
    const { position } = this.#held.request
    const open = this.#known.waits.flatMap((wait) => {
      const { asks } = wait.resolution === null ? waitTermsOf(wait) : {}
      return asks ? [{ ...itemName(asks.kind, position, wait.id), value: null }] : []
    })
    return open.length > 0 ? { documents: open } : {}
  }

  /** What it waited for was a word of somebody, and is here: it goes on as a call that waits for nothing. */
  goesOn(): void {
    const { progress } = this.#held
    if (progress.state !== 'queued' || progress.wait === null) return
    const wait = this.#known.waits.find(({ id }) => id === progress.wait)
    const asked = wait && askedOf(wait)
    if (!asked || !isWord(asked.asks.kind)) return
    this.#held.progress = { ...progress, wait: null, terms: waitedUntil(progress.terms, this.#host.clock.now()) }
  }
}
