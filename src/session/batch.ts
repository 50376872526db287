// Batches: the calls of one model message on their way. Says to the queue what is coming before anything starts, starts the calls in
// order, and gathers one outcome each. Cancelling, stopping at a failure and nested calls all end here.

import { hash } from 'node:crypto'
import { type ArgumentLimits, argumentLimits, readArguments } from '../call/arguments.ts'
import { batchOf } from '../call/enter.ts'
import { fit, type OutputBudget } from '../call/fit.ts'
import type { Queue } from '../call/queue.ts'
import type { Asked, Engine, Invocation, Settled } from '../engine/engine.ts'
import type { CallOptions, CallPosition, CallRecord } from '../journal/call-state.ts'
import { canonical } from '../kernel/canonical.ts'
import { milliseconds } from '../kernel/duration.ts'
import { PawlError } from '../kernel/errors.ts'
import { failure, type Outcome } from '../kernel/outcome.ts'
import { bytesIn, fits, type Sizes } from '../kernel/sizes.ts'
import type { Json } from '../kernel/value.ts'
import type { NestedOutcome } from '../tool/context.ts'
import type { Clocks } from '../tool/terms.ts'
import type { Toolset } from '../tool/toolset.ts'
import { type CallAsk, type CallOutcome, clockValues, keyedBatch } from './ask.ts'
import { readOutputName } from './read-output.ts'

export interface Place {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
}

interface How {
  readonly batch: string
  readonly onFailure: 'continue' | 'stop'
  readonly signal?: AbortSignal
  /** The outermost call, for nested ones. */
  readonly root?: string
}

/** A call that was started, and how it will end. */
export interface Underway {
  readonly call: CallAsk
  readonly position: CallPosition
  readonly outcome: Promise<CallOutcome>
}

type Why = { reason: string; by: string | null }

export class Batches {
  readonly #engine: () => Engine
  readonly #queue: Queue
  readonly #tools: Toolset
  readonly #budget: OutputBudget
  readonly #sizes: Sizes
  readonly #reading: ArgumentLimits
  /** Open calls of this process, for cancelling a session. */
  readonly #open = new Map<string, { tenant: string; session: string }>()

  constructor(host: { engine: () => Engine; queue: Queue; tools: Toolset; output: OutputBudget; sizes: Sizes }) {
    this.#engine = host.engine
    this.#queue = host.queue
    this.#tools = host.tools
    this.#sizes = host.sizes
    this.#reading = { ...argumentLimits, bytes: host.sizes.arguments }
    this.#budget = host.output
  }

  async run(place: Place, calls: readonly CallAsk[], how: How): Promise<CallOutcome[]> {
    // One that cannot be known (the store or the runtime is gone) rejects the batch at once: its siblings may be parked for days. They go
    // on, and the same batch asked again finds them.
    return Promise.all(this.start(place, calls, how).map(({ outcome }) => outcome))
  }

