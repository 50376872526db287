// One call on this worker: the seam's verbs as changes to a store, every one of them checked against the fence.
//
// Syncs (power mode): `begin({ durable })` is one, shared with the arrival of the call; every step end is one; the outcome is
// one. What nobody has to wait for (arrival, accepted arguments, the start of a body that may rerun) rides with the next.

import { createHmac } from 'node:crypto'
import { PawlError } from '../../kernel/errors.ts'
import { frame } from '../../kernel/id.ts'
import type { Outcome } from '../../kernel/outcome.ts'
import { encode } from '../../kernel/value.ts'
import {
  type CallProgress,
  type CallRecord,
  checkMove,
  type Interruption,
  interruptionOf,
  type Resolution,
  type StepRecord,
  type WaitRecord,
} from '../../journal/call-state.ts'
import { eventOf } from '../../journal/event.ts'
import type { AttachmentRecord, Change, Guard } from '../../store/store.ts'
import { hashKey, newSalt, waitKey } from '../../wait/key.ts'
import { difference } from '../difference.ts'
import type { Invocation, StepEnd, StepSpec, Wait, WaitSpec } from '../engine.ts'
import type { Host } from './host.ts'

export class LocalInvocation implements Invocation {
  readonly request: CallRecord
  readonly interrupted: Interruption | null
  readonly landed: Resolution | null
  readonly #abort = new AbortController()
  readonly #host: Host
  readonly #event: ReturnType<typeof eventOf>
  readonly #steps: Map<string, StepRecord>
  readonly #waits: Map<string, WaitRecord>
  #progress: CallProgress
  #attachments: AttachmentRecord[] = []
  /** Why this execution no longer counts; set once. */
  #over: PawlError | null = null
  /** The lapse of the lease after which this call was last seen to be ours. */
  #heldSince: number
  /** How many waits and sleeps the body is in. */
  #waiting = 0

  constructor(host: Host, record: CallRecord, known: { steps: StepRecord[]; waits: WaitRecord[]; landed: Resolution | null }) {
    this.#host = host
    this.request = record
    this.interrupted = interruptionOf(record)
    this.landed = known.landed
    this.#heldSince = host.lease.lapses
    const { state, args, attempt, startedAt, wait, outcome, settledAt } = record
    this.#progress = { state, args, attempt, startedAt, wait, outcome, settledAt }
    this.#steps = new Map(known.steps.map((step) => [step.key, step]))
    this.#waits = new Map(known.waits.map((wait) => [wait.name, wait]))
    this.#event = eventOf({ tenant: record.position.tenant, session: record.position.session, call: record.uid })
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }
  get args(): string | null {
    return this.#progress.args
  }
  get attempt(): number {
    return this.#progress.attempt
  }
  /** Nothing but waits and sleeps is under way: the body may be let go and taken up again elsewhere. */
  get idle(): boolean {
    return this.#waiting > 0
  }

