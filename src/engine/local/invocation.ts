// One call on this worker: the seam's verbs as changes to a store, every one of them checked against the fence (held.ts).
//
// Syncs (power mode): `begin({ durable })` is one, shared with the arrival of the call; every step end is one; the outcome is
// one. What nobody has to wait for (arrival, accepted arguments, the start of a body that may rerun) rides with the next.

import { createHmac } from 'node:crypto'
import { PawlError } from '../../kernel/errors.ts'
import { frame } from '../../kernel/id.ts'
import type { Outcome } from '../../kernel/outcome.ts'
import { encodeOnce } from '../../kernel/value.ts'
import {
  type CallOptions,
  type CallRecord,
  type CallTerms,
  checkMove,
  type Interruption,
  interruptionOf,
  type Resolution,
  type StepRecord,
  type WaitRecord,
} from '../../journal/call-state.ts'
import type { AttachmentRecord } from '../../store/store.ts'
import { hashKey, newSalt, waitKey } from '../../wait/key.ts'
import { difference } from '../difference.ts'
import type { Invocation, StepEnd, StepSpec, Stop, Wait, WaitSpec } from '../engine.ts'
import { HeldCall } from './held.ts'
import type { Host } from './host.ts'

const noOptions: CallOptions = {}
const retryKey = /^retry:\d+$/

export class LocalInvocation implements Invocation {
  readonly request: CallRecord
  readonly options: CallOptions
  readonly interrupted: Interruption | null
  readonly landed: Resolution | null
  readonly held: HeldCall
  readonly #host: Host
  readonly #steps: Map<string, StepRecord>
  readonly #waits: Map<string, WaitRecord>
  #retries: number
  /** How many waits and sleeps the body is in, and how many steps run. */
  #waiting = 0
  #running = 0
  /** Milliseconds of this attempt in waits and sleeps. */
  #waited = 0
  /** The last write of this execution, under way or done: true if the call is no longer ours to give back. */
  #letGo: Promise<boolean> = Promise.resolve(false)

  constructor(host: Host, record: CallRecord, known: { steps: StepRecord[]; waits: WaitRecord[]; landed: Resolution | null }) {
    this.#host = host
    this.request = record
    this.held = new HeldCall(host, record)
    this.options = record.options === null ? noOptions : (JSON.parse(record.options) as CallOptions)
    this.interrupted = interruptionOf(record)
    this.landed = known.landed
    this.#steps = new Map(known.steps.map((step) => [step.key, step]))
    this.#waits = new Map(known.waits.map((wait) => [wait.name, wait]))
    this.#retries = known.steps.filter(({ key }) => retryKey.test(key)).length
  }

  get callId(): string {
    return this.options.callId ?? this.request.position.id
  }
  get args(): string | null {
    return this.held.progress.args
  }
  get terms(): CallTerms | null {
    const { terms } = this.held.progress
    return terms === null ? null : (JSON.parse(terms) as CallTerms)
  }
  get attempt(): number {
    return this.held.progress.attempt
  }
  get retries(): number {
    return this.#retries
  }
  get stopped(): Stop | null {
    return this.held.stopped
  }
  onStop(listener: (why: Stop) => void): () => void {
    return this.held.onStop(listener)
  }
  /** Nothing but waits and sleeps is under way: the body may be let go and taken up again elsewhere. */
  get idle(): boolean {
    return this.#waiting > 0 && this.#running === 0
  }

  /** Puts a new call on record; rides with whatever its pipeline writes next. */
  insert(): void {
    const { request, held } = this
    held.ride({
      guards: [{ kind: 'absent', position: request.position }],
      insertCall: request,
      events: [held.event('call.received', request.createdAt, { tool: request.tool })],
    })
  }

  async accept(args: string, terms: CallTerms): Promise<string> {
    this.held.progress = { ...this.held.progress, args, terms: JSON.stringify(terms) }
    return args
  }

  async begin<T>(how: { durable: boolean }, body: () => T): Promise<Awaited<T>> {
    const { held } = this
    const at = this.#host.clock.now()
    const attempt = held.progress.attempt + 1
    if (held.progress.state === 'running') this.#account(at)
    held.move({ state: 'running', attempt, startedAt: at })
    const change = held.held({ updateCall: held.update(), events: [held.event('call.started', at, { attempt })] })
    if (how.durable) await held.write(change)
    else held.ride(change)
    while (!held.surelyHeld()) await held.verifyHeld()
    return await body()
  }

