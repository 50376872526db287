// Batches: the calls of one model message on their way. Says to the queue what is coming before anything starts, starts the calls in
// order, and hands each outcome to whoever gathers them (gather.ts). Cancelling, stopping at a failure and nested calls all end here.

import { hash } from 'node:crypto'
import { type ArgumentLimits, argumentLimits, type ReadArguments, readArguments } from '../call/arguments.ts'
import type { HookFacts } from '../call/hook.ts'
import type { Above } from '../call/host.ts'
import type { Outside } from '../call/outside.ts'
import type { ModelPart } from '../call/project.ts'
import type { Queue } from '../call/queue.ts'
import type { Show } from '../call/show.ts'
import type { Asked, Engine, Invocation, Settled, Started } from '../engine/engine.ts'
import type { CallOptions, CallPosition, CallRecord } from '../journal/call-state.ts'
import { noTimes } from '../journal/times.ts'
import { canonical } from '../kernel/canonical.ts'
import { milliseconds } from '../kernel/duration.ts'
import { PawlError } from '../kernel/errors.ts'
import { abortsTurn, failure, type Outcome } from '../kernel/outcome.ts'
import { bytesIn, fits, type Sizes } from '../kernel/sizes.ts'
import type { Soon } from '../kernel/soon.ts'
import { decode, type Json } from '../kernel/value.ts'
import type { NestedOutcome } from '../tool/context.ts'
import type { Clocks, Concurrency } from '../tool/terms.ts'
import type { Entry } from '../tool/toolset.ts'
import { type CallAsk, type CallOutcome, checkAsks, clockValues, keyBatch, nestedBatch } from './ask.ts'
import { Batch, Cancel, cut, type How, type Why } from './gather.ts'
import type { Standing } from './standing.ts'

export interface Place {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
}

export class Batches {
  readonly #engine: () => Engine
  readonly #queue: Queue
  readonly #standing: Standing
  readonly #show: Show
  readonly #sizes: Sizes
  readonly #reading: ArgumentLimits
  readonly #outside: Outside
  /** Open calls of this process, for cancelling a session. */
  readonly #open = new Map<string, CallPosition>()
  /** Those that the store is still asked about, and whether they are wanted when it answers. */
  readonly #starting = new Set<{ readonly position: CallPosition; cancel: Why | null }>()

  constructor(host: { engine: () => Engine; queue: Queue; standing: Standing; show: Show; sizes: Sizes; outside: Outside }) {
    this.#engine = host.engine
    this.#queue = host.queue
    this.#standing = host.standing
    this.#show = host.show
    this.#sizes = host.sizes
    this.#reading = { ...argumentLimits, bytes: host.sizes.arguments }
    this.#outside = host.outside
  }

  run(place: Place, calls: readonly CallAsk[], how: How): Promise<CallOutcome[]> {
    return this.start(place, calls, how).outcomes
  }

