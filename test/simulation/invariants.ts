// Invariants L1 to L7 of the test plan. Writes are checked when they are committed, effects when they happen, the rest
// at the end of a history.

import type { CallRecord, StepRecord } from '../../src/store/records/call-record.ts'
import type { Change, Committed, Store } from '../../src/store/store.ts'
import { isTurn } from '../../src/store/records/conversation.ts'
import { instant, type World } from './simulated-world.ts'
import { TurnLaws } from './turn-invariants.ts'

/** The start of an external effect. */
export interface Start {
  readonly call: string
  readonly effect: string
  /** Position in its body. A started effect shows that every earlier one is recorded. */
  readonly order: number
  readonly atMostOnce: boolean
  readonly worker: string
  readonly at: number
  readonly attempt: number
}

export class Laws {
  readonly broken: string[] = []
  readonly starts: Start[] = []
  readonly turns: TurnLaws
  readonly #world: World
  readonly #uids = new Map<string, string>()
  readonly #ids = new Map<string, string>()
  readonly #steps = new Map<string, StepRecord>()
  readonly #settled = new Map<string, string>()
  readonly #answers = new Map<string, string>()
  /** Recorded cancels by call: the writer, the owner and the time. */
  readonly #cancelled = new Map<string, { worker: string; owner: string | null; at: number }>()
  /** Worker names by their ids in the store. */
  readonly #workers = new Map<string, string>()
  readonly #delayed = new Map<string, { until: number; attempt: number }>()
  readonly #told = new Map<string, string>()
  /** When a worker was hit by a fault; effects it had started may start again. */
  readonly #hits = new Map<string, number[]>()
  readonly accepted = new Map<string, string>()
  readonly heard: { wait: string; value: string; at: number }[] = []
  readonly deadlines = new Map<string, number>()
  readonly #reached = new Map<string, number>()
  /** Decisions of people by call. */
  readonly #decided = new Map<string, string>()

  constructor(world: World) {
    this.#world = world
    this.turns = new TurnLaws(world, (what) => this.wrong(what))
  }

  /** Exclusive lock of each call, and its parent call. */
  readonly locks = new Map<string, string>()
  readonly parents = new Map<string, string>()
  readonly #underWay = new Set<Start>()
  /** Session and expected messages of each task by id. */
  readonly tasks = new Map<string, { session: string; tells: readonly string[] }>()

  wrong(what: string): void {
    this.broken.push(`${this.#world.now} ms: ${what}`)
    this.#world.note('law', what)
  }

  hit(worker: string, at = this.#world.now): void {
    this.#hits.set(worker, [...(this.#hits.get(worker) ?? []), at])
  }

  // ── writes ──

