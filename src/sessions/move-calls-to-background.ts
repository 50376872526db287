// Watches the calls of open batches for moves to the background: after the delay set by the run or the tool, or
// because this or another worker moved the call. Only tools that can run in the background are watched.

import { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import { isTerminal } from '../core/task-state.ts'
import type { Json } from '../core/tool-value.ts'
import { adoptTask } from '../tasks/move-to-background.ts'
import { movedCallNotice } from '../tasks/notices.ts'
import type { BackgroundHost } from '../tasks/ports.ts'
import { readMovedTask } from '../tasks/read-task.ts'
import type { Task } from '../tools/context/task-interfaces.ts'
import type { NewCall } from '../engine/engine.ts'
import type { Tool } from '../tools/tool.ts'
import type { Batch } from './collect-outcomes.ts'

interface MoveWatch {
  stop(): void
  /**
   * For a call that has ended: the task handle if it was moved while the batch waited (a notice delivers the result),
   * undefined otherwise.
   */
  handleIfMoved(): Promise<Outcome | undefined>
}

export class BackgroundMoves {
  readonly #host: BackgroundHost

  constructor(host: BackgroundHost) {
    this.#host = host
  }

  /** `tool` can run in the background. */
  watch(
    batch: Batch,
    order: number,
    tool: Tool,
    { uid, ended = false }: { readonly uid: string; readonly ended?: boolean },
    onMoved: (handle: Outcome) => void,
  ): MoveWatch {
    const request = batch.requests[order] as NewCall
    const { clock, logger, movedCalls } = this.#host
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
        logger.warn('Moving a call to the background failed; retrying', { call: uid, error })
        movedCalls.retry(() => void (isStopped || attempt(operation)))
      })
    const findTask = (): Promise<Task | undefined> => readMovedTask(this.#host, request.position, uid)
    const check = (): void => attempt(findTask)
    const unwatch = movedCalls.watch(uid, check)
    // After a restart the call may have been moved long ago.
    check()
    const delayMs = Math.min(batch.options.backgroundMs ?? Infinity, tool.afterMs ?? Infinity)
    const cancelTimer =
      delayMs === Infinity ? () => {} : clock.timer(delayMs, () => attempt(() => this.#move(request, uid)))
    return {
      stop: () => {
        isStopped = true
        cancelTimer()
        unwatch()
      },
      handleIfMoved: async () => {
        // A call that had already ended returns its outcome, unless its notice is pending and would deliver it a
        // second time.
        if (ended && !batch.options.receivesNotices) return undefined
        if (ended && (await movedCallNotice(this.#host, request.position, uid)) !== 'to come') return undefined
        const task = await findTask()
        return task && taskHandle(task)
      },
    }
  }

  /** Null if the call has settled. */
  async #move({ position, principal }: NewCall, uid: string): Promise<Task | null> {
    const record = await this.#host.engine.recorded(position)
    return record?.uid === uid ? adoptTask(this.#host, { ...position, principal }, record, {}) : null
  }
}

/** The result the model reads in place of the outcome. */
function taskHandle({ id, title, tool }: Task): Outcome {
  const value: Json = {
    task_id: id,
    title,
    tool,
    status: 'running',
    note: 'It continues in the background. Continue without it and do not repeat the call: its result will arrive in a notice from the runtime.',
  }
  return { status: 'success', value }
}