  /** All are started before any is waited for. */
  start(place: Place, calls: readonly CallAsk[], how: How): Batch {
    const { batch: most } = this.#sizes
    if (calls.length > most) throw new PawlError('batch_too_long', `It has ${calls.length} calls; at most ${most} are taken.`)
    const seen = new Map<string, number>()
    const kinds: Concurrency['kind'][] = []
    const asks = calls.map((call, order) => {
      const occurrence = seen.get(call.id) ?? 0
      seen.set(call.id, occurrence + 1)
      const entry = how.tools.find(call.name)
      kinds.push(entry?.kind ?? 'parallel')
      const { batch, root, byHost } = how
      return askedOf(call, entry, place, { batch, occurrence, order, root, byHost }, this.#reading)
    })
    this.#expect(asks, kinds, how.onFailure === 'stop')
    const open = { tools: how.tools, tenant: place.tenant, session: place.session, calls: asks }
    this.#standing.began(open)
    const over = (): void => this.#standing.over(open)
    const batch = new Batch(how, calls, asks, { engine: this.#engine(), longestReason: this.#sizes.event, over })
    // One that cannot be known (the store or the runtime is gone) rejects the batch at once:
    // its siblings may be parked for days. They go on, and the same batch asked again finds them.
    for (const [order, asked] of asks.entries()) this.#start(asked, order, batch)
    return batch
  }

  /** Other tools under a call: a batch of its own, named by the call and the place in its body, so that a rerun finds it again. */
  async nested(parent: Invocation, calls: readonly CallAsk[], name: string, above: Above): Promise<NestedOutcome[]> {
    checkAsks(calls)
    const { position, principal, uid } = parent.request
    const stop = new AbortController()
    const aborted = (): void => {
      const { stopped } = parent
      if (!stopped) stop.abort(new Cancel('The call above it was stopped', null))
      // An execution that no longer counts is taken up again, and finds what it called as far as that has come.
      else if ('cancel' in stopped) stop.abort(new Cancel(stopped.cancel, stopped.by))
    }
    if (above.signal.aborted) aborted()
    above.signal.addEventListener('abort', aborted, { once: true })
    try {
      return await this.run({ tenant: position.tenant, session: position.session, principal }, calls, {
        tools: this.#standing.of(parent.request),
        batch: nestedBatch(position, name),
        onFailure: 'continue',
        signal: stop.signal,
        root: parent.options.root ?? uid,
        stand: above.stand,
      })
    } finally {
      above.signal.removeEventListener('abort', aborted)
    }
  }

  async cancel(of: { tenant: string; session: string }, why: Why): Promise<number> {
    const brief = cut(why, this.#sizes.event)
    const isMine = (place: CallPosition): boolean => place.tenant === of.tenant && place.session === of.session
    const coming = [...this.#starting].filter(({ position }) => isMine(position))
    for (const each of coming) each.cancel ??= brief
    const mine = [...this.#open].filter(([, place]) => isMine(place))
    const stopped = await Promise.all(mine.map(([uid]) => this.#engine().cancel(uid, brief)))
    return stopped.filter(Boolean).length + coming.length
  }

  /** Calls that come back after a crash stand in line again, in their order, before any of them goes on. */
  returning(records: readonly CallRecord[]): void {
    const orders = records.map((record) => ({
      record,
      order: record.options === null ? 0 : ((JSON.parse(record.options) as CallOptions).order ?? 0),
    }))
    for (const { record, order } of orders.toSorted((a, b) => a.order - b.order)) {
      const entry = this.#standing.of(record).find(record.tool)
      if (entry && record.wait === null) this.#queue.expect(record.position, order, entry.kind)
    }
  }

  /** A batch in which everything may run together needs no line. */
  #expect(asks: readonly Asked[], kinds: readonly Concurrency['kind'][], strict: boolean): void {
    if (asks.length === 1 || kinds.every((kind) => kind === 'parallel')) return
    for (const [order, { position }] of asks.entries()) this.#queue.expect(position, order, kinds[order] ?? 'parallel', strict)
  }

  #start(asked: Asked, order: number, batch: Batch): void {
    if (batch.stopped) return this.#end(asked, order, batch, neverBegun(notStarted(batch.stopped.reason)))
    const failed = (error: unknown): void => {
      this.#queue.left(asked.position, order)
      batch.failed(error)
    }
    try {
      const started = this.#engine().start(asked)
      if (started instanceof Promise) this.#await(started, asked, order, batch).catch(failed)
      else this.#join(started, asked, order, batch)
    } catch (error) {
      failed(error)
    }
  }

  /** The store takes its time; who cancels the session meanwhile means this call too. */
  async #await(started: Promise<Started>, asked: Asked, order: number, batch: Batch): Promise<void> {
    const starting = { position: asked.position, cancel: null as Why | null }
    this.#starting.add(starting)
    try {
      const found = await started
      if (starting.cancel && found.as === 'accepted')
        this.#engine()
          .cancel(found.uid, starting.cancel)
          .catch(() => {})
      this.#join(found, asked, order, batch)
    } finally {
      this.#starting.delete(starting)
    }
  }

  #join(started: Started, asked: Asked, order: number, batch: Batch): void {
    if (started.as === 'conflict')
      return this.#end(asked, order, batch, neverBegun(conflict(batch.calls[order] as CallAsk, started.recorded)))
    const { uid, settled } = started
    this.#open.set(uid, asked.position)
    batch.joined(uid)
    let deaf: (() => void) | null = null
    if (batch.how.stand) {
      deaf = this.#outside.listen(asked.position, (waits) => batch.waits(uid, waits))
      if (started.parked) batch.waits(uid, true)
    }
    const over = (): void => {
      this.#open.delete(uid)
      batch.left(uid)
      deaf?.()
    }
    settled.then(
      (ended) => {
        over()
        this.#end(asked, order, batch, ended, uid)
      },
      (error: unknown) => {
        over()
        this.#queue.left(asked.position, order)
        batch.failed(error)
      },
    )
  }

  #end(asked: Asked, order: number, batch: Batch, ended: Ended, uid = ''): void {
    try {
      const call = batch.calls[order] as CallAsk
      if (stops(ended.outcome, batch.how)) batch.stop({ reason: `Stopped because '${call.id}' failed`, by: null })
      const shown = this.#shown(asked, order, batch, ended, uid)
      if (shown instanceof Promise)
        shown.then(
          (told) => batch.done(order, told),
          (error: unknown) => batch.failed(error),
        )
      else batch.done(order, shown)
    } catch (error) {
      batch.failed(error)
    } finally {
      this.#queue.left(asked.position, order)
    }
  }

  /** A promise only if a hook has a word about what the model reads. */
  #shown(asked: Asked, order: number, batch: Batch, ended: Ended, uid: string): Soon<CallOutcome> {
    const call = batch.calls[order] as CallAsk
    // What a nested call returns is read by a body, not by a model.
    const parts = this.#show(ended, uid, batch.reads, batch.how.root === undefined ? () => factsOf(call, asked, batch.how) : null)
    const told = (read: readonly ModelPart[]): CallOutcome => {
      const { outcome, attempts, times } = ended
      const { queuedMs, runningMs, waitingMs } = times
      const shown = { ...outcome, callId: call.id, name: call.name, attempts, queuedMs, runningMs, waitingMs, parts: read }
      return call.meta === undefined ? shown : { ...shown, meta: call.meta }
    }
    return parts instanceof Promise ? parts.then(told) : told(parts)
  }
}

function factsOf(call: CallAsk, { position, principal, input }: Asked, { tools }: How): HookFacts {
  const tool = tools.find(call.name)?.name ?? call.name
  return { tenant: position.tenant, session: position.session, principal, callId: call.id, tool, input: decode(input) }
}

/** An abort of the turn by a hook stops the batch whatever was asked for. */
const stops = (outcome: Outcome, how: How): boolean =>
  outcome.status === 'failure' && (how.onFailure === 'stop' || abortsTurn(outcome) !== null)

/** What is told of a call: of one that never began, too. */
type Ended = Pick<Settled, 'attempts' | 'outcome' | 'times'> & { readonly text?: string }

const neverBegun = (outcome: Outcome): Ended => ({ attempts: 0, outcome, times: noTimes })

const notStarted = (reason: string): Outcome => ({
  status: 'cancelled',
  cancellation: { message: `${reason}; it was not started`, source: 'cancellation' },
})

/** The call as it goes on record: its input in recorded form, what came with it, and the hash by which it is known again. */
function askedOf(
  call: CallAsk,
  entry: Entry | undefined,
  place: Place,
  at: { batch: string; occurrence: number; order: number; root: string | undefined; byHost: boolean | undefined },
  limits: ArgumentLimits,
): Asked {
  const read = readArguments(call.input, limits)
  const { idempotencyKey: key } = call
  const position: CallPosition =
    key === undefined
      ? { tenant: place.tenant, session: place.session, batch: at.batch, id: call.id, occurrence: at.occurrence }
      : { tenant: place.tenant, session: place.session, batch: keyBatch, id: key, occurrence: 0 }
  const tool = entry?.keys[0] ?? call.name
  const input = read.ok ? read.wire : 'null'
  const content = read.ok ? contentOf(read) : JSON.stringify(read.raw)
  return {
    position,
    principal: place.principal,
    tool,
    input,
    // Of the content, not of the text: the same arguments in another order of keys are the same call.
    hash: hash('sha256', `[${JSON.stringify(call.name)},${content}]`, 'base64url'),
    options: optionsOf(call, tool, read, at, at.byHost === true && entry?.internal === true, limits.bytes),
  }
}

const contentOf = ({ wire, sorted }: { wire: string; sorted: boolean }): string => (sorted ? wire : canonical(JSON.parse(wire) as Json))

function optionsOf(
  call: CallAsk,
  tool: string,
  read: ReadArguments,
  { order, root }: { order: number; root: string | undefined },
  internal: boolean,
  mostBytes: number,
): CallOptions | null {
  const options: { -readonly [K in keyof CallOptions]: CallOptions[K] } = {}
  if (tool !== call.name) options.name = call.name
  if (read.raw !== null) options.raw = read.raw
  if (!read.ok) options.unreadable = read.problem
  if (call.idempotencyKey !== undefined) options.callId = call.id
  if (call.meta !== undefined) options.meta = metaOf(call.meta, mostBytes)
  if (call.timeout !== undefined) options.timeout = inMs(clockValues(call.timeout))
  if (call.deadline !== undefined) options.deadline = Number(call.deadline)
  if (order !== 0) options.order = order
  if (root !== undefined) options.root = root
  if (internal) options.internal = true
  for (const _ in options) return options
  return null
}

/** As it goes on record. What cannot is refused before anything starts. */
function metaOf(meta: Json, most: number): Json {
  const text = JSON.stringify(meta)
  if (!fits(text, most)) throw new PawlError('call_invalid', `Its meta has ${bytesIn(text)} bytes; at most ${most} are kept.`)
  return JSON.parse(text) as Json
}

const inMs = (clocks: Clocks): Record<string, number> =>
  Object.fromEntries(Object.entries(clocks).map(([name, duration]) => [name, milliseconds(duration, `timeout.${name}`)]))

function conflict(call: CallAsk, recorded: { tool: string; input: string }): Outcome {
  // Whose tool it was is nothing to a model.
  const [tool] = recorded.tool.split('@')
  const message = `A call with id '${call.id}' is on record with other content (tool '${tool}'). It was not run. Use a new id for a new call.`
  return failure({ class: 'invalid_request', code: 'call_conflict', message })
}
