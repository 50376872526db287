// Calls that go on in the background while a batch waits for them: after a time that a rule says, or because somebody moved them, here or on another
// worker. Only tools that can run in the background are watched.

import { PawlError } from '../core/errors.ts'
import type { Clock } from '../core/clock.ts'
import type { Outcome } from '../core/outcome.ts'
import { isTerminal } from '../core/task-state.ts'
import type { Json } from '../core/value.ts'
import type { Hint, Store } from '../store/store.ts'
import type { Task } from '../tools/context/tasks.ts'
import type { Asked } from '../engine/engine.ts'
import type { CallAsk } from './call-request.ts'
import type { Batch } from './collect-outcomes.ts'

interface MovesHost {
  readonly store: Pick<Store, 'onHint'>
  readonly clock: Clock
  /** The task that a call became, if it did. */
  movedTo(of: { tenant: string; session: string }, uid: string): Promise<Task | undefined>
  /** Whether the end of that task is still to be told in a notice. */
  isUntold(of: { tenant: string; session: string }, uid: string): Promise<boolean>
  /** Makes it one. Null if it has settled. */
  move(asked: Asked, uid: string): Promise<Task | null>
  warn(message: string, fields: Record<string, unknown>): void
}

interface Watching {
  stop(): void
  /** Of a call that has ended: if it was moved while it was waited for, its result is told in a notice, and here is the handle. */
  meanwhile(): Promise<Outcome | undefined>
}

/** Other processes write often; that one of them moved a call is not urgent. */
const lookMs = 1_000

export class BackgroundMoves {
  readonly #host: MovesHost
  /** By call: several runs may wait for one. */
  readonly #watched = new Map<string, Set<() => void>>()
  readonly #stopListening: () => void
  /** Looks that are to come: of all calls, and of one whose last look or move failed. */
  readonly #callOffs = new Set<() => void>()
  #soon = false

  constructor(host: MovesHost) {
    this.#host = host
    this.#stopListening = host.store.onHint((hint) => this.#hinted(hint))
  }

  /** Undefined if its tool cannot run in the background. */
  watch(
    batch: Batch,
    order: number,
    { uid, ended = false }: { readonly uid: string; readonly ended?: boolean },
    moved: (handle: Outcome) => void,
  ): Watching | undefined {
    const { name } = batch.calls[order] as CallAsk
    const tool = batch.how.root === undefined ? batch.how.tools.get(name) : undefined
    if (!tool?.background) return undefined
    const asked = batch.asks[order] as Asked
    const { clock, movedTo, isUntold, move } = this.#host
    let over = false
    // What has ended is told as what it is.
    const told = (task: Task | null | undefined): void => {
      if (task && !over && !isTerminal(task.state)) moved(handleOf(task))
    }
    /** Should the store not answer, it is asked again until the call has ended. */
    const asks = (ask: () => Promise<Task | null | undefined>): void =>
      void ask().then(told, (error: unknown) => {
        // In a session that has ended nothing becomes a task any more.
        if (over || (error instanceof PawlError && error.code === 'session_ended')) return
        this.#host.warn('A call could not be moved to the background; it is tried again', { call: uid, error })
        this.#after(lookMs, () => void (over || asks(ask)))
      })
    const found = (): Promise<Task | undefined> => movedTo(asked.position, uid)
    const look = (): void => asks(found)
    const looks = this.#watched.get(uid) ?? new Set()
    this.#watched.set(uid, looks.add(look))
    // Asked for again after a restart, it may have been moved long ago.
    look()
    const afterMs = Math.min(batch.how.backgroundMs ?? Infinity, tool.afterMs ?? Infinity)
    const callOff = afterMs === Infinity ? () => {} : clock.timer(afterMs, () => asks(() => move(asked, uid)))
    return {
      stop: () => {
        over = true
        callOff()
        looks.delete(look)
        if (looks.size === 0 && this.#watched.get(uid) === looks) this.#watched.delete(uid)
      },
      async meanwhile() {
        // Asked for again after its end it gives its outcome, except to who would be told of it once more.
        if (ended && !(batch.how.hears && (await isUntold(asked.position, uid)))) return undefined
        const task = await found()
        return task && handleOf(task)
      },
    }
  }

  /** Somebody here moved it. */
  look(uid: string): void {
    for (const look of this.#watched.get(uid) ?? []) look()
  }

  close(): void {
    this.#stopListening()
    for (const callOff of this.#callOffs) callOff()
    this.#watched.clear()
  }

  #after(ms: number, run: () => void): void {
    const callOff = this.#host.clock.timer(ms, () => {
      this.#callOffs.delete(callOff)
      run()
    })
    this.#callOffs.add(callOff)
  }

  #hinted({ outside }: Hint): void {
    if (!outside || this.#watched.size === 0 || this.#soon) return
    this.#soon = true
    this.#after(lookMs, () => {
      this.#soon = false
      for (const uid of this.#watched.keys()) this.look(uid)
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
