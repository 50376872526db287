// Collects documents, events and a call, and writes them with the holder's next write, so that they are guarded by its
// fence.

import type { EventBodies, EventType } from '../../../store/records/event.ts'
import type { Guard, DocumentName, DocumentWrite } from '../../../store/store.ts'
import type { NewCall, AttachedWritesPort } from '../../engine.ts'
import { type PendingWrites, mergeWrites, documentKey } from './merge-pending-writes.ts'
import type { LeasedCall } from './leased-call.ts'
import { newRecord, insertChange } from '../submit.ts'

const nothing: PendingWrites = { documents: [], events: [] }

export class AttachedWrites implements AttachedWritesPort {
  readonly #leased: LeasedCall
  /** Documents this execution has written or queued. */
  readonly #written = new Map<string, string | null>()

  constructor(leased: LeasedCall) {
    this.#leased = leased
  }

  async read(name: DocumentName): Promise<string | null> {
    const key = documentKey(name)
    const written = this.#written.get(key)
    return written === undefined ? ((await this.#leased.host.store.document(name))?.value ?? null) : written
  }

  writeDocuments(...rows: readonly DocumentWrite[]): void {
    this.#pending = mergeWrites(this.#pending, { documents: rows, events: [] })
    for (const row of rows) this.#written.set(documentKey(row), row.value)
  }

  appendEvent<T extends EventType>(type: T, body: EventBodies[T]): void {
    const { events, ...rest } = this.#pending
    this.#pending = { ...rest, events: [...events, this.#leased.event(type, this.#leased.host.clock.now(), body)] }
  }

  submit(newCall: NewCall): void {
    this.#leased.check()
    const { events, ...rest } = this.#pending
    const [record] = newRecord(newCall, this.#leased.host, false)
    const { guards, insertCall, events: insertEvents } = insertChange(record, newCall.options?.name)
    this.#pending = { ...rest, guards, ...(insertCall ? { insertCall } : {}), events: [...events, ...insertEvents] }
  }

  deferToOutcome(): void {
    this.#leased.pendingForOutcome ??= nothing
  }

  fence(): readonly Guard[] {
    this.#leased.check()
    const { uid, fence } = this.#leased.request
    return [{ kind: 'holds', call: uid, fence }]
  }

  async flush(): Promise<void> {
    this.#leased.check()
    if (this.#leased.pending && this.#leased.releaseState === 'not yet')
      await this.#leased.write(this.#leased.fenced({ events: [] }))
  }

  get #pending(): PendingWrites {
    return this.#leased.pendingForOutcome ?? this.#leased.pending ?? nothing
  }

  set #pending(writes: PendingWrites) {
    if (this.#leased.pendingForOutcome) this.#leased.pendingForOutcome = writes
    else this.#leased.pending = writes
  }
}
