// Calls that go on in the background while a batch waits for them: after a time that a rule says, or because somebody moved them, here or on another
// worker. Only tools that can run in the background are watched.

import type { Clock } from '../kernel/time.ts'
import type { Outcome } from '../kernel/outcome.ts'
import type { Json } from '../kernel/value.ts'
import type { Hint, Store } from '../store/store.ts'
import type { Task } from '../tool/task.ts'
import type { Asked } from '../engine/engine.ts'
import type { CallAsk } from './ask.ts'
import type { Batch } from './gather.ts'

interface MovesHost {
  readonly store: Pick<Store, 'onHint'>
  readonly clock: Clock
  /** The task that a call became, if it did. */
  movedTo(of: { tenant: string; session: string }, uid: string): Promise<Task | undefined>
  /** Makes it one. Null if it has settled. */
  move(asked: Asked, uid: string): Promise<Task | null>
  warn(message: string, fields: Record<string, unknown>): void
}

/** Other processes write often; that one of them moved a call is not urgent. */
const lookMs = 1_000

export class Moves {
  readonly #host: MovesHost
  readonly #watched = new Map<string, () => void>()
  readonly #stopListening: () => void
  #callOff: (() => void) | null = null

  constructor(host: MovesHost) {
    this.#host = host
    this.#stopListening = host.store.onHint((hint) => this.#hinted(hint))
  }

  /** Undefined if its tool cannot run in the background. What it gives back stops watching. */
  watch(batch: Batch, order: number, uid: string, moved: (handle: Outcome) => void): (() => void) | undefined {
    const { name } = batch.calls[order] as CallAsk
    const tool = batch.how.root === undefined ? batch.how.tools.get(name) : undefined
    if (!tool?.background) return undefined
    const asked = batch.asks[order] as Asked
    const { clock, movedTo, move } = this.#host
    const failed = (error: unknown): void => this.#host.warn('A call could not be moved to the background', { call: uid, error })
    const told = (task: Task | null | undefined): void => {
      if (task) moved(handleOf(task))
    }
    const look = (): void => void movedTo(asked.position, uid).then(told, failed)
    this.#watched.set(uid, look)
    // Asked for again after a restart, it may have been moved long ago.
    look()
    const afterMs = Math.min(batch.how.backgroundMs ?? Infinity, tool.afterMs ?? Infinity)
    const callOff = afterMs === Infinity ? () => {} : clock.timer(afterMs, () => void move(asked, uid).then(told, failed))
    return () => {
      callOff()
      if (this.#watched.get(uid) === look) this.#watched.delete(uid)
    }
  }

  /** Somebody here moved it. */
  look(uid: string): void {
    this.#watched.get(uid)?.()
  }

  close(): void {
    this.#stopListening()
    this.#callOff?.()
    this.#watched.clear()
  }

  #hinted({ outside }: Hint): void {
    if (!outside || this.#watched.size === 0 || this.#callOff) return
    this.#callOff = this.#host.clock.timer(lookMs, () => {
      this.#callOff = null
      for (const look of this.#watched.values()) look()
    })
  }
}

/** What the model reads in place of a result. */
function handleOf({ id, title, tool }: Task): Outcome {
  const value: Json = {
    task_id: id,
    title,
    tool,
    status: 'running',
    note: 'It goes on in the background. Go on without it and do not ask for it again: what comes of it will be told in a notice of the runtime.',
  }
  return { status: 'success', value }
}
