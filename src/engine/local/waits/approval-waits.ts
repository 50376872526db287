// The waits of a call that people answer, and the inbox items stored with them. Implements ApprovalWaitsPort.

import { decidingMs, isDecisionKind } from '../../../store/records/approval-request.ts'
import { type CallTerms, type WaitRecord, waitTermsOf, parseCallTerms } from '../../../store/records/call-record.ts'
import type { EventBodies, EventType } from '../../../store/records/event.ts'
import { addWaitTime } from '../../../store/records/call-times.ts'
import type { Change } from '../../../store/store.ts'
import { decodeResolution } from '../../../store/records/wait-resolution.ts'
import type { ApprovalWait, ApprovalWaitsPort } from '../../engine.ts'
import type { LeasedCall } from '../leases/leased-call.ts'
import type { EngineState } from '../engine-state.ts'
import type { JournalCache } from '../leases/journal-cache.ts'
import { itemsOf } from '../../../store/collections.ts'

function approvalOf(wait: WaitRecord): ApprovalWait | null {
  const { id, createdAt, deadline, resolution } = wait
  const { asks } = waitTermsOf(wait)
  return asks
    ? { id, asks, createdAt, deadline, resolution: resolution === null ? null : decodeResolution(resolution) }
    : null
}

export class ApprovalWaits implements ApprovalWaitsPort {
  readonly #host: EngineState
  readonly #leased: LeasedCall
  readonly #journal: JournalCache

  constructor(host: EngineState, leased: LeasedCall, journal: JournalCache) {
    this.#host = host
    this.#leased = leased
    this.#journal = journal
  }

  get any(): boolean {
    return this.#journal.waits.some((wait) => waitTermsOf(wait).asks)
  }

  find(name: string): ApprovalWait | null {
    const wait = this.#journal.wait(name)
    return wait ? approvalOf(wait) : null
  }

  async withdraw(name: string, why: string): Promise<boolean> {
    const wait = this.#journal.wait(name) as WaitRecord
    const wasOpen = await this.#host.answers.withdraw(wait, this.#leased.request, why)
    const now = await this.#host.store.wait(wait.id)
    if (now) this.#journal.setWait(now)
    return wasOpen
  }

  amend(args: string | null, changes: Pick<CallTerms, 'edited' | 'prepared' | 'version' | 'schema' | 'cost'>): void {
    const { progress } = this.#leased
    const terms = JSON.stringify({ ...parseCallTerms(progress.terms ?? '{}'), ...changes })
    this.#leased.progress = { ...progress, ...(args === null ? {} : { args }), terms }
  }

  appendEvent<T extends EventType>(type: T, body: EventBodies[T]): void {
    const { clock } = this.#host
    this.#leased.writeLazily(this.#leased.fenced({ events: [this.#leased.event(type, clock.now(), body)] }))
  }

  get decidingMs(): number {
    const waits = this.#journal.waits
    if (waits.length === 0) return 0
    const approvals = waits.flatMap((wait) => {
      const { asks, resolution } = approvalOf(wait) ?? {}
      return asks ? [{ wait, asks, resolution: resolution ?? null }] : []
    })
    return decidingMs(approvals, this.#host.clock.now())
  }

  /** Writes to commit with the outcome: they remove the inbox items that are still open. */
  closeItems(): Pick<Change, 'documents'> {
    const { position } = this.#leased.request
    const open = this.#journal.waits.flatMap((wait) => {
      const { asks } = wait.resolution === null ? waitTermsOf(wait) : {}
      return asks ? [itemsOf(asks.kind).remove(position, wait.id)] : []
    })
    return open.length > 0 ? { documents: open } : {}
  }

  /** Once the decision that the call waited for has been made, the call no longer counts as waiting. */
  clearAnsweredWait(): void {
    const { progress } = this.#leased
    if (progress.state !== 'queued' || progress.wait === null) return
    const wait = this.#journal.waits.find(({ id }) => id === progress.wait)
    const approval = wait && approvalOf(wait)
    if (!approval || !isDecisionKind(approval.asks.kind)) return
    this.#leased.progress = { ...progress, wait: null, terms: addWaitTime(progress.terms, this.#host.clock.now()) }
  }
}
