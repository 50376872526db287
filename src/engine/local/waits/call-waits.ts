// The waits of a held call: opened once by name, announced when the call first comes to wait, ended with the call when it is cancelled.
//
// An announcement is delivered by a call of its own (WAIT-5). It goes on record in the change that parks, so it is there if and only if the
// call is parked; and it is claimed, leased, retried and settled like any other call, so it is delivered at least once, by one worker at
// a time, over crashes too. Its place is made of the wait's id: a wait is announced once.

import { itemName } from '../../../store/records/approval-request.ts'
import { type WaitRecord, waitTermsOf } from '../../../store/records/call-record.ts'
import { eventOf } from '../../../store/records/event.ts'
import type { Change, Guard } from '../../../store/store.ts'
import { hashKey, newSalt, waitKey } from '../../wait-key.ts'
import type { Wait, WaitSpec } from '../../engine.ts'
import { announceTool } from './announce-tool.ts'
import type { LeasedCall } from '../leases/leased-call.ts'
import type { EngineState } from '../engine-state.ts'
import type { JournalCache } from '../leases/journal-cache.ts'
import { newRecord } from '../new-record.ts'

/** Each has a session of its own: one that is through is forgotten, whatever becomes of the others. */
const announceSession = (wait: string): string => `pawl:announcement:${wait}`

/** What is added to the change with which a call comes to wait. */
interface Announcement extends Required<Pick<Change, 'insertCall' | 'events'>> {
  readonly guard: Guard
}

export class CallWaits {
  readonly #host: EngineState
  readonly #held: LeasedCall
  readonly #known: JournalCache
  /** The one the call began under. */
  readonly #secret: Uint8Array
  /** Ids of those whose announcement is on record. */
  readonly #announced = new Set<string>()

  constructor(host: EngineState, held: LeasedCall, known: JournalCache, secret: Uint8Array) {
    this.#host = host
    this.#held = held
    this.#known = known
    this.#secret = secret
  }

  async open({ name, deadlineMs, terms, item }: WaitSpec): Promise<Wait> {
    const found = this.#known.wait(name)
    if (found) return this.#shown(found)
    const { clock, ids, timers } = this.#host
    const createdAt = clock.now()
    const deadline = createdAt + deadlineMs
    const salt = newSalt()
    const id = ids.next()
    const own = { id, call: this.#held.request.uid, name, salt, keyHash: hashKey(this.#keyOf(name, salt)) }
    const said = Object.keys(terms).length === 0 ? null : JSON.stringify(terms)
    const record: WaitRecord = { ...own, deadline, createdAt, terms: said, resolution: null }
    // Known before it is durable, so that two callers of one name get one wait.
    this.#known.keepWait(record)
    const { asks } = terms
    const opened = this.#held.event('wait.opened', createdAt, {
      wait: id,
      name,
      deadline,
      ...(asks ? { asks: asks.kind } : {}),
    })
    const kept = asks && {
      ...itemName(asks.kind, this.#held.request.position, id),
      value: JSON.stringify({ ...item, createdAt, deadline }),
    }
    await this.#held.write(
      this.#held.held({ insertWaits: [record], ...(kept ? { documents: [kept] } : {}), events: [opened] }),
    )
    timers.soon(deadline)
    return this.#shown(record)
  }

  /** What is still to be announced when the call comes to wait for this one. */
  announcement({ id, terms: { announce } }: Wait): Announcement | null {
    if (!announce || this.#announced.has(id)) return null
    const { clock } = this.#host
    const { type, payload } = announce
    const { tenant } = this.#held.request.position
    const position = { tenant, session: announceSession(id), batch: 'announce', id, occurrence: 0 }
    const asked = {
      position,
      principal: null,
      tool: announceTool,
      input: JSON.stringify({ wait: id }),
      hash: id,
      options: null,
      line: null,
    }
    // Nobody's: the next sweep of any worker that announces takes it.
    const [delivery] = newRecord(asked, this.#host, false)
    const received = eventOf({ ...position, call: delivery.uid }, 'call.received', clock.now(), { tool: announceTool })
    return {
      guard: { kind: 'absent', position },
      insertCall: delivery,
      events: [
        this.#held.event('wait.announced', clock.now(), { wait: id, type, payload: JSON.parse(payload) as unknown }),
        received,
      ],
    }
  }

  /** Makes the change that parks the call, with the announcement where one is due. Gives the guard that refused it. */
  async park(wait: Wait, change: Change): Promise<Guard['kind'] | null> {
    const guards: Guard[] = [...change.guards, { kind: 'open', wait: wait.id }]
    for (;;) {
      const told = this.announcement(wait)
      const also = told && {
        guards: [...guards, told.guard],
        insertCall: told.insertCall,
        events: [...change.events, ...told.events],
      }
      const committed = await this.#host.store.commit({ ...change, guards, ...also })
      if (committed.ok) return null
      if (committed.refused.kind !== 'absent') return committed.refused.kind
      // The body, or an attempt before, had waited for it inside: then that was announced.
      this.announced(wait)
    }
  }

  announced({ id }: Wait): void {
    this.#announced.add(id)
  }

  /** For a body that waits inside. On record when it resolves: here, unless it was before, or the wait has its answer already. */
  async announce(wait: Wait): Promise<void> {
    const announcement = this.announcement(wait)
    if (!announcement) return
    const { guard, ...told } = announcement
    const { uid, fence } = this.#held.request
    const guards: Guard[] = [{ kind: 'holds', call: uid, fence }, { kind: 'open', wait: wait.id }, guard]
    await new Promise<void>((resolve) => {
      this.#host.store.write({ guards, ...told }, (answer) => {
        if ('failed' in answer || (!answer.ok && answer.refused.kind === 'holds')) this.#held.judge(answer)
        resolve()
      })
    })
    this.#held.check()
    this.announced(wait)
  }

  /** Those that ended with the cancellation of the call. */
  async abandon(): Promise<readonly Wait[]> {
    const { stopped, request } = this.#held
    if (!stopped || !('cancel' in stopped)) return []
    const { answers } = this.#host
    const ended: Wait[] = []
    for (const record of this.#known.waits) {
      await answers.cancel(record, request, { reason: stopped.cancel, by: stopped.by })
      const terminal = await answers.given(record.id)
      // Should the outside itself have called it off, it has nothing left to stop.
      // Nor has anybody a key of what was asked of people.
      if ('cancelled' in terminal && terminal.cancelled === stopped.cancel && !waitTermsOf(record).asks)
        ended.push(this.#shown(record))
    }
    return ended
  }

  #keyOf(name: string, salt: string): string {
    const { uid, position } = this.#held.request
    return waitKey(this.#secret, { tenant: position.tenant, call: uid, name, salt })
  }

  #shown(record: WaitRecord): Wait {
    const { id, name, deadline, salt } = record
    return { id, name, key: this.#keyOf(name, salt), deadline, terms: waitTermsOf(record) }
  }
}
