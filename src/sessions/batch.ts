// Batches: the calls of one model message on their way. Says to the queue what is coming before anything starts, starts the calls in
// order, and hands each outcome to whoever gathers them (collect-outcomes.ts). Cancelling, stopping at a failure and nested calls all end here.

import { type ArgumentLimits, argumentLimits } from '../calls/admission/read-arguments.ts'
import type { NestedCalls, Pace } from '../calls/scheduling/nested-calls.ts'
import type { ModelPart } from '../models/model-parts.ts'
import type { BatchOrder } from '../calls/scheduling/batch-order.ts'
import type { Queue } from '../calls/scheduling/queue.ts'
import type { Show } from '../calls/output/project-outcome.ts'
import type { Asked, Engine, Execution, Started } from '../engine/engine.ts'
import type { CallOptions, CallPosition, CallRecord } from '../store/records/call-record.ts'
import { isSealedUid } from '../store/records/sealed-uid.ts'
import { noTimes } from '../store/records/call-times.ts'
import { isLoss, PawlError } from '../core/errors.ts'
import { frame, type Ids } from '../core/ids.ts'
import { type Outcome } from '../core/outcome.ts'
import type { Sizes } from '../core/size-limits.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { NestedOutcome } from '../tools/context/context.ts'
import type { Concurrency } from '../tools/tool-options.ts'
import { type CallAsk, type CallOutcome, checkAsks, nestedBatch } from './call-request.ts'
import { askedOf, askingOf, type Place } from './call-record.ts'
import { conflict, type Ended, factsOf, neverBegun, notStarted, stops } from './batch-outcome.ts'
import { Batch, Cancel, cut, type How, type Why } from './collect-outcomes.ts'
import type { BatchesHost } from './batch-ports.ts'
import type { BackgroundMoves } from './background-moves.ts'
import { isSensitive } from './sensitive-tools.ts'
import type { PinnedToolsets } from './pinned-toolsets.ts'
import { takenDown, wasTakenDown } from './parent-stopped.ts'

const none: readonly never[] = []

export class Batches {
  readonly #engine: () => Engine
  readonly #queue: Queue
  readonly #standing: PinnedToolsets
  readonly #show: Show
  readonly #sizes: Sizes
  readonly #reading: ArgumentLimits
  readonly #mayAbort: boolean
  readonly #ids: Ids
  readonly #sealFor: BatchesHost['sealFor']
  readonly #words: BatchesHost['words']
  readonly #moves: BackgroundMoves
  /** Open calls of this process, for cancelling a session. */
  readonly #open = new Map<string, CallPosition>()
  /** Those that the store is still asked about, and whether they are wanted when it answers. */
  readonly #starting = new Set<{ readonly position: CallPosition; cancel: Why | null }>()
  /** Runs whose calls are being started right now. */
  readonly #beginning = new Set<{ readonly place: Place; readonly batch: Batch }>()

  constructor(host: BatchesHost) {
    this.#engine = host.engine
    this.#queue = host.queue
    this.#standing = host.standing
    this.#show = host.show
    this.#sizes = host.sizes
    this.#reading = { ...argumentLimits, bytes: host.sizes.arguments }
    this.#mayAbort = host.mayAbort
    this.#ids = host.ids
    this.#sealFor = host.sealFor
    this.#words = host.words
    this.#moves = host.moves
  }

  run(place: Place, calls: readonly CallAsk[], how: How): Promise<CallOutcome[]> {
    return this.start(place, calls, how).outcomes
  }