  /** All are started before any is waited for. */
  start(place: Place, calls: readonly CallAsk[], how: How): Underway[] {
    const { batch: most } = this.#sizes
    if (calls.length > most) throw new PawlError('batch_too_long', `It has ${calls.length} calls; at most ${most} are taken.`)
    const seen = new Map<string, number>()
    const asks = calls.map((call, order) => {
      const occurrence = seen.get(call.id) ?? 0
      seen.set(call.id, occurrence + 1)
      return { call, asked: askedOf(call, place, { batch: how.batch, occurrence, order, root: how.root }, this.#reading), order }
    })
    this.#expect(asks, how.onFailure === 'stop')
    const batch = new Batch(how.signal, this.#engine(), this.#sizes.event)
    const started = asks.map((ask) => ({ call: ask.call, position: ask.asked.position, outcome: this.#one(ask, batch, how) }))
    if (how.signal) void Promise.allSettled(started.map(({ outcome }) => outcome)).then(() => batch.over())
    return started
  }

  /** Other tools under a call: a batch of its own, named by the call and the place in its body, so that a rerun finds it again. */
  async nested(parent: Invocation, calls: readonly CallAsk[], name: string): Promise<NestedOutcome[]> {
    const { position, principal, uid } = parent.request
    const stop = new AbortController()
    const forget = parent.onStop((why) =>
      stop.abort('over' in why ? { reason: 'The call above it ended', by: null } : { reason: why.cancel, by: why.by }),
    )
    try {
      const batch = `${position.batch}/${position.id}#${position.occurrence}/${name}`
      return await this.run({ tenant: position.tenant, session: position.session, principal }, calls, {
        batch,
        onFailure: 'continue',
        signal: stop.signal,
        root: parent.options.root ?? uid,
      })
    } finally {
      forget()
    }
  }

  async cancel(of: { tenant: string; session: string }, why: Why): Promise<number> {
    const mine = [...this.#open].filter(([, place]) => place.tenant === of.tenant && place.session === of.session)
    const stopped = await Promise.all(mine.map(([uid]) => this.#engine().cancel(uid, cut(why, this.#sizes.event))))
    return stopped.filter(Boolean).length
  }

  /** Calls that come back after a crash stand in line again, in their order, before any of them goes on. */
  returning(records: readonly CallRecord[]): void {
    const orders = records.map((record) => ({
      record,
      order: record.options === null ? 0 : ((JSON.parse(record.options) as CallOptions).order ?? 0),
    }))
    for (const { record, order } of orders.toSorted((a, b) => a.order - b.order)) {
      const tool = this.#tools.get(record.tool)
      if (tool && record.wait === null) this.#queue.expect(batchOf(record.position), order, tool.concurrency.kind)
    }
  }

  /** A batch in which everything may run together needs no line. */
  #expect(asks: readonly { asked: Asked; order: number }[], strict: boolean): void {
    const kinds = asks.map(({ asked }) => this.#tools.get(asked.tool)?.concurrency.kind ?? 'parallel')
    if (asks.length === 1 || kinds.every((kind) => kind === 'parallel')) return
    for (const [index, { asked, order }] of asks.entries())
      this.#queue.expect(batchOf(asked.position), order, kinds[index] ?? 'parallel', strict)
  }

  async #one({ call, asked, order }: { call: CallAsk; asked: Asked; order: number }, batch: Batch, how: How): Promise<CallOutcome> {
    try {
      if (batch.stopped) return this.#shown(call, neverBegun, notStarted(batch.stopped.reason), '')
      const started = await this.#engine().start(asked)
      if (started.as === 'conflict') return this.#shown(call, neverBegun, conflict(call, started.recorded), '')
      const { tenant, session } = asked.position
      this.#open.set(started.uid, { tenant, session })
      batch.joined(started.uid)
      try {
        const settled: Settled = await started.settled
        const { outcome } = settled
        if (stops(outcome, how)) batch.stop({ reason: `Stopped because '${call.id}' failed`, by: null })
        return this.#shown(call, settled, outcome, started.uid)
      } finally {
        this.#open.delete(started.uid)
        batch.left(started.uid)
      }
    } finally {
      this.#queue.left(batchOf(asked.position), order)
    }
  }

  #shown(call: CallAsk, { attempts, times }: Pick<Settled, 'attempts' | 'times'>, outcome: Outcome, uid: string): CallOutcome {
    const reader = this.#tools.get(readOutputName)
    const { parts } = fit(outcome, this.#budget, uid, reader !== undefined && !reader.internal)
    return {
      ...outcome,
      callId: call.id,
      name: call.name,
      attempts,
      ...times,
      parts,
      ...(call.meta === undefined ? {} : { meta: call.meta }),
    }
  }
}

/** An abort of the turn by a hook stops the batch whatever was asked for. */
const stops = (outcome: Outcome, how: How): boolean =>
  outcome.status === 'failure' &&
  (how.onFailure === 'stop' || (outcome.failure.source === 'hook' && outcome.failure.code === 'turn_aborted'))

/** The open calls of one run, and what stops them. */
class Batch {
  stopped: Why | null = null
  readonly #engine: Engine
  readonly #longestReason: number
  readonly #signal: AbortSignal | undefined
  readonly #running = new Set<string>()
  readonly #aborted = (): void => {
    const reason: unknown = this.#signal?.reason
    const given = typeof reason === 'object' && reason !== null && 'by' in reason ? (reason as Why) : null
    this.stop(typeof given?.reason === 'string' ? given : { reason: 'The batch was cancelled', by: null })
  }

  constructor(signal: AbortSignal | undefined, engine: Engine, longestReason: number) {
    this.#engine = engine
    this.#longestReason = longestReason
    this.#signal = signal
    if (signal?.aborted) this.#aborted()
    else signal?.addEventListener('abort', this.#aborted, { once: true })
  }

  joined(uid: string): void {
    this.#running.add(uid)
    if (this.stopped) this.#cancel(uid, this.stopped)
  }

  left(uid: string): void {
    this.#running.delete(uid)
  }

  stop(why: Why): void {
    if (this.stopped) return
    this.stopped = cut(why, this.#longestReason)
    for (const uid of this.#running) this.#cancel(uid, this.stopped)
  }

  over(): void {
    this.#signal?.removeEventListener('abort', this.#aborted)
  }

  #cancel(uid: string, why: Why): void {
    // Should the store not answer, the call's own outcome tells.
    this.#engine.cancel(uid, why).catch(() => {})
  }
}

/** A reason is told in an event and stands in the outcome. */
const cut = (why: Why, most: number): Why => ({ ...why, reason: why.reason.slice(0, most).toWellFormed() })

const neverBegun = { attempts: 0, times: { queuedMs: 0, runningMs: 0, waitingMs: 0 } }

const notStarted = (reason: string): Outcome => ({
  status: 'cancelled',
  cancellation: { message: `${reason}; it was not started`, source: 'cancellation' },
})

/** The call as it goes on record: its input in recorded form, what came with it, and the hash by which it is known again. */
function askedOf(
  call: CallAsk,
  place: Place,
  at: { batch: string; occurrence: number; order: number; root: string | undefined },
  limits: ArgumentLimits,
): Asked {
  const read = readArguments(call.input, limits)
  if (call.meta !== undefined) checkMeta(call.meta, limits.bytes)
  const { idempotencyKey: key } = call
  const position: CallPosition =
    key === undefined
      ? { tenant: place.tenant, session: place.session, batch: at.batch, id: call.id, occurrence: at.occurrence }
      : { tenant: place.tenant, session: place.session, batch: keyedBatch, id: key, occurrence: 0 }
  const options: CallOptions = {
    ...(read.raw === null ? {} : { raw: read.raw }),
    ...(read.ok ? {} : { unreadable: read.problem }),
    ...(key === undefined ? {} : { callId: call.id }),
    ...(call.meta === undefined ? {} : { meta: call.meta }),
    ...(call.timeout === undefined ? {} : { timeout: inMs(clockValues(call.timeout)) }),
    ...(call.deadline === undefined ? {} : { deadline: Number(call.deadline) }),
    ...(at.order === 0 ? {} : { order: at.order }),
    ...(at.root === undefined ? {} : { root: at.root }),
  }
  const input = read.ok ? read.wire : 'null'
  const content = contentHash(call.name, read.ok ? (JSON.parse(read.wire) as Json) : read.raw)
  return {
    position,
    principal: place.principal,
    tool: call.name,
    input,
    hash: content,
    options: Object.keys(options).length > 0 ? JSON.stringify(options) : null,
  }
}

function checkMeta(meta: Json, most: number): void {
  const text = JSON.stringify(meta) ?? ''
  if (!fits(text, most)) throw new PawlError('call_invalid', `Its meta has ${bytesIn(text)} bytes; at most ${most} are kept.`)
}

const inMs = (clocks: Clocks): Record<string, number> =>
  Object.fromEntries(Object.entries(clocks).map(([name, duration]) => [name, milliseconds(duration, `timeout.${name}`)]))

/** Of the content, not of the text: the same arguments in another order of keys are the same call. */
const contentHash = (tool: string, input: Json): string => hash('sha256', canonical([tool, input]), 'base64url')

function conflict(call: CallAsk, recorded: { tool: string; input: string }): Outcome {
  const message = `A call with id '${call.id}' is on record with other content (tool '${recorded.tool}'). It was not run. Use a new id for a new call.`
  return failure({ class: 'invalid_request', code: 'call_conflict', message })
}
