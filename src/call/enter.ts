// The queue stage seen from a call: its turn, its clocks while it waits, and what it means when it does not come.

import type { Invocation, ToSettle } from '../engine/engine.ts'
import { failure } from '../kernel/outcome.ts'
import { frame } from '../kernel/id.ts'
import type { CallPosition } from '../journal/call-state.ts'
import type { Json } from '../kernel/value.ts'
import type { Tool } from '../tool/tool.ts'
import { outcomeOfStop } from './attempt.ts'
import { type ClockName, clockMs, tooLateAt } from './clocks.ts'
import type { CallHost } from './host.ts'
import type { Slot } from './queue.ts'
import { settleThrown } from './settle.ts'

export const batchOf = ({ tenant, session, batch }: CallPosition): string => frame(tenant, session, batch)

export async function enterQueue(invocation: Invocation, tool: Tool, args: Json, host: CallHost): Promise<{ slot: Slot } | ToSettle> {
  const { request, options } = invocation
  const { tenant, session } = request.position
  let key: string | null = null
  if (tool.concurrency.kind === 'keyed') {
    try {
      key = tool.concurrency.key(args)
      if (typeof key !== 'string') throw new TypeError(`The key function of '${tool.name}' gave ${typeof key}, not a string`)
    } catch (error) {
      return { settle: settleThrown(error, invocation, host) }
    }
  }
  let ranOut: ClockName | null = null
  const callOff: (() => void)[] = []
  // Instants, not spans: whatever it waits for one after the other, the clock goes on.
  const queueMs = clockMs('queue', options, tool.clocks)
  const queueUntil = queueMs === undefined ? undefined : host.clock.now() + queueMs
  const lateAt = tooLateAt(request.createdAt, options, tool.clocks)
  const onStop = (stop: () => void): (() => void) => {
    callOff.push(invocation.onStop(stop))
    const clock = (name: ClockName, until: number | undefined): void => {
      if (until === undefined) return
      callOff.push(
        host.clock.timer(until - host.clock.now(), () => {
          ranOut = name
          stop()
        }),
      )
    }
    clock('queue', queueUntil)
    clock('total', lateAt)
    return () => {
      for (const each of callOff.splice(0)) each()
    }
  }
  const entry = {
    uid: request.uid,
    tenant,
    session,
    batch: batchOf(request.position),
    order: options.order ?? 0,
    tool,
    key,
    root: options.root ?? request.uid,
  }
  const turn = await host.queue.enter(entry, onStop)
  if (typeof turn === 'object') return { slot: turn }
  if (turn === 'stopped') {
    const why = invocation.stopped
    if (why && 'over' in why) throw why.over
    return outcomeOfStop(why ?? (ranOut as ClockName | null) ?? 'queue', false)
  }
  return { settle: failure({ class: 'resource_limit', ...refusals[turn] }) }
}

const refusals = {
  overloaded: { code: 'overloaded', message: 'Too many calls are waiting; this one was not started. Try again later.' },
  would_deadlock: {
    code: 'would_deadlock',
    message: 'This call and the one that holds its key would wait for each other for ever; it was not started.',
  },
} as const
