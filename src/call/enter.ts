// The queue stage seen from a call: its turn, its clocks while it waits, and what it means when it does not come.

import type { Invocation, ToSettle } from '../engine/engine.ts'
import { failure } from '../kernel/outcome.ts'
import type { Soon } from '../kernel/soon.ts'
import type { Clock } from '../kernel/time.ts'
import type { Json } from '../kernel/value.ts'
import type { Tool } from '../tool/tool.ts'
import { outcomeOfStop } from './attempt.ts'
import { type ClockName, clockMs, tooLateAt } from './clocks.ts'
import type { CallHost } from './host.ts'
import type { Refused, Slot } from './queue.ts'
import { settleThrown } from './settle.ts'

/** At once, if it is free to run. */
export function enterQueue(invocation: Invocation, tool: Tool, args: Json, host: CallHost): Soon<{ slot: Slot } | ToSettle> {
  const { request, options } = invocation
  let key: string | null = null
  if (tool.concurrency.kind === 'keyed') {
    try {
      key = tool.concurrency.key(args)
      if (typeof key !== 'string') throw new TypeError(`The key function of '${tool.name}' gave ${typeof key}, not a string`)
    } catch (error) {
      return { settle: settleThrown(error, invocation, host) }
    }
  }
  const { uid, position } = request
  const entry = { uid, position, order: options.order ?? 0, tool, key, root: options.root ?? uid }
  const patience = new Patience(invocation, tool, host)
  const turn = host.queue.enter(entry, patience.onStop)
  return turn instanceof Promise ? turn.then((given) => entered(given, patience)) : entered(turn, patience)
}

function entered(turn: Slot | Refused, patience: Patience): { slot: Slot } | ToSettle {
  if (typeof turn === 'object') return { slot: turn }
  if (turn !== 'stopped') return { settle: failure({ class: 'resource_limit', ...refusals[turn] }) }
  const why = patience.invocation.stopped
  if (why && 'over' in why) throw why.over
  return outcomeOfStop(why ?? patience.ranOut ?? 'queue', false)
}

/** How long a call waits for its turn. */
class Patience {
  readonly invocation: Invocation
  ranOut: ClockName | null = null
  readonly #clock: Clock
  /** Instants, not spans: whatever it waits for one after the other, the clock goes on. */
  readonly #queueUntil: number | undefined
  readonly #lateAt: number | undefined

  constructor(invocation: Invocation, tool: Tool, { clock }: CallHost) {
    const { options, request } = invocation
    this.invocation = invocation
    this.#clock = clock
    const queueMs = clockMs('queue', options, tool.clocks)
    this.#queueUntil = queueMs === undefined ? undefined : clock.now() + queueMs
    this.#lateAt = tooLateAt(request.createdAt, options, tool.clocks)
  }

  readonly onStop = (stop: () => void): (() => void) => {
    const callOff = [this.invocation.onStop(stop)]
    const clock = (name: ClockName, until: number | undefined): void => {
      if (until === undefined) return
      callOff.push(
        this.#clock.timer(until - this.#clock.now(), () => {
          this.ranOut = name
          stop()
        }),
      )
    }
    clock('queue', this.#queueUntil)
    clock('total', this.#lateAt)
    return () => {
      for (const each of callOff) each()
    }
  }
}

const refusals = {
  overloaded: { code: 'overloaded', message: 'Too many calls are waiting; this one was not started. Try again later.' },
  would_deadlock: {
    code: 'would_deadlock',
    message: 'This call and the one that holds its key would wait for each other for ever; it was not started.',
  },
} as const