  /** Puts a new call on record; rides with whatever its pipeline writes next. */
  insert(): void {
    const { request } = this
    this.#ride({
      guards: [{ kind: 'absent', position: request.position }],
      insertCall: request,
      events: [this.#event('call.received', request.createdAt, { tool: request.tool })],
    })
  }

  async accept(args: string): Promise<string> {
    this.#progress = { ...this.#progress, args }
    return args
  }

  async begin<T>(how: { durable: boolean }, body: () => T): Promise<Awaited<T>> {
    const at = this.#host.clock.now()
    const attempt = this.#progress.attempt + 1
    this.#move({ state: 'running', attempt, startedAt: at })
    const change = this.#held({ updateCall: this.#update(), events: [this.#event('call.started', at, { attempt })] })
    if (how.durable) await this.#write(change)
    else this.#ride(change)
    while (!this.#surelyHeld()) await this.#verifyHeld()
    return await body()
  }

  async run(spec: StepSpec, body: () => Promise<StepEnd>): Promise<StepEnd> {
    const found = this.#steps.get(spec.key)
    if (found) {
      if (found.input !== spec.input) refuseOtherInput(spec, found.input)
      if (found.state === 'done') return { done: found.value as string }
      if (found.state === 'failed') return { failed: found.value as string }
      if (spec.once) throw new PawlError('step_unknown', `The step is '${spec.key}'.`, { details: { step: spec.key, startedAt: found.at } })
    }
    const step = (state: StepRecord['state'], value: string | null): StepRecord => ({
      call: this.request.uid,
      key: spec.key,
      state,
      input: spec.input,
      value,
      at: this.#host.clock.now(),
    })
    if (spec.once) {
      const started = step('started', null)
      await this.#write(this.#held({ steps: [started], events: [this.#event('step.started', started.at, { step: spec.key })] }))
    }
    while (!this.#surelyHeld()) await this.#verifyHeld()
    const end = await body()
    const ended = 'done' in end ? step('done', end.done) : step('failed', end.failed)
    await this.#write(this.#held({ steps: [ended], events: [this.#event(`step.${ended.state as 'done'}`, ended.at, { step: spec.key })] }))
    return end
  }

  async wait(spec: WaitSpec): Promise<Wait> {
    const found = this.#waits.get(spec.name)
    if (found) return this.#shown(found)
    const { clock, ids } = this.#host
    const createdAt = clock.now()
    const salt = newSalt()
    const key = this.#keyOf(spec.name, salt)
    const record: WaitRecord = {
      id: ids.next(),
      call: this.request.uid,
      name: spec.name,
      salt,
      keyHash: hashKey(key),
      deadline: createdAt + spec.deadlineMs,
      createdAt,
      resolution: null,
    }
    // Known before it is durable, so that two callers of one name get one wait.
    this.#waits.set(spec.name, record)
    const { id, name, deadline } = record
    await this.#write(this.#held({ insertWaits: [record], events: [this.#event('wait.opened', createdAt, { wait: id, name, deadline })] }))
    this.#host.timers.soon(deadline)
    return this.#shown(record)
  }

  answer(wait: Wait): Promise<Resolution> {
    return this.#idly(() => this.#host.waiters.answer(wait.id, this.signal))
  }

  async sleep(key: string, ms: number): Promise<void> {
    const { clock } = this.#host
    const end = await this.run({ key, input: null, once: false }, async () => ({ done: String(clock.now() + ms) }))
    const until = Number((end as { done: string }).done)
    const left = until - clock.now()
    if (left <= 0) return
    await this.#idly(
      () =>
        new Promise<void>((resolve, reject) => {
          const callOff = clock.timer(left, () => {
            this.signal.removeEventListener('abort', aborted)
            resolve()
          })
          const aborted = (): void => {
            callOff()
            reject(this.signal.reason as Error)
          }
          this.signal.addEventListener('abort', aborted, { once: true })
        }),
    )
  }

  async now(key: string): Promise<number> {
    const end = await this.run({ key, input: null, once: false }, async () => ({ done: String(this.#host.clock.now()) }))
    return Number((end as { done: string }).done)
  }

  derive(purpose: string): Uint8Array {
    const { tenant, session, batch, id, occurrence } = this.request.position
    return createHmac('sha256', this.#host.secret)
      .update(frame('pawl derive v1', tenant, session, batch, id, occurrence, purpose))
      .digest()
  }

  attach(attachment: AttachmentRecord): void {
    this.#check()
    this.#attachments.push(attachment)
  }

  async attachment(id: string): Promise<AttachmentRecord | undefined> {
    const { tenant } = this.request.position
    return this.#attachments.find((each) => each.id === id) ?? (await this.#host.store.attachment(tenant, id))
  }

  /** Ends the call. False if another holder or an earlier end was there first: then nothing was written. */
  async settle(outcome: Outcome): Promise<boolean> {
    this.#check()
    const at = this.#host.clock.now()
    this.#move({ state: 'settled', outcome: encode(outcome), settledAt: at })
    const body = { status: outcome.status, attempts: this.#progress.attempt }
    return this.#finish(this.#held({ updateCall: this.#update(true), events: [this.#event('call.settled', at, body)] }))
  }

  /** Parks the call on an open wait and lets go of it, unless the wait is answered already or the call is no longer ours. */
  async park(wait: Wait): Promise<'parked' | 'answered' | 'lost'> {
    this.#check()
    const at = this.#host.clock.now()
    checkMove(this.#progress.state, 'parked')
    const parked = { ...this.#progress, state: 'parked' as const, wait: wait.id }
    const change = this.#held({
      updateCall: { uid: this.request.uid, progress: parked, release: true },
      events: [this.#event('call.parked', at, { wait: wait.id, deadline: wait.deadline })],
    })
    const committed = await this.#host.store.commit({ ...change, guards: [...change.guards, { kind: 'open', wait: wait.id }] })
    if (committed.ok) return 'parked'
    return committed.refused.kind === 'open' ? 'answered' : 'lost'
  }

  /** Stops this execution from counting: its ctx records nothing more, its signal aborts. */
  end(why: PawlError): void {
    if (this.#over) return
    this.#over = why
    this.#abort.abort(why)
  }

  /** Gives the call back as it stands, for whoever claims it next. */
  async handBack(): Promise<void> {
    const change = this.#held({ updateCall: { uid: this.request.uid, progress: this.#progress, release: true }, events: [] })
    await this.#host.store.commit(change)
  }

  #move(to: Partial<CallProgress> & Pick<CallProgress, 'state'>): void {
    checkMove(this.#progress.state, to.state)
    this.#progress = { ...this.#progress, ...to }
  }

  #keyOf(name: string, salt: string): string {
    return waitKey(this.#host.secret, { tenant: this.request.position.tenant, call: this.request.uid, name, salt })
  }

  #shown(record: WaitRecord): Wait {
    return { id: record.id, name: record.name, key: this.#keyOf(record.name, record.salt), deadline: record.deadline }
  }

  #update(release = false): NonNullable<Change['updateCall']> {
    return { uid: this.request.uid, progress: this.#progress, release }
  }

  /** A change by the holder: refused unless the fence is still ours. Takes the waiting attachments along. */
  #held(change: Omit<Change, 'guards'>): Change {
    const guards: Guard[] = [{ kind: 'holds', call: this.request.uid, fence: this.request.fence }]
    const attachments = this.#attachments
    this.#attachments = []
    return { guards, ...change, ...(attachments.length > 0 ? { attachments } : {}) }
  }

  #check(): void {
    if (this.#over) throw this.#over
  }

  async #write(change: Change): Promise<void> {
    this.#check()
    if (!(await this.#finish(change))) throw this.#over as PawlError
    // The attempt may have ended while the disk was busy: what was written stands, but the body must not go on.
    this.#check()
  }

  #ride(change: Change): void {
    this.#check()
    this.#host.store.commit(change, { ride: true }).then(
      (committed) => {
        if (!committed.ok) this.end(new PawlError('lease_lost'))
      },
      (error: PawlError) => this.end(error),
    )
  }

  async #finish(change: Change): Promise<boolean> {
    const committed = await this.#host.store.commit(change)
    if (!committed.ok) this.end(new PawlError('lease_lost'))
    return committed.ok
  }

  /**
   * Whether an effect may start now. Asked in the same synchronous stretch that starts it: a process that is stopped in between
   * and woken after its lease has run out would otherwise act on an old answer.
   */
  #surelyHeld(): boolean {
    this.#check()
    const { lease } = this.#host
    return lease.fresh() && lease.lapses === this.#heldSince
  }

  /** The lease had run out: others may have taken the call. Asks the store. */
  async #verifyHeld(): Promise<void> {
    const { lease, store } = this.#host
    if (!lease.fresh()) await lease.renew()
    const { lapses } = lease
    const { uid, fence, position } = this.request
    // Asked by place: while we were away, another worker may even have put the same call on record under a uid of its own.
    const record = await store.callAt(position)
    if (record && (record.uid !== uid || record.fence !== fence || record.state === 'settled')) this.end(new PawlError('lease_lost'))
    this.#heldSince = lapses
  }

  async #idly<T>(wait: () => Promise<T>): Promise<T> {
    this.#check()
    this.#waiting++
    try {
      return await wait()
    } finally {
      this.#waiting--
    }
  }
}

function refuseOtherInput(spec: StepSpec, recorded: string | null): void {
  const differs = difference(recorded, spec.input)
  if (differs.length === 0) return
  throw new PawlError('replay_mismatch', `Step '${spec.key}': ${differs.join('; ')}.`, { details: { step: spec.key, differs } })
}
