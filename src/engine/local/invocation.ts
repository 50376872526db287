// One call on this worker: the seam's verbs as changes to a store, every one of them checked against the fence (held.ts).
//
// Syncs (power mode): `begin({ durable })` is one, shared with the arrival of the call; every step end is one; the outcome is
// one. What nobody has to wait for (arrival, accepted arguments, the start of a body that may rerun) rides with the next.

import { PawlError } from '../../kernel/errors.ts'
import type { Outcome } from '../../kernel/outcome.ts'
import {
  type CallOptions,
  type CallProgress,
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
import { derived, hashKey, newSalt, waitKey } from '../../wait/key.ts'
import { refuseOtherInput } from '../difference.ts'
import type { Invocation, StepEnd, StepSpec, Stop, Wait, WaitSpec } from '../engine.ts'
import { cancelKey, type Ended, HeldCall } from './held.ts'
import type { Host } from './host.ts'
import { Waiting } from './waiting.ts'

const noOptions: CallOptions = {}
const retryKey = /^retry:\d+$/

/** What is on record of a call that is taken up again; its options, where they are at hand. */
interface Known {
  readonly options?: CallOptions | null
  readonly steps?: readonly StepRecord[]
  readonly waits?: readonly WaitRecord[]
  readonly landed?: Resolution | null
}

export class LocalInvocation implements Invocation {
  readonly request: CallRecord
  readonly options: CallOptions
  readonly interrupted: Interruption | null
  readonly landed: Resolution | null
  readonly held: HeldCall
  readonly #host: Host
  /** By key and by name; most calls have none. */
  #steps: Map<string, StepRecord> | null
  #waits: Map<string, WaitRecord> | null
  retries: number
  /** The waits and sleeps of the body, and how many steps run. */
  #waiting: Waiting | null = null
  #running = 0
  /** What it was before its body was to begin, until it does. */
  #before: CallProgress | null = null

  constructor(host: Host, record: CallRecord, known: Known) {
    this.#host = host
    this.request = record
    this.held = new HeldCall(host, record)
    this.options = known.options ?? (record.options === null ? noOptions : (JSON.parse(record.options) as CallOptions))
    this.interrupted = interruptionOf(record)
    this.landed = known.landed ?? null
    this.#steps = known.steps ? new Map(known.steps.map((step) => [step.key, step])) : null
    this.#waits = known.waits ? new Map(known.waits.map((wait) => [wait.name, wait])) : null
    this.retries = known.steps?.filter(({ key }) => retryKey.test(key)).length ?? 0
    const cancel = this.#steps?.get(cancelKey)
    if (cancel) this.held.cancelledBefore(cancel)
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
  get stopped(): Stop | null {
    return this.held.stopped
  }
  onStop(listener: (why: Stop) => void): () => void {
    return this.held.onStop(listener)
  }
  end(over: PawlError): void {
    this.held.end(over)
  }
  /** Nothing but waits and sleeps is under way: the body may be let go and taken up again elsewhere. */
  get idle(): boolean {
    return this.#waiting !== null && this.#waiting.open && this.#running === 0
  }

  /** Puts a new call on record; rides with whatever its pipeline writes next. */
  insert(): void {
    const { request, held } = this
    held.ride({
      guards: [{ kind: 'absent', position: request.position }],
      insertCall: request,
      events: [held.event('call.received', request.createdAt, { tool: this.options.name ?? request.tool })],
    })
  }

  accept(args: string, terms: string): string {
    const { state, attempt, startedAt, wait, outcome, settledAt } = this.held.progress
    this.held.progress = { state, args, terms, attempt, startedAt, wait, outcome, settledAt }
    return args
  }

  /** It waits for its turn or its next try, so that letting go of it interrupts nothing. A nested call belongs to the body above it. */
  get unbegun(): boolean {
    const { state, args } = this.held.progress
    return args !== null && (state === 'received' || state === 'queued') && this.landed === null && this.options.root === undefined
  }

  begin<T>(how: { durable: boolean }, body: () => T): T | Promise<Awaited<T>> {
    const { held } = this
    if (this.#host.closing() && this.options.root === undefined) held.end(new PawlError('runtime_closed'))
    held.check()
    const at = this.#host.clock.now()
    if (held.progress.state === 'running') this.#account(at)
    const { args, terms, wait, outcome, settledAt } = held.progress
    const attempt = held.progress.attempt + 1
    this.#before = held.progress
    held.move({ state: 'running', args, terms, attempt, startedAt: at, wait, outcome, settledAt })
    const change = held.moved(held.event('call.started', at, { attempt }))
    if (how.durable) return this.#beginOnceHeld(held.write(change), body)
    held.ride(change)
    if (!held.surelyHeld()) return this.#beginOnceHeld(held.verifyHeld(), body)
    this.#before = null
    return body()
  }

  async #beginOnceHeld<T>(ready: Promise<void>, body: () => T): Promise<Awaited<T>> {
    await ready
    while (!this.held.surelyHeld()) await this.held.verifyHeld()
    this.#before = null
    return await body()
  }

  recorded(key: string): StepEnd | null {
    const found = this.#steps?.get(key)
    return found?.state === 'done' ? { done: found.value as string } : null
  }

  async run(spec: StepSpec, body: () => Promise<StepEnd>): Promise<StepEnd> {
    const { held } = this
    const round = this.retries + 1
    const found = this.#steps?.get(spec.key)
    if (found) {
      if (found.input !== spec.input) refuseOtherInput(spec.key, found.input, spec.input)
      if (found.state === 'done') return { done: found.value as string }
      if (found.state === 'failed' && found.round === round) return { failed: found.value as string }
      if (found.state === 'started' && spec.once) {
        throw new PawlError('step_unknown', `The step is '${spec.key}'.`, { details: { step: spec.key, startedAt: found.at } })
      }
    }
    const { attempt } = this
    if (spec.once) {
      const started = this.#step(spec.key, 'started', null, round, spec.input)
      this.#keep(started)
      await held.write(held.held({ steps: [started], events: [held.event('step.started', started.at, { step: spec.key })] }))
    }
    while (!held.surelyHeld()) await held.verifyHeld()
    this.#running++
    const end = await body().finally(() => this.#running--)
    // The attempt was given up meanwhile: a later one may be at the same step, and what this one found must not pass for it.
    if (this.attempt !== attempt || held.letGo !== 'not yet') throw new PawlError('attempt_over')
    const [state, value] = 'done' in end ? (['done', end.done] as const) : (['failed', end.failed] as const)
    const ended = this.#step(spec.key, state, value, round, spec.input)
    await held.write(held.held({ steps: [ended], events: [held.event(`step.${state}`, ended.at, { step: spec.key })] }))
    this.#keep(ended)
    return end
  }

  async wait(spec: WaitSpec): Promise<Wait> {
    const found = this.#waits?.get(spec.name)
    if (found) return this.#shown(found)
    const { clock, ids, timers } = this.#host
    const { held } = this
    const createdAt = clock.now()
    const salt = newSalt()
    const keyHash = hashKey(this.#keyOf(spec.name, salt))
    const own = { id: ids.next(), call: this.request.uid, name: spec.name, salt, keyHash }
    const record: WaitRecord = { ...own, deadline: createdAt + spec.deadlineMs, createdAt, resolution: null }
    // Known before it is durable, so that two callers of one name get one wait.
    this.#waits ??= new Map()
    this.#waits.set(spec.name, record)
    const { id, name, deadline } = record
    await held.write(held.held({ insertWaits: [record], events: [held.event('wait.opened', createdAt, { wait: id, name, deadline })] }))
    timers.soon(deadline)
    return this.#shown(record)
  }

  async answer(wait: Wait, signal: AbortSignal): Promise<Resolution> {
    return this.#idly.asked(() => this.#host.waiters.answer(wait.id, signal))
  }

  async sleep(key: string, ms: number, signal: AbortSignal): Promise<void> {
    const until = await this.#instant(key, ms)
    await this.#idly.asked(() => this.#host.timers.sleep(until, signal))
  }

  async now(key: string): Promise<number> {
    return this.#instant(key, 0)
  }

  async again(delayMs: number, code: string): Promise<void> {
    const { held } = this
    const at = this.#host.clock.now()
    const until = at + delayMs
    this.retries++
    this.#account(at)
    held.move({ ...held.progress, state: 'queued' })
    const step = this.#step(`retry:${this.retries}`, 'done', String(until), this.retries)
    this.#keep(step)
    const events = [held.event('call.queued', at, { attempt: held.progress.attempt, until, code })]
    await held.write(held.held({ updateCall: held.update(), steps: [step], events }))
    await this.delayed()
  }

  delayed(): Promise<void> | undefined {
    const last = this.retries === 0 ? undefined : this.#steps?.get(`retry:${this.retries}`)
    return last && !this.stopped ? this.#delay(Number(last.value)) : undefined
  }

  async #delay(until: number): Promise<void> {
    const abort = new AbortController()
    const forget = this.onStop((why) => abort.abort(why))
    try {
      await this.#idly.until(() => this.#host.timers.sleep(until, abort.signal))
    } catch (error) {
      if (!this.stopped) throw error
    } finally {
      forget()
    }
    this.held.check()
  }

  async late(attempt: number, end: StepEnd): Promise<void> {
    const { uid, fence } = this.request
    const [state, value] = 'done' in end ? (['done', end.done] as const) : (['failed', end.failed] as const)
    const step = this.#step(`late:${attempt}`, state, value, this.retries + 1)
    const event = this.held.event('call.late', step.at, { attempt, status: state === 'done' ? 'success' : 'failure' })
    await this.#host.store.commit({ guards: [{ kind: 'held', call: uid, fence }], steps: [step], events: [event] })
  }

  derive(purpose: string): Uint8Array {
    return derived(this.#host.secret, this.request.position, purpose)
  }

  attach(attachment: AttachmentRecord): void {
    this.held.check()
    this.held.attachments = [...(this.held.attachments ?? []), attachment]
  }

  async attachment(id: string): Promise<AttachmentRecord | undefined> {
    const { tenant } = this.request.position
    return this.held.attachments?.find((each) => each.id === id) ?? (await this.#host.store.attachment(tenant, id))
  }

  /** Ends the call, and hears how that went. */
  settle(status: Outcome['status'], text: string, heard: (how: Ended) => void): void {
    this.held.check()
    const at = this.#host.clock.now()
    if (this.#waiting !== null && this.#waiting.ms > 0) this.#account(at)
    this.held.settle(at, status, text, heard)
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
    held.letsGo('under way')
    let parked = false
    try {
      const committed = await this.#host.store.commit({ ...change, guards: [...change.guards, { kind: 'open', wait: wait.id }] })
      parked = committed.ok
      if (committed.ok) return 'parked'
      return committed.refused.kind === 'open' ? 'answered' : 'lost'
    } finally {
      held.letsGo(parked ? 'parked' : 'not yet')
    }
  }

  /** Gives the call back as it stands, for whoever claims it next. */
  async handBack(): Promise<void> {
    // It may just be settling or parking: what that wrote must not be written over.
    if (this.held.letGo === 'under way') await this.held.lettingGo()
    if (this.held.letGo !== 'not yet') return
    // Its start was being written and its body has not begun: then nothing is uncertain about it.
    if (this.#before) this.held.progress = this.#before
    await this.#host.store.commit(this.held.held({ updateCall: this.held.update(true), events: [] }))
  }

  async #instant(key: string, inMs: number): Promise<number> {
    const end = await this.run({ key, input: null, once: false }, async () => ({ done: String(this.#host.clock.now() + inMs) }))
    return Number((end as { done: string }).done)
  }

  #step(key: string, state: StepRecord['state'], value: string | null, round: number, input: string | null = null): StepRecord {
    return { call: this.request.uid, key, state, input, value, round, at: this.#host.clock.now() }
  }

  #keep(step: StepRecord): void {
    this.#steps ??= new Map()
    this.#steps.set(step.key, step)
  }

  #keyOf(name: string, salt: string): string {
    return waitKey(this.#host.secret, { tenant: this.request.position.tenant, call: this.request.uid, name, salt })
  }

  #shown(record: WaitRecord): Wait {
    return { id: record.id, name: record.name, key: this.#keyOf(record.name, record.salt), deadline: record.deadline }
  }

  /** With the write that follows: where the time went until now. */
  #account(at: number): void {
    this.held.account(at, this.#waiting?.taken() ?? 0)
  }

  /** Only while the call is ours. */
  get #idly(): Waiting {
    this.held.check()
    this.#waiting ??= new Waiting(this.#host.clock)
    return this.#waiting
  }
}
