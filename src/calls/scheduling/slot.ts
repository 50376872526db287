// The slot of a running call: all gates it holds. Released while the call waits, and acquired again when it resumes.

import { milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { lengthPrefixed } from '../../core/ids.ts'
import type { NestedCallGroups } from './nested-calls.ts'
import type { Gate, Acquirer } from './semaphore-gates.ts'
import type { BatchEntry } from './batch-order.ts'
import type { CallPosition } from '../../store/records/call-record.ts'
import type { TaskTerms } from '../../store/records/task-terms.ts'
import type { SlotRequest } from '../../engine/engine.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Rate } from '../../tools/tool-options.ts'

export interface QueueEntry {
  readonly uid: string
  readonly position: CallPosition
  readonly tool: Tool
  /** Concurrency key; null if the tool is not keyed. */
  readonly key: string | null
  /** The calls that this call is nested in, outermost first. */
  readonly ancestors: readonly string[]
  /** Set if the call is a task. */
  readonly task: TaskTerms | undefined
  /** The call is not rejected as overloaded and does not wait for its batch. */
  readonly admitted: boolean
  /** Calls `stop` when the call is cancelled or times out while it waits. Returns a function that removes it. */
  onStop(stop: () => void): () => void
}

/** Why a call did not get a slot. */
export type QueueRefusal = 'overloaded' | 'would_deadlock' | 'batch_failed' | 'stopped'

/** The part of the queue that a slot uses. */
interface SlotQueue {
  take(slot: Slot): MaybePromise<QueueRefusal | null>
  release(slot: Slot): void
  readonly batches: { leave(entry: BatchEntry): void }
  readonly nestedCalls: NestedCallGroups
}

const none: readonly Gate[] = []
const noRequests: readonly SlotRequest[] = []

export class Slot implements Acquirer {
  readonly entry: QueueEntry
  readonly ancestors: readonly string[]
  /** Either all gates are held, or the slot waits for one and holds none. */
  gates: readonly Gate[] = none
  /** Slots that are counted across all workers; taken in the commit that starts the attempt. */
  slotRequests: readonly SlotRequest[] = noRequests
  /** The slot was held before and is being acquired again. */
  reentering = false
  readonly #queue: SlotQueue
  readonly #batchEntry: BatchEntry | undefined
  #inside = true
  #reentry: Promise<boolean> | null = null
  #closed = false
  #onStop: (() => void) | null = null

  constructor(queue: SlotQueue, entry: QueueEntry, batchEntry: BatchEntry | undefined) {
    this.#queue = queue
    this.#batchEntry = batchEntry
    this.entry = entry
    this.ancestors = entry.ancestors
  }

  get uid(): string {
    return this.entry.uid
  }
  get tenant(): string {
    return this.entry.position.tenant
  }

  /** The body waits: other calls may run. */
  leave(): void {
    if (!this.#inside || this.#reentry || this.#closed) return
    if (this.#batchEntry) this.#queue.batches.leave(this.#batchEntry)
    this.#inside = false
    this.#queue.release(this)
    this.#queue.nestedCalls.callAway(this)
  }

  /** The body resumes: acquires the gates again, but not the batch order. False if the attempt is over. */
  async enter(): Promise<boolean> {
    if (this.#closed || this.#inside) return !this.#closed
    this.#reentry ??= this.#reenter()
    return this.#reentry
  }

  async #reenter(): Promise<boolean> {
    this.reentering = true
    try {
      await this.#queue.nestedCalls.callReturned(this)
      if (this.#closed) return false
      const refused = await this.#queue.take(this)
      if (refused === 'would_deadlock') throw new PawlError('would_deadlock', `The call is ${this.uid}.`)
      if (refused) return false
      this.#inside = true
      // The attempt ended while the gates were being acquired.
      if (this.#closed) this.release()
      return !this.#closed
    } finally {
      this.#reentry = null
    }
  }

  /** Stop notification while waiting: from the call before the first start, from the attempt afterwards. */
  onStop(stop: () => void): () => void {
    if (!this.reentering) return this.entry.onStop(stop)
    this.#onStop = stop
    return () => void (this.#onStop = null)
  }

  /** The attempt is stopped or over: it keeps the gates it holds and acquires no more. */
  close(): void {
    this.#closed = true
    this.#onStop?.()
  }

  /** The call has parked, without a running body. */
  parked(): void {
    this.release()
    this.#queue.nestedCalls.callAway(this)
  }

  /** Releases all gates. */
  release(): void {
    this.close()
    if (!this.#inside) return
    this.#inside = false
    this.#queue.release(this)
  }
}

interface FleetLimits {
  readonly perSession: number
  readonly perTenant: number
  readonly perTool: number
  readonly tasksPerSession: number
  readonly rate?: { readonly perTool?: Rate; readonly perTenant?: Rate }
}

/**
 * The semaphore slots that a call takes across all workers, in addition to the gates of this process. Keys,
 * `exclusive`, tool limits and rates are always counted in the store, because another worker may start at any time.
 * Session and tenant limits are counted there only while there are other workers, so a single worker has no extra cost.
 */
export function fleetSlotRequests(
  { entry, ancestors, reentering }: Slot,
  limits: FleetLimits,
  hasOtherWorkers: boolean,
): readonly SlotRequest[] {
  const { position, tool, key, task } = entry
  const { tenant, session } = position
  const isRoot = ancestors.length === 0
  let requests: SlotRequest[] | null = null
  const add = (name: string, capacity: number, lastsMs?: number): void => {
    requests ??= []
    requests.push(lastsMs === undefined ? { name, capacity } : { name, capacity, lastsMs })
  }
  if (tool.concurrency.kind === 'exclusive') add(lengthPrefixed('exclusive', tenant, session), 1)
  else if (key !== null) add(lengthPrefixed('key', tenant, key), 1)
  const toolLimit = tool.limits.concurrent ?? limits.perTool
  if (toolLimit !== Infinity) add(lengthPrefixed('tool', tool.id), toolLimit)
  if (isRoot && hasOtherWorkers) {
    if (limits.perSession !== Infinity) add(lengthPrefixed('session', tenant, session), limits.perSession)
    if (limits.perTenant !== Infinity) add(lengthPrefixed('tenant', tenant), limits.perTenant)
  }
  if (task && limits.tasksPerSession !== Infinity) add(lengthPrefixed('tasks', tenant, session), limits.tasksPerSession)
  if (reentering) return requests ?? noRequests
  // Rates count starts only.
  const addRate = (name: string, { count, per }: Rate): void => add(name, count, milliseconds(per, 'rate'))
  const toolRate = tool.limits.rate ?? limits.rate?.perTool
  if (toolRate) addRate(lengthPrefixed('tool rate', tool.id), toolRate)
  if (isRoot && limits.rate?.perTenant) addRate(lengthPrefixed('tenant rate', tenant), limits.rate.perTenant)
  return requests ?? noRequests
}
