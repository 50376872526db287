// Runs batches, the calls of one model message: registers the batch order before anything starts, starts the calls in
// order and passes each outcome to its Batch (collect-outcomes.ts). Also cancels sessions and runs nested calls.

import { runNestedCalls } from './run-nested-calls.ts'
import { type ArgumentLimits, argumentLimits } from '../calls/admission/read-arguments.ts'
import type { AttemptControl } from '../calls/scheduling/nested-calls.ts'
import type { ModelPart } from '../models/outcome-to-model-parts.ts'
import type { BatchOrder } from '../calls/scheduling/batch-order.ts'
import type { Queue } from '../calls/scheduling/queue.ts'
import { redactMessages } from '../calls/output/redact-outcome.ts'
import type { ProjectOutcome } from '../calls/output/outcome-for-model.ts'
import type { CancelReason, Engine, Execution, NewCall, StartResult } from '../engine/engine.ts'
import { type CallPosition, type CallRecord, parseCallOptions, recordedMeta } from '../store/records/call-record.ts'
import { noTimes } from '../store/records/call-times.ts'
import { PawlError } from '../core/errors.ts'
import { type Ids, lengthPrefixed } from '../core/ids.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Sizes } from '../core/size-limits.ts'
import { type MaybePromise, chain } from '../core/maybe-promise.ts'
import type { Scope } from '../core/scope.ts'
import type { KnownSecrets } from '../engine/foundation.ts'
import type { Store } from '../store/store.ts'
import type { Redactor } from '../security/redact.ts'
import type { Seal } from '../security/seal.ts'
import type { BackgroundHost } from '../tasks/ports.ts'
import type { NestedOutcome } from '../tools/context/tool-context.ts'
import type { Concurrency } from '../tools/tool-options.ts'
import type { CallAsk, CallOutcome } from './call-request.ts'
import { type Caller, buildRequest, isSensitive } from './build-call-request.ts'
import {
  Batch,
  type BatchOptions,
  type CallEnd,
  conflictOutcome,
  endWithoutStart,
  hookFacts,
  notStartedOutcome,
  stopsBatch,
  truncateReason,
} from './collect-outcomes.ts'
import { BackgroundMoves } from './move-calls-to-background.ts'
import type { Hook } from '../calls/admission/hook-definition.ts'
import type { PinnedToolsets } from '../tools/pinned-toolsets.ts'

const none: readonly never[] = []

interface BatchesHost extends BackgroundHost {
  readonly toolsets: PinnedToolsets
  readonly show: ProjectOutcome
  readonly hooks: readonly Hook[]
}

export class Batches {
  readonly #engine: Engine
  readonly #store: Store
  readonly #queue: Queue
  readonly #toolsets: PinnedToolsets
  readonly #show: ProjectOutcome
  readonly #sizes: Sizes
  readonly #argumentLimits: ArgumentLimits
  /** A hook may end the batch, so even a batch of parallel calls needs an order. */
  readonly #mayAbort: boolean
  readonly #ids: Ids
  readonly #seal: Seal
  readonly #redact: Redactor
  readonly #knownSecrets: KnownSecrets
  readonly #moves: BackgroundMoves
  /** Open calls of this process, for cancelling a session. */
  readonly #openCalls = new Map<string, CallPosition>()
  /** Calls whose start the store has not confirmed yet, with the cancellation to apply once it has. */
  readonly #starting = new Set<{ readonly position: CallPosition; cancel: CancelReason | null }>()
  /** Batches whose calls are being started right now. */
  readonly #startingBatches = new Set<{ readonly caller: Caller; readonly batch: Batch }>()

  constructor(host: BatchesHost) {
    this.#engine = host.engine
    this.#store = host.store
    this.#queue = host.queue
    this.#toolsets = host.toolsets
    this.#show = host.show
    this.#sizes = host.sizes
    this.#argumentLimits = { ...argumentLimits, bytes: host.sizes.arguments }
    this.#mayAbort = host.hooks.some((hook) => hook.before ?? hook.after)
    this.#ids = host.ids
    this.#seal = host.seal
    this.#redact = host.redact
    this.#knownSecrets = host.knownSecrets
    this.#moves = new BackgroundMoves(host)
  }

