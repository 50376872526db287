// Looking for work: calls that want a worker and have none, because theirs died, gave them back, or was woken by an answer. And calls
// that are on record as ours although we no longer drive them, because a write failed: they are let go of first.

import { type CallPosition, type CallRecord, progressOf } from '../../store/records/call-record.ts'
import type { EngineState } from './engine-state.ts'
import { unlessUnreadable } from '../../store/read-or-report.ts'

const page = 64
/** Nobody else is there who could take some of them. */
const alonePage = 512

/** Goes on with claimed calls. They were surely ours at this lapse of the lease; should there be another meanwhile, they may not be. */
type Take = (records: readonly CallRecord[], lapses: number) => Promise<void>

interface SweepHost {
  readonly tools: () => readonly string[]
  /** The fence of the execution that drives it here. */
  readonly drives: (uid: string) => number | null
  readonly take: Take
  /** A call that was ours is nobody's here any more: another has it, or it is over, or never came on record. */
  readonly gone: (position: CallPosition) => void
}

const none: ReadonlyMap<string, CallPosition> = new Map()

export class ClaimLoop {
  readonly #host: EngineState
  readonly #tools: () => readonly string[]
  readonly #drives: (uid: string) => number | null
  readonly #take: Take
  readonly #orphans = new Map<string, CallPosition>()
  readonly #gone: (position: CallPosition) => void
  /** A claim had no answer. */
  #lost = false
  #sweeping: Promise<void> | null = null
  #again = false
  #stopped = false

  constructor(host: EngineState, how: SweepHost) {
    this.#host = host
    this.#tools = how.tools
    this.#drives = how.drives
    this.#take = how.take
    this.#gone = how.gone
  }

  /** A write failed and nobody knows what is on record: to be let go of as soon as the store answers. */
  orphaned({ uid, position }: { uid: string; position: CallPosition }): void {
    this.#orphans.set(uid, position)
  }

  /** For who never claims: others do, and nothing here waits for them. */
  giveUp(): void {
    for (const position of this.#orphans.values()) this.#gone(position)
    this.#orphans.clear()
  }

  isOrphan(uid: string): boolean {
    return this.#orphans.has(uid)
  }

  /** One sweep at a time; a hint during one makes another. */
  sweep(): Promise<void> {
    this.#again = true
    this.#sweeping ??= (async () => {
      try {
        while (this.#again && !this.#stopped) {
          this.#again = false
          if (this.#lost) await this.#findOwn()
          const released = this.#orphans.size > 0 ? await this.#release() : none
          const { lapses } = this.#host.lease
          const limit = this.#host.lease.workers > 1 ? page : alonePage
          const claimed = await this.#claim(limit)
          const taken = new Set(released.size > 0 ? claimed.map(({ uid }) => uid) : [])
          for (const [uid, position] of released) if (!taken.has(uid)) this.#gone(position)
          await this.#take(claimed, lapses)
          if (claimed.length >= limit) this.#again = true
        }
      } finally {
        this.#sweeping = null
      }
    })()
    return this.#sweeping
  }

  async #claim(limit: number): Promise<CallRecord[]> {
    try {
      return await this.#host.store.claim(this.#host.lease.worker, this.#tools(), limit)
    } catch (error) {
      this.#lost = true
      throw error
    }
  }

  /** A claim whose answer was lost may have been made: what is ours on record and nobody drives is let go of. */
  async #findOwn(): Promise<void> {
    const { store, lease } = this.#host
    for (let after = ''; ;) {
      const open = await store.unsettled({ after, limit: page })
      for (const { uid, owner, position } of open)
        if (owner === lease.worker && (this.#drives(uid) === null || !(await this.#isDriven(uid))))
          this.#orphans.set(uid, position)
      if (open.length < page) break
      after = open.at(-1)?.uid ?? ''
    }
    this.#lost = false
  }

  /** One that was lost and claimed back is not driven by what is left of the lost execution. */
  async #isDriven(uid: string): Promise<boolean> {
    const record = await unlessUnreadable(
      () => this.#host.store.call(uid),
      () => {},
    )
    return !record || record.fence === this.#drives(uid)
  }

  /** Starts no more, and waits for the one under way. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#sweeping?.catch(() => {})
  }

  /** As they stand on record, so that they can be claimed again. */
  async #release(): Promise<ReadonlyMap<string, CallPosition>> {
    const { store, lease } = this.#host
    const released = new Map<string, CallPosition>()
    for (const [uid, position] of this.#orphans) {
      // One that cannot be opened stays as it is; what else waits to be let go of is.
      const record = await unlessUnreadable(
        () => store.call(uid),
        () => {},
      )
      if (record && record.state !== 'settled' && record.owner === lease.worker && this.#drives(uid) !== record.fence) {
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
