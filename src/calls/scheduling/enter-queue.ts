// The queue stage seen from a call: its turn, its clocks while it waits, and what it means when it does not come.

import type { Execution, NoRoom, ToSettle } from '../../engine/engine.ts'
import { PawlError } from '../../core/errors.ts'
import { failure } from '../../core/outcome.ts'
import type { CallPosition } from '../../store/records/call-record.ts'
import type { TaskTerms } from '../../store/records/task-terms.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { Clock } from '../../core/clock.ts'
import { type Json, recorded } from '../../core/value.ts'
import type { Tool } from '../../tools/tool.ts'
import { type Asking, contained } from '../host-callback.ts'
import { notStarted } from '../attempts/stop-outcome.ts'
import { type ClockName, clockMs, tooLateAt } from '../attempts/timeouts.ts'
import { settleThrown } from '../attempts/error-to-outcome.ts'
import type { Entry, Refused, Slot } from './slot.ts'

/** At once, if it is free to run. */
export function enterQueue(asking: Asking, args: Json): MaybePromise<{ slot: Slot } | ToSettle> {
  const { execution, tool, host } = asking
  let key: string | null = null
  if (tool.concurrency.kind === 'keyed') {
    const { key: keyOf } = tool.concurrency
    try {
      key = contained('A key function', asking, () => keyOf(recorded(args)))
      if (typeof key !== 'string')
        throw new TypeError(`The key function of '${tool.name}' gave ${typeof key}, not a string`)
    } catch (error) {
      return { settle: settleThrown(error, execution, host) }
    }
  }
  const waiting = new Waiting(execution, tool, key, host.clock)
  const turn = host.queue.enter(waiting)
  return turn instanceof Promise ? turn.then((given) => entered(given, waiting)) : entered(turn, waiting)
}

function entered(turn: Slot | Refused, { execution, ranOut }: Waiting): { slot: Slot } | ToSettle {
  if (typeof turn === 'object') return { slot: turn }
  if (turn === 'batch_failed') return notStarted({ cancel: 'A call before it in its batch failed', by: null })
  if (turn !== 'stopped') return { settle: failure({ class: 'resource_limit', ...refusals[turn] }) }
  return notStarted(execution.stopped ?? ranOut ?? 'queue')
}

/** Refused a place that other workers have: holds nothing while it stands in line for it, then asks again. */
export async function enterAgain(
  { execution, host }: Asking,
  slot: Slot,
  lacks: NoRoom,
): Promise<{ slot: Slot } | ToSettle> {
  const waiting = slot.entry as Waiting
  slot.done()
  if (!host.queue.beginsToWait(waiting)) return entered('overloaded', waiting)
  waiting.admitted = true
  const abort = new AbortController()
  const forget = waiting.onStop(() => abort.abort())
  try {
    await execution.places.awaitRoom(slot.places, lacks, abort.signal)
  } catch (error) {
    if (error instanceof PawlError && error.code === 'would_deadlock') return entered('would_deadlock', waiting)
    throw error
  } finally {
    forget()
    host.queue.hasWaited()
  }
  return abort.signal.aborted ? entered('stopped', waiting) : entered(await host.queue.enter(waiting), waiting)
}

/** A task that follows others: nothing of it happens, and nobody is asked about it, until they have settled; whatever they wait for meanwhile. */
export function followed(asking: Asking): MaybePromise<ToSettle | null> {
  const { options, stopped, attempt } = asking.execution
  const { after } = options.task ?? {}
  return after === undefined || stopped || attempt > 0 ? null : afterThose(asking, after)
}

async function afterThose({ execution, tool, host }: Asking, before: readonly string[]): Promise<ToSettle | null> {
  const waiting = new Waiting(execution, tool, null, host.clock)
  const abort = new AbortController()
  const forget = waiting.onStop(() => abort.abort())
  const tasks = host.tasks(execution)
  try {
    // One that is forgotten has settled.
    for (const id of before) if (await tasks.get(id)) await tasks.wait(id, { signal: abort.signal })
  } catch (error) {
    if (abort.signal.aborted) return notStarted(execution.stopped ?? waiting.ranOut ?? 'queue')
    // The store or the runtime is away. It decides nothing by that: whoever takes it up waits again.
    if (error instanceof PawlError) execution.end(error)
    throw error
  } finally {
    forget()
  }
  return null
}

const none: readonly string[] = []

/** The calls it runs under, the outermost first. */
export function aboveOf({ options: { root, above } }: Pick<Execution, 'options'>): readonly string[] {
  return root === undefined ? none : above === undefined ? [root] : [root, ...above]
}

/** It waits for somebody and has no place yet: what it runs under may wait as well. */
export function parkedAhead({ execution, host }: Pick<Asking, 'execution' | 'host'>): void {
  const above = aboveOf(execution)
  if (above.length > 0) host.queue.families.left({ uid: execution.request.uid, above })
}

/** A call in the queue, and how long it stays there. */
class Waiting implements Entry {
  readonly execution: Execution
  readonly tool: Tool
  readonly key: string | null
  ranOut: ClockName | null = null
  /** Its body had begun before, it stood in line long enough, or it is a task. */
  admitted: boolean
  readonly #clock: Clock
  /** An instant, not a span: whatever it waits for one after the other, the clock goes on. */
  #until: number | undefined

  constructor(execution: Execution, tool: Tool, key: string | null, clock: Clock) {
    this.execution = execution
    this.tool = tool
    this.key = key
    this.#clock = clock
    // A task is on record, and waits as long as it takes: nobody is refused who could try again.
    this.admitted = execution.attempt > 0 || execution.options.task !== undefined
  }

  get uid(): string {
    return this.execution.request.uid
  }
  get position(): CallPosition {
    return this.execution.request.position
  }
  get above(): readonly string[] {
    return aboveOf(this.execution)
  }
  get task(): TaskTerms | undefined {
    return this.execution.options.task
  }

  onStop(stop: () => void): () => void {
    const { options } = this.execution
    const { clocks } = this.tool
    this.#until ??= this.#clock.now() + (clockMs('queue', options, clocks) ?? Infinity)
    const callOff = [this.execution.onStop(stop)]
    const clock = (name: ClockName, until: number | undefined): void => {
      if (until === undefined || until === Infinity) return
      callOff.push(
        this.#clock.timer(until - this.#clock.now(), () => {
          this.ranOut = name
          stop()
        }),
      )
    }
    clock('queue', this.#until)
    clock('total', tooLateAt(this.execution, clocks))
    return () => {
      for (const each of callOff) each()
    }
  }
}

const refusals = {
  overloaded: { code: 'overloaded', message: 'Too many calls are waiting; this one was not started. Try again later.' },
  would_deadlock: {
    code: 'would_deadlock',
    message: 'This call and those that hold what it needs would wait for each other for ever; it was not started.',
  },
} as const
