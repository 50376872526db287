// The waits of a leased call: opened once per name, announced when the call starts to wait, cancelled with the call.
//
// An announcement is delivered by a call of its own. For an external wait it is inserted in the commit that parks, so it
// exists if and only if the call is parked; for a request to a person in the commit that opens the wait. It is claimed,
// leased, retried and settled like any other call, so it is delivered at least once, by one worker at a time, across
// crashes. Its position contains the wait's id, so a wait is announced once.

import { type WaitRecord, waitTermsOf, type Announced, checkMove } from '../../../store/records/call-record.ts'
import type { AskKind } from '../../../store/records/approval-wait-terms.ts'
import { eventOf } from '../../../store/records/event.ts'
import type { Change, Guard } from '../../../store/store.ts'
import { hashKey, newSalt, waitKey } from '../../wait-key.ts'
import type { Wait, WaitSpec } from '../../engine.ts'
import { cancelOfStop } from '../cancellation/write-cancel.ts'
import { observedCall } from '../../observed-call.ts'
import type { LeasedCall } from '../leases/leased-call.ts'
import type { EngineState } from '../engine-state.ts'
import type { JournalCache } from '../leases/journal-cache.ts'
import { newRecord } from '../submit.ts'
import { parseJson } from '../../../core/tool-value.ts'
import { itemsOf } from '../../../store/collections.ts'
import { announceSession, announceTool } from '../../../store/journal-keys.ts'

/** A session per announcement, so that each is pruned independently of the others. */

/** Added to the change that announces a wait. */
interface Announcement extends Required<Pick<Change, 'insertCall' | 'events'>> {
  readonly guard: Guard
}

export class CallWaits {
  readonly #host: EngineState
  readonly #leased: LeasedCall
  readonly #journal: JournalCache
  /** The host secret that was current when the call was created. */
  readonly #secret: Uint8Array
  /** Ids of waits whose announcement is recorded. */
  readonly #announced = new Set<string>()

  constructor(host: EngineState, leased: LeasedCall, journal: JournalCache, secret: Uint8Array) {
    this.#host = host
    this.#leased = leased
    this.#journal = journal
    this.#secret = secret
  }