  /** A change that the store accepted or rejected, with the owner of the call just before it. */
  written(worker: string, id: string, change: Change, answer: Committed, ownerBefore: string | null | undefined): void {
    this.#workers.set(id, worker)
    this.turns.written(change, answer)
    if (!answer.ok) return
    const { insertCall, updateCall, steps = [], insertWaits = [], resolveWait } = change
    if (insertCall) {
      const name = callIdOf(insertCall)
      if (this.#uids.has(name)) this.wrong(`L1 ${name} was put on record twice`)
      this.#uids.set(name, insertCall.uid)
      this.#ids.set(insertCall.uid, name)
    }
    const touched = updateCall?.uid ?? steps.find(({ key }) => !key.startsWith('late:'))?.call ?? insertWaits[0]?.call
    // Any worker may write a cancel; the owner reads it from the record.
    const isAsked = change.guards.some(({ kind }) => kind === 'unsettled') || resolveWait !== undefined
    if (touched !== undefined && ownerBefore !== undefined && ownerBefore !== id && !isAsked)
      this.wrong(
        `L5 ${worker} wrote to ${this.#named(touched)}, which is ${ownerBefore === null ? 'nobody’s' : 'another’s'}`,
      )
    if (updateCall?.progress.state === 'settled') {
      if (this.#settled.has(updateCall.uid)) this.wrong(`L1 ${this.#named(updateCall.uid)} was settled twice`)
      this.#settled.set(updateCall.uid, updateCall.progress.outcome as string)
    }
    for (const step of steps) {
      const key = `${this.#named(step.call)} ${step.key}`
      const before = this.#steps.get(key)
      if (before?.state === 'done' && before.value !== step.value)
        this.wrong(`L2 ${key} was ${before.value} and became ${step.value}`)
      this.#steps.set(key, step)
    }
    if (resolveWait) {
      const before = this.#answers.get(resolveWait.id)
      if (before !== undefined) this.wrong(`WAIT-2 a wait was answered twice: ${before}, ${resolveWait.resolution}`)
      this.#answers.set(resolveWait.id, resolveWait.resolution)
    }
    for (const { type, call, body } of change.events) {
      if (type === 'call.cancelling' && !resolveWait)
        this.#cancelled.set(this.#named(call), {
          worker,
          owner: isAsked ? (this.#workers.get(ownerBefore ?? '') ?? null) : worker,
          at: this.#world.now,
        })
      if (type === 'decision.made') {
        const before = this.#decided.get(this.#named(call))
        if (before === 'deny' || before === 'approve')
          this.wrong(`POL-2 ${this.#named(call)} was decided twice: ${before}, ${body.decision}`)
        this.#decided.set(this.#named(call), body.decision)
      }
      if (type === 'call.queued')
        this.#delayed.set(this.#named(call), { until: instant(body.until), attempt: body.attempt })
    }
  }

  // ── effects ──

  /** Effects of mutually exclusive calls never overlap, on any workers. A call and its nested calls share the lock. */
  #exclude(start: Start): void {
    const lock = this.locks.get(start.call)
    if (lock === undefined) return
    for (const other of this.#underWay) {
      if (other.call === start.call || this.locks.get(other.call) !== lock || this.#related(other.call, start.call))
        continue
      // Effects of a cancelled or expired call, or of a worker that lost its lease, may still be running.
      const late = (this.deadlines.get(other.call) ?? Infinity) <= this.#world.now
      if (late || this.#cancelled.has(other.call) || this.#hits.get(other.worker)?.some((at) => at >= other.at))
        continue
      this.wrong(
        `SCHED-2 ${start.call}/${start.effect} started while ${other.call}/${other.effect} was under way on ${other.worker}`,
      )
    }
  }

  #related(a: string, b: string): boolean {
    const above = (call: string): string[] =>
      this.parents.has(call) ? [call, ...above(this.parents.get(call) as string)] : [call]
    return above(a).includes(b) || above(b).includes(a)
  }

  ended(start: Start): void {
    this.#underWay.delete(start)
  }

  start(start: Start): void {
    const { call, effect } = start
    const name = `${call}/${effect}`
    for (const other of this.starts) {
      if (other.call !== call) continue
      if (other.effect !== effect) {
        if (other.order > start.order) this.wrong(`L2 ${name} started again after ${other.effect}, which follows it`)
        continue
      }
      if (start.atMostOnce) this.wrong(`L3 ${name} must not be repeated, and was`)
      else if (!this.#hits.get(other.worker)?.some((at) => at >= other.at))
        this.wrong(`L3 ${name} started again; nothing had happened to ${other.worker}`)
    }
    const cancel = this.#cancelled.get(call)
    // The owner learns of a remote cancel with the next hint or poll. A worker that claims the call later reads it.
    const heardBy = cancel && (cancel.owner === start.worker ? cancel.at + hearMs : cancel.at + graceMs)
    if (
      cancel &&
      heardBy !== undefined &&
      (![cancel.worker, cancel.owner].includes(start.worker) || this.#world.now > heardBy)
    )
      this.wrong(`L4 ${name} started after its cancel was on record`)
    const deadline = this.deadlines.get(call)
    if (deadline !== undefined && this.#world.now > deadline + graceMs)
      this.wrong(`L4 ${name} started ${this.#world.now - deadline} ms after its deadline`)
    if (this.#settled.has(this.#uids.get(call) ?? '')) this.wrong(`L4 ${name} started after its call was settled`)
    this.#exclude(start)
    this.#underWay.add(start)
    this.starts.push(start)
  }

  /** A body starts. */
  begun(call: string, attempt: number, durable: boolean): void {
    const delay = this.#delayed.get(call)
    if (delay && attempt > delay.attempt && this.#world.now < delay.until)
      this.wrong(`TIME-4 ${call} was tried again ${delay.until - this.#world.now} ms early`)
    const uid = this.#uids.get(call)
    const record = (uid === undefined ? undefined : this.#world.store.call(uid)) as CallRecord | undefined
    if (durable && (record?.attempt ?? 0) < attempt)
      this.wrong(`DUR-2 ${call} began attempt ${attempt} and the record says ${record?.attempt ?? 'nothing'}`)
  }

  /** A gated call runs only after an approval, and never after a denial. */
  permitted(call: string): void {
    const decided = this.#decided.get(call)
    if (decided !== 'approve' && decided !== 'edit')
      this.wrong(`POL-2 ${call} ran, and people said ${decided ?? 'nothing'}`)
  }

  /** A body enters a sleep, or leaves it. */
  sleeps(key: string): void {
    if (!this.#reached.has(key)) this.#reached.set(key, this.#world.now)
  }
  wakes(key: string, ms: number): void {
    const early = (this.#reached.get(key) as number) + ms - this.#world.now
    if (early > 0) this.wrong(`DUR-5 ${key} woke ${early} ms early`)
  }

  /** A client received the outcome of a call. */
  told(call: string, outcome: string): void {
    const before = this.#told.get(call)
    // Faults of a worker or its store must not appear as failures of the tool.
    if (outcome.startsWith('failure') && !mayFailAs.has(outcome)) this.wrong(`CALL-2 ${call} ended as ${outcome}`)
    if (before !== undefined && before !== outcome) this.wrong(`L1 ${call} was told as ${before} and as ${outcome}`)
    this.#told.set(call, outcome)
  }

  // ── at the end ──

  /** A worker that closed gracefully has released its calls; none waits for its lease. */
  left(worker: string, id: string, alive: boolean): void {
    for (const call of this.#open())
      if (call.owner === id && alive) this.wrong(`DUR-13 ${worker} closed and kept ${callIdOf(call)}`)
  }

  #open(): CallRecord[] {
    return [...this.#ids.keys()]
      .map((uid) => this.#world.store.call(uid) as CallRecord)
      .filter((call) => call && call.state !== 'settled')
  }

  get openCalls(): readonly string[] {
    return this.#open().map((call) => `${callIdOf(call)} (${call.state})`)
  }

  async finally(store: Store, asked: readonly string[]): Promise<void> {
    for (const call of this.openCalls) this.wrong(`L6 ${call} never ended`)
    for (const call of asked) if (!this.#told.has(call)) this.wrong(`L6 nobody was told how ${call} ended`)
    for (const [call, outcome] of this.#told) {
      const recorded = this.#settled.get(this.#uids.get(call) ?? '')
      if (recorded === undefined) this.wrong(`L1 ${call} was told as ${outcome} and is not settled on record`)
      else if ((JSON.parse(recorded) as { status: string }).status !== outcome.split(' ')[0])
        this.wrong(`L1 ${call} was told as ${outcome}, recorded as ${recorded}`)
    }
    for (const [call, decided] of this.#decided) {
      const recorded = this.#settled.get(this.#uids.get(call) ?? '') ?? ''
      const isCancelled = this.#cancelled.has(call) || recorded.includes('"status":"cancelled"')
      if (decided === 'deny' && !recorded.includes('denied_by_person') && !isCancelled)
        this.wrong(`POL-2 ${call} was denied and ended as ${recorded}`)
    }
    await this.#tasksIn(store)
    const left = await store.documentsOf({ of: 'inbox', after: '', limit: 10 })
    for (const { key } of left) this.wrong(`POL-6 ${key} is still in the inbox`)
    for (const { wait, value, at } of this.heard) {
      const accepted = this.accepted.get(wait)
      if (accepted !== undefined && accepted !== value)
        this.wrong(`WAIT-2 ${wait} was answered ${accepted}, and heard ${value} at ${at}`)
    }
    // The feed contains each event of a call exactly once.
    const seen = new Map<string, number>()
    const events = await store.events({ after: 0, limit: 100_000 })
    for (const { type, call, body } of events) {
      if (
        type === 'step.failed' ||
        type === 'call.started' ||
        type === 'call.late' ||
        type === 'call.parked' ||
        type === 'call.queued'
      )
        continue
      if (type === 'task.updated' || type === 'task.output' || type === 'task.signal') continue
      // Values, secrets and files may change any number of times.
      if (call === '' || type === 'value.changed' || type === 'secret.changed' || type === 'file.changed') continue
      const fact = `${this.#named(call)} ${type}${'step' in body ? ` ${body.step}` : ''}${'wait' in body ? ` ${body.wait}` : ''}${'message' in body ? ` ${body.message}` : ''}${'notice' in body ? ` ${body.notice}` : ''}`
      seen.set(fact, (seen.get(fact) ?? 0) + 1)
    }
    // Two workers may cancel one call concurrently.
    for (const [fact, times] of seen)
      if (times > (fact.endsWith('call.cancelling') ? 2 : 1)) this.wrong(`FEED ${fact} was told ${times} times`)
    for (const [uid, name] of this.#ids) {
      for (const type of ['call.received', ...(this.#settled.has(uid) ? ['call.settled'] : [])])
        if (!seen.has(`${name} ${type}`)) this.wrong(`FEED ${name} ${type} was never told`)
    }
    for (const [key, { state }] of this.#steps)
      if (state === 'done' && key.includes(' step:') && !seen.has(key.replace(' ', ' step.done ')))
        this.wrong(`FEED ${key} was never told`)
  }

  /** Messages of tasks are recorded once and in order, and every ended task has a result. */
  async #tasksIn(store: Store): Promise<void> {
    for (const [id, { session, tells }] of this.tasks) {
      const name = { tenant: 'default', session }
      const told: string[] = []
      for (const { key, value } of await store.documentsOf({
        of: 'task-message',
        ...name,
        after: `${id}:`,
        limit: 100,
      }))
        if (key.startsWith(`${id}:`)) told.push((JSON.parse(value) as { text: string }).text)
      if (told.some((text, order) => text !== tells[order]))
        this.wrong(`TASK-3 ${id} told ${told.join(', ')}, and had to tell ${tells.join(', ')}`)
      const outcome = this.#told.get(id) ?? ''
      if (outcome.startsWith('success') && told.length < tells.length)
        this.wrong(`TASK-3 ${id} succeeded and told only ${told.join(', ')}`)
      const result = await store.document({ of: 'file', ...name, key: `/.background/${id}//result.json` })
      if (this.#told.has(id) && !result) this.wrong(`TASK-4 ${id} ended and left no result`)
      const row = await store.document({ of: 'task', ...name, key: id })
      if (row && (JSON.parse(row.value) as { uid: string }).uid !== this.#uids.get(id))
        this.wrong(`TASK-8 ${id} is another call's task`)
    }
  }

  #named(uid: string): string {
    return this.#ids.get(uid) ?? uid
  }
}

const mayFailAs = new Set(
  ['deadline_exceeded', 'wait_timeout', 'step_unknown', 'wait_cancelled', 'denied_by_person', 'approval_expired'].map(
    (code) => `failure ${code}`,
  ),
)

export const turnName = ({ session, id }: { readonly session: string; readonly id: string }): string =>
  `${session}/${id}`

/** Time for a worker to notice a write of another one: hints can be lost, and then it polls. */
const hearMs = 1_500

/** A cancelled body may continue for its grace period on its own worker. No other worker may claim it. */
const graceMs = 60

export function callIdOf(record: CallRecord): string {
  // The turns of all agents have the same id.
  if (isTurn(record)) return turnName(record.position)
  const { callId } = record.options === null ? {} : (JSON.parse(record.options) as { callId?: string })
  return callId ?? record.position.id
}
