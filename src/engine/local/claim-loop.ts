// The claim loop: claims calls that need a worker because theirs died, released them, or an answer arrived. It also
// releases orphans: calls recorded as ours that no execution runs, because a write failed.

import { type CallPosition, type CallRecord, progressOf } from '../../store/records/call-record.ts'
import type { EngineState } from './engine-state.ts'
import { unlessUnreadable } from '../../store/skip-unreadable.ts'

const pageSize = 64
/** Page size while this is the only worker, so that one sweep claims more calls. */
const alonePageSize = 512

/**
 * Resumes claimed calls. `lapses` is the lease lapse count at which they were known to be ours. `isWhole`: nothing
 * claimable was left.
 */
type TakeOver = (records: readonly CallRecord[], lapses: number, isWhole: boolean) => Promise<void>

interface ClaimLoopPorts {
  /** Fence of the execution that runs the call here, or null. */
  readonly fenceHere: (uid: string) => number | null
  readonly takeOver: TakeOver
}

const noCalls: ReadonlyMap<string, CallPosition> = new Map()

export class ClaimLoop {
  readonly #host: EngineState
  readonly #fenceHere: (uid: string) => number | null
  readonly #takeOver: TakeOver
  readonly #orphans = new Map<string, CallPosition>()
  /** A claim failed, so calls may have been claimed without our knowledge. */
  #isClaimUncertain = false
  #sweeping: Promise<void> | null = null
  #sweepAgain = false
  #stopped = false

  constructor(host: EngineState, ports: ClaimLoopPorts) {
    this.#host = host
    this.#fenceHere = ports.fenceHere
    this.#takeOver = ports.takeOver
  }

  /** A write failed, so the record is uncertain: release the call as soon as the store answers. */
  addOrphan({ uid, position }: { uid: string; position: CallPosition }): void {
    this.#orphans.set(uid, position)
  }

  /** For a process that never claims: other workers resume the calls, so nothing here waits for them. */
  dropOrphans(): void {
    for (const position of this.#orphans.values()) this.#host.drivers.onGone(position)
    this.#orphans.clear()
  }

  isOrphan(uid: string): boolean {
    return this.#orphans.has(uid)
  }

  /** One sweep at a time; a hint during a sweep triggers another. */
  sweep(): Promise<void> {
    this.#sweepAgain = true
    this.#sweeping ??= (async () => {
      try {
        let isRest = false
        while (this.#sweepAgain && !this.#stopped) {
          this.#sweepAgain = false
          if (this.#isClaimUncertain) await this.#findUndriven()
          const released = this.#orphans.size > 0 ? await this.#release() : noCalls
          const { lapses } = this.#host.lease
          const limit = this.#host.lease.workers > 1 ? pageSize : alonePageSize
          const claimed = await this.#claim(limit)
          const taken = new Set(released.size > 0 ? claimed.map(({ uid }) => uid) : [])
          for (const [uid, position] of released) if (!taken.has(uid)) this.#host.drivers.onGone(position)
          const isFull = claimed.length >= limit
          await this.#takeOver(claimed, lapses, !isFull && !isRest)
          isRest = isFull
          if (isFull) this.#sweepAgain = true
        }
      } finally {
        this.#sweeping = null
      }
    })()
    return this.#sweeping
  }

  async #claim(limit: number): Promise<CallRecord[]> {
    try {
      return await this.#host.store.claim(this.#host.lease.worker, this.#host.drivers.tools(), limit)
    } catch (error) {
      this.#isClaimUncertain = true
      throw error
    }
  }

  /** A claim that failed may have been committed: marks calls we own but do not run as orphans. */
  async #findUndriven(): Promise<void> {
    const { store, lease } = this.#host
    for (let after = ''; ;) {
      const open = await store.unsettled({ after, limit: pageSize })
      for (const { uid, owner, position } of open)
        if (owner === lease.worker && (this.#fenceHere(uid) === null || !(await this.#isDriven(uid))))
          this.#orphans.set(uid, position)
      if (open.length < pageSize) break
      after = open.at(-1)?.uid ?? ''
    }
    this.#isClaimUncertain = false
  }

  /** False if the execution here has an older fence: the call was lost and claimed back. */
  async #isDriven(uid: string): Promise<boolean> {
    const record = await unlessUnreadable(
      () => this.#host.store.call(uid),
      () => {},
    )
    return !record || record.fence === this.#fenceHere(uid)
  }

  /** Starts no more sweeps and waits for the current one. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#sweeping?.catch(() => {})
  }

  /** Releases the orphans with their recorded progress, so that they can be claimed again. */
  async #release(): Promise<ReadonlyMap<string, CallPosition>> {
    const { store, lease } = this.#host
    const released = new Map<string, CallPosition>()
    for (const [uid, position] of this.#orphans) {
      // An unreadable record is left alone and must not block the other orphans.
      const record = await unlessUnreadable(
        () => store.call(uid),
        () => {},
      )
      if (
        record &&
        record.state !== 'settled' &&
        record.owner === lease.worker &&
        this.#fenceHere(uid) !== record.fence
      ) {
        const guard = { kind: 'holds', call: uid, fence: record.fence } as const
        await store.commit({
          guards: [guard],
          updateCall: { uid, progress: progressOf(record), release: true },
          events: [],
        })
      }
      this.#orphans.delete(uid)
      released.set(uid, position)
    }
    return released
  }
}