  /** All are started before any is waited for. */
  start(place: Place, calls: readonly CallAsk[], how: How): Batch {
    const { batch: most } = this.#sizes
    if (calls.length > most)
      throw new PawlError('batch_too_long', `It has ${calls.length} calls; at most ${most} are taken.`)
    const seen = new Map<string, number>()
    const entries = calls.map((call) => how.tools.find(call.name))
    const kinds = entries.map((entry) => entry?.kind ?? 'parallel')
    const line = this.#line(place, kinds, how)
    const strict = how.onFailure === 'stop' && line !== null
    const asks = calls.map((call, order) => {
      const occurrence = seen.get(call.id) ?? 0
      seen.set(call.id, occurrence + 1)
      const { batch, root, above, turn, within, byHost, inTask } = how
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
        line: line?.name ?? null,
        stop: strict,
      }
      return askedOf(call, entry, place, at, this.#reading, (read) =>
        this.#sealFor(how.sealed === true || isSensitive(entry, read, how.tools)),
      )
    })
    const turns = line
      ? asks.map(({ position }, order) => this.#queue.turns.expect(line, position, kinds[order] ?? 'parallel', strict))
      : none
    const open = { tools: how.tools, tenant: place.tenant, session: place.session, calls: asks }
    this.#standing.began(open)
    const over = (): void => this.#standing.over(open)
    const batch = new Batch(how, calls, asks, turns, { engine: this.#engine(), longestReason: this.#sizes.event, over })
    // One that cannot be known (the store or the runtime is gone) rejects the batch at once:
    // its siblings may be parked for days. They go on, and the same batch asked again finds them.
    const beginning = { place, batch }
    this.#beginning.add(beginning)
    for (const [order, asked] of asks.entries()) this.#start(asked, order, batch)
    this.#beginning.delete(beginning)
    return batch
  }

  /** Other tools under a call: a batch of its own, named by the call and the place in its body, so that a rerun finds it again. */
  async nested(
    parent: Execution,
    calls: readonly CallAsk[],
    { name, pace, signal }: { name: string; pace: Pace | null; signal: AbortSignal },
  ): Promise<NestedOutcome[]> {
    checkAsks(calls)
    const { position, principal, uid } = parent.request
    const { root, above = [], turn, task, inTask = task?.id } = parent.options
    const stop = new AbortController()
    const aborted = (): void => {
      const { stopped } = parent
      if (!stopped) stop.abort(new Cancel(takenDown, null))
      // An execution that no longer counts is taken up again, and finds what it called as far as that has come.
      else if ('cancel' in stopped) stop.abort(new Cancel(stopped.cancel, stopped.by))
    }
    if (signal.aborted) aborted()
    signal.addEventListener('abort', aborted, { once: true })
    const family = pace && this.#queue.families.of(uid, pace)
    try {
      const returning = family?.together()
      if (returning) await returning
      const under = { tenant: position.tenant, session: position.session, principal, ...askingOf(parent.options) }
      const run = (some: readonly CallAsk[], named: string): Promise<CallOutcome[]> => {
        family?.began(some.length)
        return this.#startUnder(family, under, some, {
          tools: this.#standing.of(parent.request),
          batch: nestedBatch(position, named),
          onFailure: 'continue',
          signal: stop.signal,
          root: root ?? uid,
          // What a body does with what it was given may hold what it was given.
          sealed: isSealedUid(uid),
          ...(root === undefined ? {} : { above: [...above, uid] }),
          ...(turn === undefined ? {} : { turn }),
          ...(inTask === undefined ? {} : { inTask }),
          ...(family ? { family } : {}),
        }).outcomes
      }
      const outcomes = await run(calls, name)
      // What an earlier try of the body took down with it is no answer for this one: those are asked for anew.
      for (let round = 1; round <= parent.retries && !signal.aborted; round++) {
        const again = outcomes.flatMap((outcome, order) => (wasTakenDown(outcome) ? [order] : []))
        if (again.length === 0) break
        const fresh = await run(
          again.map((order) => calls[order] as CallAsk),
          `${name}@${round}`,
        )
        for (const [index, order] of again.entries()) outcomes[order] = fresh[index] as CallOutcome
      }
      await family?.together()
      return outcomes
    } catch (error) {
      // How they ended nobody here knows: that decides nothing about the call above, whatever its body makes of it.
      if (isLoss(error)) parent.end(error)
      throw error
    } finally {
      signal.removeEventListener('abort', aborted)
      if (family) this.#queue.families.over(uid, family)
    }
  }

