// The handle that session.run() returns: a promise of the outcomes, and `accepted` for callers that only hand work in.

import { PawlError } from '../core/errors.ts'
import type { Engine } from '../engine/engine.ts'
import type { CallPosition } from '../store/records/call-record.ts'
import type { Batch } from './collect-outcomes.ts'

/** A running batch. Await it for the outcomes. */
export interface Run<T> extends Promise<T> {
  /**
   * Resolves when every call is recorded: from then on the calls run to their end even if this process is killed.
   * Rejects if the calls could not be recorded. Reading it makes the runtime write the calls at once.
   * @example
   * const run = session.run(calls, { batch: message.id })
   * await run.accepted
   * return new Response(null, { status: 202 })
   */
  readonly accepted: Promise<void>
}

export class RunHandle<T> extends Promise<T> implements Run<T> {
  readonly #accept: () => Promise<void>
  #accepted: Promise<void> | null = null

  /** `then` and `catch` return plain promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  constructor(outcomes: Promise<T>, accept: () => Promise<void>) {
    super((resolve) => resolve(outcomes))
    this.#accept = accept
  }

  get accepted(): Promise<void> {
    // A caller that only hands work in does not await the outcomes, so their rejection must not crash the process.
    if (!this.#accepted) this.catch(() => {})
    return (this.#accepted ??= this.#accept())
  }
}

/** Resolves when all calls of the batch are recorded. Calls that were not started have their outcome and no record. */
export async function batchRecorded(engine: Engine, batch: Batch): Promise<void> {
  const { requests } = batch
  await Promise.all(
    requests.map(({ position }, order) => callRecorded(engine, position, () => batch.outcomeOf(order) !== undefined)),
  )
}

/** Resolves when the call at this position is durable. */
export async function callRecorded(
  engine: Engine,
  position: CallPosition,
  needsNoRecord = (): boolean => false,
): Promise<void> {
  if ((await engine.recorded(position)) || needsNoRecord()) return
  throw new PawlError('store_unavailable', `The request '${position.id}' was not recorded, so it may be lost.`)
}