  run(caller: Caller, calls: readonly CallAsk[], options: BatchOptions): Promise<CallOutcome[]> {
    return this.start(caller, calls, options).outcomes
  }

  /** Starts all calls before waiting for any. */
  start(caller: Caller, calls: readonly CallAsk[], options: BatchOptions): Batch {
    const { batch: maxCalls } = this.#sizes
    if (calls.length > maxCalls)
      throw new PawlError('batch_too_long', `It has ${calls.length} calls; the limit is ${maxCalls}.`)
    const seen = new Map<string, number>()
    const entries = calls.map((call) => options.tools.find(call.name))
    const kinds = entries.map((entry) => entry?.kind ?? 'parallel')
    const batchOrder = this.#openOrder(caller, kinds, options)
    const strict = options.onFailure === 'stop' && batchOrder !== null
    const requests = calls.map((call, order) => {
      const occurrence = seen.get(call.id) ?? 0
      seen.set(call.id, occurrence + 1)
      const { batch, root, above, turn, within, byHost, inTask } = options
      const entry = entries[order]
      const at = {
        batch,
        occurrence,
        order,
        root,
        above,
        turn,
        within,
        byHost,
        inTask,
        line: batchOrder?.name ?? null,
        stop: strict,
      }
      return buildRequest(call, entry, caller, at, this.#argumentLimits, (read) =>
        this.#seal.for(options.sealed === true || isSensitive(entry, read, options.tools)),
      )
    })
    const orderEntries = batchOrder
      ? requests.map(({ position }, order) =>
          this.#queue.batches.expect(batchOrder, position, kinds[order] ?? 'parallel', strict),
        )
      : none
    const pinned = { tools: options.tools, tenant: caller.tenant, session: caller.session, calls: requests }
    this.#toolsets.add(pinned)
    const unpin = (): void => this.#toolsets.remove(pinned)
    const batch = new Batch(options, calls, requests, orderEntries, {
      engine: this.#engine,
      maxReasonLength: this.#sizes.event,
      onEnd: unpin,
    })
    // If one start fails because the store or the runtime is gone, the batch rejects at once: its other calls may be
    // parked for days. They continue, and running the same batch again joins them.
    const starting = { caller, batch }
    this.#startingBatches.add(starting)
    for (const [order, request] of requests.entries()) this.#start(request, order, batch)
    this.#startingBatches.delete(starting)
    return batch
  }