  /** Calls that are refused as a whole are no longer expected. */
  #startUnder(family: NestedCalls | null, place: Place, calls: readonly CallAsk[], how: How): Batch {
    try {
      return this.start(place, calls, how)
    } catch (error) {
      family?.began(-calls.length)
      throw error
    }
  }

  /** `open` tells which calls of the session are open by the record: other workers may have some of them, and some nobody. */
  async cancel(
    of: { tenant: string; session: string },
    why: Why,
    open: () => Promise<readonly string[]>,
  ): Promise<number> {
    const brief = cut(why, this.#sizes.event)
    const isMine = (place: CallPosition): boolean => place.tenant === of.tenant && place.session === of.session
    const coming = [...this.#starting].filter(({ position }) => isMine(position))
    for (const each of coming) each.cancel ??= brief
    // A body that begins at once may say so in its first line, before its run is through.
    const begun = [...this.#beginning].filter(({ place }) => place.tenant === of.tenant && place.session === of.session)
    for (const { batch } of begun) batch.stop(brief)
    const mine = [...this.#open].filter(([, place]) => isMine(place))
    const stop = (uid: string): Promise<boolean> => {
      const asked = this.#engine().cancel(uid, brief)
      asked.catch(() => {}) // told below: one that fails meanwhile is nobody's stray
      return asked
    }
    const stopping = mine.map(([uid]) => stop(uid))
    const known = new Set(mine.map(([uid]) => uid))
    for (const uid of await open()) if (!known.has(uid)) stopping.push(stop(uid))
    const stopped = await Promise.all(stopping)
    return stopped.filter(Boolean).length + coming.length + begun.length
  }

  /** Calls that come back after a crash stand in line again, in their order, before any of them goes on. */
  returning(records: readonly CallRecord[]): void {
    const placed = records.map((record) => {
      const { order = 0, stop = false } = record.options === null ? {} : (JSON.parse(record.options) as CallOptions)
      return { record, order, stop }
    })
    for (const { record, stop } of placed.toSorted((a, b) => a.order - b.order)) {
      const entry = this.#standing.of(record).recorded(record.tool)
      if (!entry || record.wait !== null || record.line === null) continue
      this.#queue.turns.returns(this.#queue.turns.line(record.line), record.position, entry.kind, stop)
    }
  }

  /** What runs alone, or together with everything beside it, needs no line. A batch with a name may be asked for in several runs. */
  #line(
    { tenant, session }: Place,
    kinds: readonly Concurrency['kind'][],
    { batch, root, onFailure }: How,
  ): BatchOrder | null {
    const inPieces = batch !== '' && root === undefined
    const matters =
      kinds.length > 1 && (onFailure === 'stop' || this.#mayAbort || kinds.some((kind) => kind !== 'parallel'))
    if (!inPieces && !matters) return null
    return this.#queue.turns.line(
      batch === '' ? frame(tenant, session, '', this.#ids.next()) : frame(tenant, session, batch),
    )
  }

  /** `error`: how it ended is not known. */
  #judged(order: number, { places, how }: Batch, uid = '', error?: unknown): void {
    const turn = places[order]
    if (turn && error instanceof PawlError && error.code === 'store_unavailable')
      this.#queue.turns.unheard(turn, places)
    else if (turn) this.#queue.turns.judged(turn)
    how.family?.settled(uid)
  }

  #start(asked: Asked, order: number, batch: Batch): void {
    // One before it could not be asked for: what comes after must not go first.
    if (batch.isOver) return this.#judged(order, batch)
    if (batch.stopped) return this.#end(asked, order, batch, neverBegun(notStarted(batch.stopped.reason)))
    const failed = (error: unknown): void => {
      this.#judged(order, batch)
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
    if (started.parked || this.#queue.families.isAway(uid)) batch.how.family?.left(uid)
    const watching = this.#moves.watch(batch, order, started, (handle) =>
      this.#moved(asked, order, batch, { uid, handle }),
    )
    const over = (): void => {
      watching?.stop()
      this.#open.delete(uid)
      batch.left(uid)
    }
    settled.then(
      (ended) => {
        over()
        const end = (handle?: Outcome): void =>
          handle ? this.#moved(asked, order, batch, { uid, handle }) : this.#end(asked, order, batch, ended, uid)
        if (!watching || batch.outcomeOf(order)) end()
        else watching.meanwhile().then(end, () => end())
      },
      (error: unknown) => {
        over()
        this.#judged(order, batch, uid, error)
        batch.failed(error)
      },
    )
  }

  /** It goes on in the background: the batch has a handle in its place, and the others do not wait for it. */
  #moved(asked: Asked, order: number, batch: Batch, { uid, handle }: { uid: string; handle: Outcome }): void {
    if (batch.outcomeOf(order)) return
    const turn = batch.places[order]
    if (turn) this.#queue.turns.left(turn.of ?? turn)
    batch.left(uid)
    const shown = this.#shown(asked, order, batch, { attempts: 0, outcome: handle, times: noTimes }, '')
    Promise.resolve(shown).then(
      (told) => batch.done(order, told),
      (error: unknown) => batch.failed(error),
    )
  }

  #end(asked: Asked, order: number, batch: Batch, ended: Ended, uid = ''): void {
    try {
      const call = batch.calls[order] as CallAsk
      if (!batch.outcomeOf(order) && stops(ended.outcome, batch.how))
        batch.stop({ reason: `Stopped because '${call.id}' failed`, by: null })
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
      this.#judged(order, batch, uid)
    }
  }

  /** A promise only if a hook has a word about what the model reads, or secrets are learned first. */
  #shown(asked: Asked, order: number, batch: Batch, ended: Ended, uid: string): MaybePromise<CallOutcome> {
    const call = batch.calls[order] as CallAsk
    // What a nested call returns is read by a body, not by a model.
    const facts = batch.how.root === undefined ? () => factsOf(call, asked, batch.how) : null
    const show = (): MaybePromise<readonly ModelPart[]> => this.#show(ended, uid, batch.reads, facts)
    const parts = batch.how.learn ? batch.how.learn().then(show) : show()
    const told = (read: readonly ModelPart[]): CallOutcome => {
      const { attempts, times } = ended
      // A body gets what its calls gave; a program is told what a person may read.
      const outcome = batch.how.root === undefined ? this.#words(ended.outcome) : ended.outcome
      const { queuedMs, runningMs, waitingMs } = times
      const shown = {
        ...outcome,
        callId: call.id,
        name: call.name,
        attempts,
        queuedMs,
        runningMs,
        waitingMs,
        parts: read,
      }
      return call.meta === undefined ? shown : { ...shown, meta: call.meta }
    }
    return parts instanceof Promise ? parts.then(told) : told(parts)
  }
}
