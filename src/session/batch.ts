// Batches: the calls of one model message on their way. Says to the queue what is coming before anything starts, starts the calls in
// order, and gathers one outcome each. Cancelling, stopping at a failure and nested calls all end here.

import { hash } from 'node:crypto'
import { readArguments } from '../call/arguments.ts'
import { batchOf } from '../call/enter.ts'
import type { HookFacts } from '../call/hook.ts'
import type { ModelPart } from '../call/project.ts'
import type { Queue } from '../call/queue.ts'
import type { Show } from '../call/show.ts'
import type { Asked, Engine, Invocation, Settled } from '../engine/engine.ts'
import type { CallOptions, CallPosition, CallRecord } from '../journal/call-state.ts'
import { canonical } from '../kernel/canonical.ts'
import { milliseconds } from '../kernel/duration.ts'
import { failure, type Outcome } from '../kernel/outcome.ts'
import { decode, type Json } from '../kernel/value.ts'
import type { NestedOutcome } from '../tool/context.ts'
import type { Clocks } from '../tool/terms.ts'
import type { Toolset } from '../tool/toolset.ts'
import { type CallAsk, type CallOutcome, clockValues } from './ask.ts'

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

type Why = { reason: string; by: string | null }

export class Batches {
  readonly #engine: () => Engine
  readonly #queue: Queue
  readonly #tools: Toolset
  readonly #show: Show
  /** Open calls of this process, for cancelling a session. */
  readonly #open = new Map<string, { tenant: string; session: string }>()

  constructor(host: { engine: () => Engine; queue: Queue; tools: Toolset; show: Show }) {
    this.#engine = host.engine
    this.#queue = host.queue
    this.#tools = host.tools
    this.#show = host.show
  }

  async run(place: Place, calls: readonly CallAsk[], how: How): Promise<CallOutcome[]> {
    const seen = new Map<string, number>()
    const asks = calls.map((call, order) => {
      const occurrence = seen.get(call.id) ?? 0
      seen.set(call.id, occurrence + 1)
      return { call, asked: askedOf(call, place, { batch: how.batch, occurrence, order, root: how.root }), order }
    })
    this.#expect(asks, how.onFailure === 'stop')
    const batch = new Batch(how.signal, this.#engine())
    // All are started before any is waited for. One that cannot be known (the store or the runtime is gone) rejects the batch at once:
    // its siblings may be parked for days. They go on, and the same batch asked again finds them.
    try {
      return await Promise.all(asks.map((ask) => this.#one(ask, batch, how)))
    } finally {
      batch.over()
    }
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
    const stopped = await Promise.all(mine.map(([uid]) => this.#engine().cancel(uid, why)))
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
      const shown = (outcome: Outcome, attempts: number, uid: string) =>
        this.#shown({ call, asked, nested: how.root !== undefined }, outcome, attempts, uid)
      if (batch.stopped) return shown(notStarted(batch.stopped.reason), 0, '')
      const started = await this.#engine().start(asked)
      if (started.as === 'conflict') return shown(conflict(call, started.recorded), 0, '')
      const { tenant, session } = asked.position
      this.#open.set(started.uid, { tenant, session })
      batch.joined(started.uid)
      try {
        const settled: Settled = await started.settled
        const { outcome } = settled
        if (stops(outcome, how)) batch.stop({ reason: `Stopped because '${call.id}' failed`, by: null })
        return shown(outcome, settled.attempts, started.uid)
      } finally {
        this.#open.delete(started.uid)
        batch.left(started.uid)
      }
    } finally {
      this.#queue.left(batchOf(asked.position), order)
    }
  }

  /** A promise only if a hook has a word about what the model reads. */
  #shown(of: Asking, outcome: Outcome, attempts: number, uid: string): CallOutcome | Promise<CallOutcome> {
    const { call, asked, nested } = of
    // What a nested call returns is read by a body, not by a model.
    const parts = this.#show(outcome, uid, nested ? null : () => factsOf(call, asked))
    const told = (read: readonly ModelPart[]): CallOutcome => ({
      ...outcome,
      callId: call.id,
      name: call.name,
      attempts,
      parts: read,
      ...(call.meta === undefined ? {} : { meta: call.meta }),
    })
    return parts instanceof Promise ? parts.then(told) : told(parts)
  }
}

interface Asking {
  readonly call: CallAsk
  readonly asked: Asked
  readonly nested: boolean
}

function factsOf(call: CallAsk, { position, principal, tool, input }: Asked): HookFacts {
  return { tenant: position.tenant, session: position.session, principal, callId: call.id, tool, input: decode(input) }
}

/** An abort of the turn by a hook stops the batch whatever was asked for. */
const stops = (outcome: Outcome, how: How): boolean =>
  outcome.status === 'failure' &&
  (how.onFailure === 'stop' || (outcome.failure.source === 'hook' && outcome.failure.code === 'turn_aborted'))

/** The open calls of one run, and what stops them. */
class Batch {
  stopped: Why | null = null
  readonly #engine: Engine
  readonly #signal: AbortSignal | undefined
  readonly #running = new Set<string>()
  readonly #aborted = (): void => {
    const reason: unknown = this.#signal?.reason
    const why =
      typeof reason === 'object' && reason !== null && 'by' in reason ? (reason as Why) : { reason: 'The batch was cancelled', by: null }
    this.stop(why)
  }

  constructor(signal: AbortSignal | undefined, engine: Engine) {
    this.#engine = engine
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
    this.stopped = why
    for (const uid of this.#running) this.#cancel(uid, why)
  }

  over(): void {
    this.#signal?.removeEventListener('abort', this.#aborted)
  }

  #cancel(uid: string, why: Why): void {
    // Should the store not answer, the call's own outcome tells.
    this.#engine.cancel(uid, why).catch(() => {})
  }
}

const notStarted = (reason: string): Outcome => ({
  status: 'cancelled',
  cancellation: { message: `${reason}; it was not started`, source: 'cancellation' },
})

/** The call as it goes on record: its input in recorded form, what came with it, and the hash by which it is known again. */
function askedOf(call: CallAsk, place: Place, at: { batch: string; occurrence: number; order: number; root: string | undefined }): Asked {
  const read = readArguments(call.input)
  const { idempotencyKey: key } = call
  const position: CallPosition =
    key === undefined
      ? { tenant: place.tenant, session: place.session, batch: at.batch, id: call.id, occurrence: at.occurrence }
      : { tenant: place.tenant, session: place.session, batch: 'idempotency key', id: key, occurrence: 0 }
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

const inMs = (clocks: Clocks): Record<string, number> =>
  Object.fromEntries(Object.entries(clocks).map(([name, duration]) => [name, milliseconds(duration, `timeout.${name}`)]))

/** Of the content, not of the text: the same arguments in another order of keys are the same call. */
const contentHash = (tool: string, input: Json): string => hash('sha256', canonical([tool, input]), 'base64url')

function conflict(call: CallAsk, recorded: { tool: string; input: string }): Outcome {
  const message = `A call with id '${call.id}' is on record with other content (tool '${recorded.tool}'). It was not run. Use a new id for a new call.`
  return failure({ class: 'invalid_request', code: 'call_conflict', message })
}