  /** Runs calls made by a tool body as their own batch. */
  runNested(
    parent: Execution,
    calls: readonly CallAsk[],
    options: { name: string; control: AttemptControl | null; signal: AbortSignal },
  ): Promise<NestedOutcome[]> {
    const start = (caller: Caller, subset: readonly CallAsk[], how: BatchOptions): Batch =>
      this.start(caller, subset, how)
    return runNestedCalls({ start, queue: this.#queue, toolsets: this.#toolsets }, parent, calls, options)
  }

  /** `open` lists the recorded open calls of the session: other workers may run some of them. */
  async cancel(of: Scope, cancelReason: CancelReason, open: () => Promise<readonly string[]>): Promise<number> {
    const reason = truncateReason(cancelReason, this.#sizes.event)
    const inSession = ({ tenant, session }: Scope): boolean => tenant === of.tenant && session === of.session
    const starting = [...this.#starting].filter(({ position }) => inSession(position))
    for (const call of starting) call.cancel ??= reason
    // A body that starts synchronously may cancel the session before `start` has returned.
    const startingBatches = [...this.#startingBatches].filter(({ caller }) => inSession(caller))
    for (const { batch } of startingBatches) batch.stop(reason)
    const running = [...this.#openCalls].filter(([, position]) => inSession(position))
    const stop = (uid: string): Promise<boolean> => {
      const cancelled = this.#engine.cancel(uid, reason)
      cancelled.catch(() => {}) // awaited below; this prevents an unhandled rejection
      return cancelled
    }
    const stopping = running.map(([uid]) => stop(uid))
    const known = new Set(running.map(([uid]) => uid))
    for (const uid of await open()) if (!known.has(uid)) stopping.push(stop(uid))
    const stopped = await Promise.all(stopping)
    return stopped.filter(Boolean).length + starting.length + startingBatches.length
  }

  /** Restores the batch order of calls recovered after a crash, before any of them continues. */
  restoreOrder(records: readonly CallRecord[]): void {
    const ordered = records.map((record) => {
      const { order = 0, stop = false } = parseCallOptions(record.options)
      return { record, order, stop }
    })
    for (const { record, stop } of ordered.toSorted((a, b) => a.order - b.order)) {
      const entry = this.#toolsets.toolsetFor(record).findByKey(record.tool)
      if (!entry || record.wait !== null || record.line === null) continue
      this.#queue.batches.expectRecovered(this.#queue.batches.orderOf(record.line), record.position, entry.kind, stop)
    }
  }

  /**
   * A single call or an all-parallel batch needs no order. A named batch may arrive in several runs, so it always has
   * one.
   */
  #openOrder(
    { tenant, session }: Caller,
    kinds: readonly Concurrency['kind'][],
    { batch, root, onFailure }: BatchOptions,
  ): BatchOrder | null {
    const maySplit = batch !== '' && root === undefined
    const needsOrder =
      kinds.length > 1 && (onFailure === 'stop' || this.#mayAbort || kinds.some((kind) => kind !== 'parallel'))
    if (!maySplit && !needsOrder) return null
    return this.#queue.batches.orderOf(
      batch === '' ? lengthPrefixed(tenant, session, '', this.#ids.next()) : lengthPrefixed(tenant, session, batch),
    )
  }

  /** `error` is set if the outcome of the call is unknown. */
  #releaseOrder(order: number, { orderEntries: entries, options }: Batch, uid = '', error?: unknown): void {
    const entry = entries[order]
    if (entry && error instanceof PawlError && error.code === 'store_unavailable')
      this.#queue.batches.outcomeUnobserved(entry, entries)
    else if (entry) this.#queue.batches.releaseRun(entry)
    options.nestedCalls?.callSettled(uid)
  }

  #start(request: NewCall, order: number, batch: Batch): void {
    // An earlier call of the batch failed to start; later ones must not overtake it.
    if (batch.hasFailed) return this.#releaseOrder(order, batch)
    if (batch.stopped)
      return this.#finish(request, order, batch, endWithoutStart(notStartedOutcome(batch.stopped.reason)))
    const failed = (error: unknown): void => {
      this.#releaseOrder(order, batch)
      batch.fail(error)
    }
    try {
      const started = this.#engine.start(request)
      if (started instanceof Promise) this.#awaitStart(started, request, order, batch).catch(failed)
      else this.#attach(started, request, order, batch)
    } catch (error) {
      failed(error)
    }
  }

  /** Waits for the store to confirm the start. If the session is cancelled before that, this call is cancelled too. */
  async #awaitStart(started: Promise<StartResult>, request: NewCall, order: number, batch: Batch): Promise<void> {
    const starting = { position: request.position, cancel: null as CancelReason | null }
    this.#starting.add(starting)
    try {
      const found = await started
      if (starting.cancel && found.as === 'accepted') this.#engine.cancel(found.uid, starting.cancel).catch(() => {})
      this.#attach(found, request, order, batch)
    } finally {
      this.#starting.delete(starting)
    }
  }

  #attach(started: StartResult, request: NewCall, order: number, batch: Batch): void {
    if (started.as === 'conflict')
      return this.#finish(
        request,
        order,
        batch,
        endWithoutStart(conflictOutcome(batch.calls[order] as CallAsk, started.recorded)),
      )
    const { uid, settled } = started
    this.#openCalls.set(uid, request.position)
    batch.addRunning(uid)
    if (started.parked || this.#queue.nestedCalls.isAway(uid)) batch.options.nestedCalls?.callAway(uid)
    const { root, tools } = batch.options
    const tool = root === undefined ? tools.get((batch.calls[order] as CallAsk).name) : undefined
    const moveWatch = tool?.background
      ? this.#moves.watch(batch, order, tool, started, (handle) =>
          this.#replaceWithHandle(request, order, batch, { uid, handle }),
        )
      : null
    const detach = (): void => {
      moveWatch?.stop()
      this.#openCalls.delete(uid)
      batch.removeRunning(uid)
    }
    settled.then(
      (ended) => {
        detach()
        const end = (handle?: Outcome): void =>
          handle
            ? this.#replaceWithHandle(request, order, batch, { uid, handle })
            : this.#finish(request, order, batch, ended, uid, started.ended)
        if (!moveWatch || batch.outcomeOf(order)) end()
        else moveWatch.handleIfMoved().then(end, () => end())
      },
      (error: unknown) => {
        detach()
        this.#releaseOrder(order, batch, uid, error)
        batch.fail(error)
      },
    )
  }

  /** The call continues in the background: the batch records a task handle for it and stops waiting. */
  #replaceWithHandle(
    request: NewCall,
    order: number,
    batch: Batch,
    { uid, handle }: { uid: string; handle: Outcome },
  ): void {
    if (batch.outcomeOf(order)) return
    const entry = batch.orderEntries[order]
    if (entry) this.#queue.batches.leave(entry.primary ?? entry)
    batch.removeRunning(uid)
    const show = async (): Promise<CallOutcome> => {
      const recorded = await this.#store.callAt(request.position)
      const end = { attempts: 0, outcome: handle, times: noTimes, ...(recorded ? { request: recorded } : {}) }
      return this.#toCallOutcome(request, order, batch, end, '')
    }
    show().then(
      (outcome) => batch.recordOutcome(order, outcome),
      (error: unknown) => batch.fail(error),
    )
  }

