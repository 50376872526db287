// What is kept beside a held call: gathered, and written with the next thing the holder writes, so that it is fenced like all of that.

import type { EventBodies, EventType } from '../../../store/records/event.ts'
import type { Change, Guard, DocumentName } from '../../../store/store.ts'
import type { Asked, AttachedWritesPort } from '../../engine.ts'
import { type PendingWrites, joined, placeOf } from './pending-writes.ts'
import { spare } from './worker-deaths.ts'
import type { LeasedCall } from './leased-call.ts'
import { newRecord } from '../new-record.ts'
import { arrival } from '../submit.ts'

const nothing: PendingWrites = { documents: [], events: [] }

export class AttachedWrites implements AttachedWritesPort {
  readonly #held: LeasedCall
  /** As this execution has written it, or is about to. */
  readonly #known = new Map<string, string | null>()

  constructor(held: LeasedCall) {
    this.#held = held
  }

  async read(name: DocumentName): Promise<string | null> {
    const place = placeOf(name)
    const known = this.#known.get(place)
    return known === undefined ? ((await this.#held.host.store.document(name))?.value ?? null) : known
  }

  keep(...rows: NonNullable<Change['documents']>): void {
    this.#waiting = joined(this.#waiting, { documents: rows, events: [] })
    for (const row of rows) this.#known.set(placeOf(row), row.value)
  }

  tell<T extends EventType>(type: T, body: EventBodies[T]): void {
    const { events, ...rest } = this.#waiting
    this.#waiting = { ...rest, events: [...events, this.#held.event(type, this.#held.host.clock.now(), body)] }
  }

  put(asked: Asked): void {
    this.#held.check()
    const { events, ...rest } = this.#waiting
    const [record] = newRecord(asked, this.#held.host, false)
    const { guards, insertCall, events: arrived } = arrival(record, asked.options?.name)
    this.#waiting = { ...rest, guards, ...(insertCall ? { insertCall } : {}), events: [...events, ...arrived] }
  }

  ends(): void {
    this.#held.withEnd ??= nothing
  }

  fence(): readonly Guard[] {
    this.#held.check()
    const { uid, fence } = this.#held.request
    return [{ kind: 'holds', call: uid, fence }]
  }

  rests(): void {
    spare(this.#held)
  }

  async flush(): Promise<void> {
    this.#held.check()
    if (this.#held.beside && this.#held.letGo === 'not yet') await this.#held.write(this.#held.held({ events: [] }))
  }

  get #waiting(): PendingWrites {
    return this.#held.withEnd ?? this.#held.beside ?? nothing
  }

  set #waiting(besides: PendingWrites) {
    if (this.#held.withEnd) this.#held.withEnd = besides
    else this.#held.beside = besides
  }
}