  async run(spec: StepSpec, body: () => Promise<StepEnd>): Promise<StepEnd> {
    const { held } = this
    const round = this.#retries + 1
    const found = this.#steps.get(spec.key)
    if (found) {
      if (found.input !== spec.input) refuseOtherInput(spec, found.input)
      if (found.state === 'done') return { done: found.value as string }
      if (found.state === 'failed' && found.round === round) return { failed: found.value as string }
      if (found.state === 'started' && spec.once) {
        throw new PawlError('step_unknown', `The step is '${spec.key}'.`, { details: { step: spec.key, startedAt: found.at } })
      }
    }
    const { attempt } = this
    const step = (state: StepRecord['state'], value: string | null): StepRecord => ({
      call: this.request.uid,
      key: spec.key,
      state,
      input: spec.input,
      value,
      round,
      at: this.#host.clock.now(),
    })
    if (spec.once) {
      const started = step('started', null)
      this.#steps.set(spec.key, started)
      await held.write(held.held({ steps: [started], events: [held.event('step.started', started.at, { step: spec.key })] }))
    }
    while (!held.surelyHeld()) await held.verifyHeld()
    this.#running++
    const end = await body().finally(() => this.#running--)
    // The attempt was given up meanwhile: a later one may be at the same step, and what this one found must not pass for it.
    if (this.attempt !== attempt || held.progress.state === 'settled') throw new PawlError('attempt_over')
    const ended = 'done' in end ? step('done', end.done) : step('failed', end.failed)
    await held.write(held.held({ steps: [ended], events: [held.event(`step.${ended.state as 'done'}`, ended.at, { step: spec.key })] }))
    this.#steps.set(spec.key, ended)
    return end
  }

  async wait(spec: WaitSpec): Promise<Wait> {
    const found = this.#waits.get(spec.name)
    if (found) return this.#shown(found)
    const { clock, ids, timers } = this.#host
    const { held } = this
    const createdAt = clock.now()
    const salt = newSalt()
    const record: WaitRecord = {
      id: ids.next(),
      call: this.request.uid,
      name: spec.name,
      salt,
      keyHash: hashKey(this.#keyOf(spec.name, salt)),
      deadline: createdAt + spec.deadlineMs,
      createdAt,
      resolution: null,
    }
    // Known before it is durable, so that two callers of one name get one wait.
    this.#waits.set(spec.name, record)
    const { id, name, deadline } = record
    await held.write(held.held({ insertWaits: [record], events: [held.event('wait.opened', createdAt, { wait: id, name, deadline })] }))
    timers.soon(deadline)
    return this.#shown(record)
  }

  answer(wait: Wait, signal: AbortSignal): Promise<Resolution> {
    return this.#outside(() => this.#host.waiters.answer(wait.id, signal))
  }

  async sleep(key: string, ms: number, signal: AbortSignal): Promise<void> {
    const until = await this.#instant(key, ms)
    await this.#outside(() => this.#host.timers.sleep(until, signal))
  }

  async now(key: string): Promise<number> {
    return this.#instant(key, 0)
  }

  async again(delayMs: number, code: string): Promise<void> {
    const { held } = this
    const at = this.#host.clock.now()
    const until = at + delayMs
    this.#retries++
    this.#account(at)
    held.move({ state: 'queued' })
    const step = {
      call: this.request.uid,
      key: `retry:${this.#retries}`,
      state: 'done' as const,
      input: null,
      value: String(until),
      round: this.#retries,
      at,
    }
    this.#steps.set(step.key, step)
    const events = [held.event('call.queued', at, { attempt: held.progress.attempt, until, code })]
    await held.write(held.held({ updateCall: held.update(), steps: [step], events }))
    await this.delayed()
  }

  async delayed(): Promise<void> {
    const last = this.#steps.get(`retry:${this.#retries}`)
    if (!last || this.stopped) return
    const abort = new AbortController()
    const forget = this.onStop((why) => abort.abort(why))
    try {
      await this.#idly(() => this.#host.timers.sleep(Number(last.value), abort.signal))
    } catch (error) {
      if (!this.stopped) throw error
    } finally {
      forget()
    }
    this.held.check()
  }

  async late(attempt: number, end: StepEnd): Promise<void> {
    const { uid, fence } = this.request
    const at = this.#host.clock.now()
    const [state, value] = 'done' in end ? (['done', end.done] as const) : (['failed', end.failed] as const)
    const step = { call: uid, key: `late:${attempt}`, state, input: null, value, round: this.#retries + 1, at }
    const event = this.held.event('call.late', at, { attempt, status: state === 'done' ? 'success' : 'failure' })
    await this.#host.store.commit({ guards: [{ kind: 'held', call: uid, fence }], steps: [step], events: [event] })
  }

  derive(purpose: string): Uint8Array {
    const { tenant, session, batch, id, occurrence } = this.request.position
    return createHmac('sha256', this.#host.secret)
      .update(frame('pawl derive v1', tenant, session, batch, id, occurrence, purpose))
      .digest()
  }

  attach(attachment: AttachmentRecord): void {
    this.held.check()
    this.held.attachments.push(attachment)
  }

  async attachment(id: string): Promise<AttachmentRecord | undefined> {
    const { tenant } = this.request.position
    return this.held.attachments.find((each) => each.id === id) ?? (await this.#host.store.attachment(tenant, id))
  }

  /** Ends the call. False if another holder or an earlier end was there first: then nothing was written. */
  async settle(outcome: Outcome): Promise<boolean> {
    const { held } = this
    held.check()
    const at = this.#host.clock.now()
    if (this.#waited > 0) this.#account(at)
    held.move({ state: 'settled', outcome: encodeOnce(outcome), settledAt: at })
    const body = { status: outcome.status, attempts: held.progress.attempt }
    const settled = held.finish(held.held({ updateCall: held.update(true), events: [held.event('call.settled', at, body)] }))
    this.#letGo = settled.catch(() => false)
    return settled
  }

  /** Parks the call on an open wait and lets go of it, unless the wait is answered already or the call is no longer ours. */
  async park(wait: Wait): Promise<'parked' | 'answered' | 'lost'> {
    const { held } = this
    held.check()
    checkMove(held.progress.state, 'parked')
    this.#account(this.#host.clock.now())
    const progress = { ...held.progress, state: 'parked' as const, wait: wait.id }
    const change = held.held({
      updateCall: { uid: this.request.uid, progress, release: true },
      events: [held.event('call.parked', this.#host.clock.now(), { wait: wait.id, deadline: wait.deadline })],
    })
    const committing = this.#host.store.commit({ ...change, guards: [...change.guards, { kind: 'open', wait: wait.id }] })
    this.#letGo = committing.then(
      ({ ok }) => ok,
      () => false,
    )
    const committed = await committing
    if (committed.ok) return 'parked'
    return committed.refused.kind === 'open' ? 'answered' : 'lost'
  }

  /** Gives the call back as it stands, for whoever claims it next. */
  async handBack(): Promise<void> {
    // It may just be settling or parking: what that wrote must not be written over.
    if ((await this.#letGo) || this.held.progress.state === 'settled') return
    await this.#host.store.commit(this.held.held({ updateCall: this.held.update(true), events: [] }))
  }

  async #instant(key: string, inMs: number): Promise<number> {
    const end = await this.run({ key, input: null, once: false }, async () => ({ done: String(this.#host.clock.now() + inMs) }))
    return Number((end as { done: string }).done)
  }

  #keyOf(name: string, salt: string): string {
    return waitKey(this.#host.secret, { tenant: this.request.position.tenant, call: this.request.uid, name, salt })
  }

  #shown(record: WaitRecord): Wait {
    return { id: record.id, name: record.name, key: this.#keyOf(record.name, record.salt), deadline: record.deadline }
  }

  /** With the write that follows: where the time went until now. */
  #account(at: number): void {
    this.held.account(at, this.#waited)
    this.#waited = 0
  }

  /** Waits for what the body asked to wait for. Of several at once, the first counts the time. */
  async #outside<T>(wait: () => Promise<T>): Promise<T> {
    const { clock } = this.#host
    const from = clock.now()
    const counts = this.#waiting === 0
    return this.#idly(wait).finally(() => counts && (this.#waited += clock.now() - from))
  }

  async #idly<T>(wait: () => Promise<T>): Promise<T> {
    this.held.check()
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
