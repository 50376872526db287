// A call's place among those that run: left while it waits for the outside, taken again when it comes back.

import { PawlError } from '../../core/errors.ts'
import type { NestedCallGroups } from './nested-calls.ts'
import type { Gate, Guest } from './gates.ts'
import type { Place } from './batch-order.ts'
import type { CallPosition } from '../../store/records/call-record.ts'
import type { TaskTerms } from '../../store/records/task-terms.ts'
import type { FleetPlace } from '../../engine/engine.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { Tool } from '../../tools/tool.ts'

export interface Entry {
  readonly uid: string
  readonly position: CallPosition
  readonly tool: Tool
  /** For keyed tools. */
  readonly key: string | null
  /** The calls it runs under, the outermost first. */
  readonly above: readonly string[]
  /** It is a task. */
  readonly task: TaskTerms | undefined
  /** Its body had begun before. */
  readonly admitted: boolean
  /** Tells it when it is no longer wanted, for as long as it waits. */
  onStop(stop: () => void): () => void
}

/** Why a call did not get its turn. */
export type Refused = 'overloaded' | 'would_deadlock' | 'batch_failed' | 'stopped'

/** The queue as a slot sees it. */
interface SlotQueue {
  take(slot: Slot): MaybePromise<Refused | null>
  release(slot: Slot): void
  readonly turns: { left(place: Place): void }
  readonly families: NestedCallGroups
}

const none: readonly Gate[] = []
const nowhere: readonly FleetPlace[] = []

export class Slot implements Guest {
  readonly entry: Entry
  readonly above: readonly string[]
  /** All of them are held, or it waits for one and holds none. */
  gates: readonly Gate[] = none
  /** What of it is counted across all workers; taken with the record that it begins. */
  places: readonly FleetPlace[] = nowhere
  /** It was inside before. */
  back = false
  readonly #queue: SlotQueue
  readonly #place: Place | undefined
  #inside = true
  #coming: Promise<boolean> | null = null
  #over = false
  #callOff: (() => void) | null = null

  constructor(queue: SlotQueue, entry: Entry, place: Place | undefined) {
    this.#queue = queue
    this.#place = place
    this.entry = entry
    this.above = entry.above
  }

  get uid(): string {
    return this.entry.uid
  }
  get tenant(): string {
    return this.entry.position.tenant
  }

  /** It waits for the outside: others may go. */
  leave(): void {
    if (!this.#inside || this.#coming || this.#over) return
    if (this.#place) this.#queue.turns.left(this.#place)
    this.#inside = false
    this.#queue.release(this)
    this.#queue.families.left(this)
  }

  /** Back from the outside: limits and keys again, but not the order of its batch. False if its attempt is over. */
  async enter(): Promise<boolean> {
    if (this.#over || this.#inside) return !this.#over
    this.#coming ??= this.#come()
    return this.#coming
  }

  async #come(): Promise<boolean> {
    this.back = true
    try {
      await this.#queue.families.back(this)
      if (this.#over) return false
      const refused = await this.#queue.take(this)
      if (refused === 'would_deadlock') throw new PawlError('would_deadlock', `The call is ${this.uid}.`)
      if (refused) return false
      this.#inside = true
      // Its end came while it was handed what it needs.
      if (this.#over) this.done()
      return !this.#over
    } finally {
      this.#coming = null
    }
  }

  /** How it hears, while it waits, that it is no longer wanted: as a newcomer from its call, later from its attempt. */
  onStop(stop: () => void): () => void {
    if (!this.back) return this.entry.onStop(stop)
    this.#callOff = stop
    return () => void (this.#callOff = null)
  }

  /** The attempt is stopped or over: it keeps what it has, and takes nothing more. */
  close(): void {
    this.#over = true
    this.#callOff?.()
  }

  /** Its call waits for the outside without it. */
  parked(): void {
    this.done()
    this.#queue.families.left(this)
  }

  /** Gives all back. */
  done(): void {
    this.close()
    if (!this.#inside) return
    this.#inside = false
    this.#queue.release(this)
  }
}
