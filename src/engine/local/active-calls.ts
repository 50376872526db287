// The calls that somebody here runs or waits for, by their place and by their uid.

import type { CallPosition, CallRecord } from '../../store/records/call-record.ts'
import { Places } from '../../store/records/position-map.ts'
import type { CallTimes } from '../../store/records/call-times.ts'
import type { PawlError } from '../../core/errors.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Clock } from '../../core/clock.ts'
import { decode } from '../../core/value.ts'
import { Live } from './active-call.ts'

export class Lives {
  readonly byUid = new Map<string, Live>()
  /** A start that still asks the store stands here too, so that two starts of one call are one. */
  readonly #places = new Places<Live | Promise<Live>>()
  readonly #clock: Clock
  #release = (): void => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  at(position: CallPosition): Live | Promise<Live> | undefined {
    return this.#places.get(position)
  }

  stand(position: CallPosition, live: Live | Promise<Live>): void {
    this.#places.set(position, live)
    if (live instanceof Promise) live.catch(() => this.#places.delete(position))
  }

  leave(position: CallPosition): void {
    this.#places.delete(position)
  }

  /** The one that is there, or a new one. */
  of(record: CallRecord): Live {
    return this.byUid.get(record.uid) ?? this.add(record)
  }

  add(record: CallRecord): Live {
    // A call that is on its way here keeps the program alive: nothing else may, while it sleeps or waits.
    if (this.byUid.size === 0) this.#release = this.#clock.hold()
    const live = new Live(record)
    this.byUid.set(live.uid, live)
    return live
  }

  forget(live: Live): void {
    if (this.byUid.delete(live.uid) && this.byUid.size === 0) this.#release()
  }

  /** These were claimed anew. The ends of executions here that had held some of them before. */
  lost(records: readonly CallRecord[]): Promise<void>[] {
    return records.flatMap(({ uid, fence }) => this.byUid.get(uid)?.lost(fence) ?? [])
  }

  /** Tells whoever waits for it. */
  ended(live: Live, request: CallRecord, attempts: number, text: string, times: CallTimes): void {
    live.release()
    live.ended = true
    this.forget(live)
    if (this.#places.get(live.position) === live) this.#places.delete(live.position)
    live.resolve({ request, attempts, outcome: decode(text) as unknown as Outcome, text, times })
  }

  /** What is held is given back, and nobody is told anything but this any more. */
  async close(why: PawlError): Promise<void> {
    const held = [...this.byUid.values()].flatMap(({ invocation }) => invocation ?? [])
    for (const invocation of held) invocation.held.end(why)
    await Promise.allSettled(held.map((invocation) => invocation.handBack()))
    for (const live of this.byUid.values()) live.reject(why)
    this.#release()
  }
}