  #finish(request: NewCall, order: number, batch: Batch, ended: CallEnd, uid = '', wasSettled = false): void {
    try {
      const call = batch.calls[order] as CallAsk
      if (!batch.outcomeOf(order) && stopsBatch(ended.outcome, batch.options))
        batch.stop({ reason: `Stopped because '${call.id}' failed`, by: null })
      const shown = this.#toCallOutcome(request, order, batch, ended, uid, wasSettled)
      const recorded = chain(shown, (outcome) => batch.recordOutcome(order, outcome))
      if (recorded) recorded.catch((error: unknown) => batch.fail(error))
    } catch (error) {
      batch.fail(error)
    } finally {
      this.#releaseOrder(order, batch, uid)
    }
  }

  /** Returns a promise only if a hook projects the result or secrets are read first. */
  #toCallOutcome(
    request: NewCall,
    order: number,
    batch: Batch,
    ended: CallEnd,
    uid: string,
    wasSettled = false,
  ): MaybePromise<CallOutcome> {
    const call = batch.calls[order] as CallAsk
    // The result of a nested call is read by a body, not by a model, so hooks do not project it.
    const hookFactsOf = batch.options.root === undefined ? () => hookFacts(call, request, batch.options) : null
    const show = (): MaybePromise<readonly ModelPart[]> => this.#show(ended, uid, batch.canReadOutput, hookFactsOf)
    const secrets = this.#knownSecrets
    const learning =
      batch.options.loadSecrets?.() ??
      // A call that had settled before may have run in another process, after a secret was set there.
      (wasSettled && hookFactsOf ? secrets.refresh(request.position) : secrets.ensure(request.position))
    const parts = learning ? learning.then(show) : show()
    const build = (modelParts: readonly ModelPart[]): CallOutcome => {
      const { attempts, times } = ended
      // A body gets the raw outcome; the caller of run() gets the redacted one.
      const outcome =
        batch.options.root === undefined && this.#redact.active
          ? redactMessages(ended.outcome, this.#redact)
          : ended.outcome
      const { queuedMs, runningMs, waitingMs } = times
      const shown = {
        ...outcome,
        callId: call.id,
        name: call.name,
        attempts,
        queuedMs,
        runningMs,
        waitingMs,
        parts: modelParts,
      }
      const options = ended.request?.options
      if (options !== undefined) return options === null ? shown : { ...shown, ...recordedMeta(options) }
      return call.meta === undefined ? shown : { ...shown, meta: call.meta }
    }
    return chain(parts, build)
  }
}
