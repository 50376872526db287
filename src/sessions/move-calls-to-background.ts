// Watches the calls of open batches for moves to the background: after the delay set by the run or the tool, or
// because this or another worker moved the call. Only tools that can run in the background are watched.

import { PawlError } from '../core/errors.ts'
import type { Clock } from '../core/clock.ts'
import type { Outcome } from '../core/outcome.ts'
import { isTerminal } from '../core/task-state.ts'
import type { Json } from '../core/tool-value.ts'
import type { Scope } from '../core/scope.ts'
import type { Hint, Store } from '../store/store.ts'
import type { Task } from '../tools/context/task-interfaces.ts'
import type { NewCall } from '../engine/engine.ts'
import type { CallAsk } from './call-request.ts'
import type { Batch } from './collect-outcomes.ts'

interface MovesHost {
  readonly store: Pick<Store, 'onHint'>
  readonly clock: Clock
  /** The task that a call became, if it was moved. */
  movedTo(of: Scope, uid: string): Promise<Task | undefined>
  /** True if the notice of that task's end has not been delivered yet. */
  isNoticePending(of: Scope, uid: string): Promise<boolean>
  /** Moves the call to the background. Null if it has settled. */
  move(request: NewCall, uid: string): Promise<Task | null>
  warn(message: string, fields: Record<string, unknown>): void
}

interface MoveWatch {
  stop(): void
  /**
   * For a call that has ended: the task handle if it was moved while the batch waited (a notice delivers the result),
   * undefined otherwise.
   */
  handleIfMoved(): Promise<Outcome | undefined>
}

/** Polling interval after writes of other processes: they are frequent, and a move is not urgent. */
const pollMs = 1_000

export class BackgroundMoves {
  readonly #host: MovesHost
  /** By call uid: several batches may wait for one call. */
  readonly #watched = new Map<string, Set<() => void>>()
  readonly #stopListening: () => void
  /** Cancel functions of pending timers: the poll of all calls, and retries of single calls. */
  readonly #pendingTimers = new Set<() => void>()
  #isPollScheduled = false

  constructor(host: MovesHost) {
    this.#host = host
    this.#stopListening = host.store.onHint((hint) => this.#onHint(hint))
  }

  /** Returns undefined if the tool cannot run in the background. */
  watch(
    batch: Batch,
    order: number,
    { uid, ended = false }: { readonly uid: string; readonly ended?: boolean },
    onMoved: (handle: Outcome) => void,
  ): MoveWatch | undefined {
    const { name } = batch.calls[order] as CallAsk
    const tool = batch.options.root === undefined ? batch.options.tools.get(name) : undefined
    if (!tool?.background) return undefined
    const request = batch.requests[order] as NewCall
    const { clock, movedTo, isNoticePending, move } = this.#host
    let isStopped = false
    // A task that has already ended is reported by its outcome, not by a handle.
    const report = (task: Task | null | undefined): void => {
      if (task && !isStopped && !isTerminal(task.state)) onMoved(taskHandle(task))
    }
    /** Retries until the call ends if the store does not answer. */
    const attempt = (operation: () => Promise<Task | null | undefined>): void =>
      void operation().then(report, (error: unknown) => {
        // A session that has ended accepts no new tasks.
        if (isStopped || (error instanceof PawlError && error.code === 'session_ended')) return
        this.#host.warn('Moving a call to the background failed; retrying', { call: uid, error })
        this.#schedule(pollMs, () => void (isStopped || attempt(operation)))
      })
    const findTask = (): Promise<Task | undefined> => movedTo(request.position, uid)
    const check = (): void => attempt(findTask)
    const checks = this.#watched.get(uid) ?? new Set()
    this.#watched.set(uid, checks.add(check))
    // After a restart the call may have been moved long ago.
    check()
    const delayMs = Math.min(batch.options.backgroundMs ?? Infinity, tool.afterMs ?? Infinity)
    const cancelTimer = delayMs === Infinity ? () => {} : clock.timer(delayMs, () => attempt(() => move(request, uid)))
    return {
      stop: () => {
        isStopped = true
        cancelTimer()
        checks.delete(check)
        if (checks.size === 0 && this.#watched.get(uid) === checks) this.#watched.delete(uid)
      },
      async handleIfMoved() {
        // A call that had already ended returns its outcome, unless its notice is pending and would deliver it a
        // second time.
        if (ended && !(batch.options.receivesNotices && (await isNoticePending(request.position, uid))))
          return undefined
        const task = await findTask()
        return task && taskHandle(task)
      },
    }
  }

  /** Called after this worker moved the call. */
  check(uid: string): void {
    for (const look of this.#watched.get(uid) ?? []) look()
  }

  close(): void {
    this.#stopListening()
    for (const cancelTimer of this.#pendingTimers) cancelTimer()
    this.#watched.clear()
  }

  #schedule(ms: number, run: () => void): void {
    const cancelTimer = this.#host.clock.timer(ms, () => {
      this.#pendingTimers.delete(cancelTimer)
      run()
    })
    this.#pendingTimers.add(cancelTimer)
  }

  #onHint({ outside }: Hint): void {
    if (!outside || this.#watched.size === 0 || this.#isPollScheduled) return
    this.#isPollScheduled = true
    this.#schedule(pollMs, () => {
      this.#isPollScheduled = false
      for (const uid of this.#watched.keys()) this.check(uid)
    })
  }
}

/** The result the model reads in place of the outcome. */
function taskHandle({ id, title, tool }: Task): Outcome {
  const value: Json = {
    task_id: id,
    title,
    tool,
    status: 'running',
    note: 'It goes on in the background. Go on without it and do not ask for it again: what comes of it will be told in a notice of the runtime.',
  }
  return { status: 'success', value }
}