  async open({ name, deadlineMs, terms, item }: WaitSpec): Promise<Wait> {
    const found = this.#journal.wait(name)
    if (found) return this.#toWait(found)
    const { clock, ids, timers } = this.#host
    const createdAt = clock.now()
    const deadline = createdAt + deadlineMs
    const salt = newSalt()
    const id = ids.next()
    const own = { id, call: this.#leased.request.uid, name, salt, keyHash: hashKey(this.#keyOf(name, salt)) }
    const recordedTerms = Object.keys(terms).length === 0 ? null : JSON.stringify(terms)
    const record: WaitRecord = { ...own, deadline, createdAt, terms: recordedTerms, resolution: null }
    // Cached before it is durable, so that two openings of one name share one wait.
    this.#journal.setWait(record)
    const { asks } = terms
    const opened = this.#leased.event('wait.opened', createdAt, {
      wait: id,
      name,
      deadline,
      ...(asks ? { asks: asks.kind } : {}),
    })
    const itemDocument = asks && {
      ...itemsOf(asks.kind).name(this.#leased.request.position, id),
      value: JSON.stringify({ ...item, createdAt, deadline }),
    }
    const delivery = asks && this.#isAnnounced(asks.kind) ? this.#delivery(id, asks.kind, null) : null
    const change = this.#leased.fenced({
      insertWaits: [record],
      ...(itemDocument ? { documents: [itemDocument] } : {}),
      ...(delivery ? { insertCall: delivery.insertCall } : {}),
      events: [opened, ...(delivery?.events ?? [])],
    })
    await this.#leased.write(delivery ? { ...change, guards: [...change.guards, delivery.guard] } : change)
    timers.wakeAt(deadline)
    const observer = this.#host.observers.current
    if (observer)
      observer({
        type: 'waitOpened',
        ...observedCall(this.#leased.request),
        at: createdAt,
        wait: id,
        kind: asks?.kind ?? 'external',
      })
    return this.#toWait(record)
  }

  /** The announcement that is due when the call starts to wait for this wait, if any. */
  announcement({ id, terms: { announce } }: Wait): Announcement | null {
    if (!announce || this.#announced.has(id)) return null
    return this.#delivery(id, announce.type, parseJson(announce.payload))
  }

  /** A runtime without `announce` records no deliveries: it may be that no worker of the store would claim them. */
  #isAnnounced(kind: AskKind): boolean {
    return kind !== 'client' && this.#host.drivers.canDrive(announceTool)
  }

  #delivery(id: string, type: string, payload: unknown): Announcement {
    const { clock } = this.#host
    const { tenant } = this.#leased.request.position
    const position = { tenant, session: announceSession(id), batch: 'announce', id, occurrence: 0 }
    const newCall = {
      position,
      principal: null,
      tool: announceTool,
      input: JSON.stringify({ wait: id } satisfies Announced),
      hash: id,
      options: null,
      line: null,
    }
    // Unowned: any worker that delivers announcements claims it.
    const [delivery] = newRecord(newCall, this.#host, false)
    const received = eventOf({ ...position, call: delivery.uid }, 'call.received', clock.now(), { tool: announceTool })
    return {
      guard: { kind: 'absent', position },
      insertCall: delivery,
      events: [this.#leased.event('wait.announced', clock.now(), { wait: id, type, payload }), received],
    }
  }

  /**
   * Commits the change that parks the call, with the announcement if one is due. Returns the kind of guard that failed,
   * or null.
   */
  async park(wait: Wait, change: Change): Promise<Guard['kind'] | null> {
    const guards: Guard[] = [...change.guards, { kind: 'open', wait: wait.id }]
    for (;;) {
      const announcement = this.announcement(wait)
      const withAnnouncement = announcement && {
        guards: [...guards, announcement.guard],
        insertCall: announcement.insertCall,
        events: [...change.events, ...announcement.events],
      }
      const committed = await this.#host.store.commit({ ...change, guards, ...withAnnouncement })
      if (committed.ok) return null
      if (committed.refused.kind !== 'absent') return committed.refused.kind
      // The body or an earlier attempt already waited for it, so it has been announced.
      this.markAnnounced(wait)
    }
  }

  markAnnounced({ id }: Wait): void {
    this.#announced.add(id)
  }

  /** Records the announcement for a body that waits without parking, unless it is recorded or the wait is answered. */
  async announce(wait: Wait): Promise<void> {
    const announcement = this.announcement(wait)
    if (!announcement) return
    const { guard, ...writes } = announcement
    const { uid, fence } = this.#leased.request
    const guards: Guard[] = [{ kind: 'holds', call: uid, fence }, { kind: 'open', wait: wait.id }, guard]
    await new Promise<void>((resolve) => {
      this.#host.store.write({ guards, ...writes }, (answer) => {
        if ('failed' in answer || (!answer.ok && answer.refused.kind === 'holds')) this.#leased.confirmWrite(answer)
        resolve()
      })
    })
    this.#leased.check()
    this.markAnnounced(wait)
  }

  /** Cancels the open waits of a cancelled call and returns those that ended this way. */
  async cancelOpen(): Promise<readonly Wait[]> {
    const { stopped, request } = this.#leased
    if (!stopped || !('cancel' in stopped)) return []
    const { answers } = this.#host
    const ended: Wait[] = []
    for (const record of this.#journal.waits) {
      await answers.cancel(record, request, cancelOfStop(stopped))
      // Skips waits that people answer, for which no key was handed out, and waits that the external side cancelled
      // itself: nothing is left to stop there.
      if (!waitTermsOf(record).asks && (await answers.isCancelledWithCall(record.id))) ended.push(this.#toWait(record))
    }
    return ended
  }

  #keyOf(name: string, salt: string): string {
    const { uid, position } = this.#leased.request
    return waitKey(this.#secret, { tenant: position.tenant, call: uid, name, salt })
  }

  #toWait(record: WaitRecord): Wait {
    const { id, name, deadline, salt } = record
    return { id, name, key: this.#keyOf(name, salt), deadline, terms: waitTermsOf(record) }
  }
}

/** `answered`: the wait is already answered and the call is still ours. `lost`: another worker holds the call. */
export type ParkResult = 'parked' | 'answered' | 'lost'

/** Parks a call on an external wait: afterwards no worker owns it, and it takes up only one row in the store. */
export async function park(leased: LeasedCall, waits: CallWaits, wait: Wait): Promise<ParkResult> {
  checkMove(leased.progress.state, 'parked')
  const progress = { ...leased.progress, state: 'parked' as const, wait: wait.id, deaths: 0 }
  const heldSlots = leased.mayHoldSlots
  const event = leased.event('call.parked', leased.host.clock.now(), { wait: wait.id, deadline: wait.deadline })
  const change = leased.fenced({
    updateCall: { uid: leased.request.uid, progress, release: true },
    ...leased.releaseSlots(),
    events: [event],
  })
  leased.setReleaseState('under way')
  let refused: Guard['kind'] | null = 'holds'
  try {
    refused = await waits.park(wait, change)
    if (refused === null) return 'parked'
    leased.mayHoldSlots = heldSlots
    return refused === 'open' ? 'answered' : 'lost'
  } finally {
    leased.setReleaseState(refused === null ? 'parked' : 'not yet')
  }
}
