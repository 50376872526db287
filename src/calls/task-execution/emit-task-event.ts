// ctx.emit (TASK-7): a task tells an event that its tool declares, once for each key or place in the body, however often the body runs. One that
// is declared as terminal ends the task, also when its worker dies before the body has ended.

import type { Execution, ToSettle } from '../../engine/engine.ts'
import { emittedName } from '../../store/records/task-record.ts'
import { PawlError } from '../../core/errors.ts'
import { failure } from '../../core/outcome.ts'
import { bytesIn, fits } from '../../core/size-limits.ts'
import { decode, encode, type Json } from '../../core/value.ts'
import { successOf } from '../../tools/result.ts'
import type { ToolContext } from '../../tools/context/context.ts'
import type { Around } from '../context/call-environment.ts'
import { describeProblems } from '../admission/read-arguments.ts'
import { untold } from '../authorization/known-connections.ts'
import type { Inside } from '../context/call-environment.ts'
import type { RunOfTask } from './task-run.ts'

const terminalKey = 'emitted'

export function emitting(around: Around, run: RunOfTask | null, inside: Inside): ToolContext['emit'] {
  const { execution, tool, host } = around
  let count = 0
  return async (type, payload, { key } = {}) => {
    inside.leaf('emit')
    inside.entry()
    const place = ++count
    const declared = run && typeof type === 'string' ? tool.events.get(type) : undefined
    if (!run) throw new PawlError('emit_invalid', 'This is not a task: nobody would hear of it.')
    if (!declared) {
      const known = [...tool.events.keys()].map((each) => `'${each}'`).join(', ')
      throw new PawlError(
        'emit_invalid',
        `Tool '${tool.name}' declares no event ${JSON.stringify(type)}; it declares ${known || 'none'}.`,
      )
    }
    if (key !== undefined && (typeof key !== 'string' || key.trim() === '' || key.length > 256))
      throw new PawlError('emit_invalid', 'The key of an event must be a text of 1 to 256 characters.')
    const said = encode(payload ?? null)
    const checked = declared.schema ? await declared.schema.check(decode(said)) : null
    if (checked && !checked.ok)
      throw new PawlError(
        'emit_invalid',
        `The payload of '${type}' is not as declared: ${describeProblems(checked.problems)}`,
      )
    // As a result, it does not hold what the body was told in confidence.
    const value = encode(untold(decode(said), around.connections))
    if (!fits(value, host.sizes.step))
      throw new PawlError(
        'emit_invalid',
        `The payload has ${bytesIn(value)} bytes; at most ${host.sizes.step} are kept.`,
      )
    const id = declared.terminal ? terminalKey : key === undefined ? `emit:${place}` : `emit:key:${key}`
    // Without a key the place in the body names it, and what it says may differ from run to run.
    const input = declared.terminal || key !== undefined ? encode({ type, payload: decode(value) }) : null
    try {
      await execution.run({ key: id, input, once: false }, async () => {
        inside.leaf('emit') // what is not recorded is not kept beside it either
        const { position } = execution.request
        const { id: task } = run.terms
        // In the order in which they are told, over all attempts: one may begin where the one before had come to.
        const number = run.run.emitted + 1
        run.update({ emitted: number })
        run.gather()
        const row = { type, payload: JSON.parse(value) as Json, at: host.clock.now() }
        const kept = { ...emittedName(position, task, number), value: JSON.stringify(row) }
        const notice = declared.wake
          ? run.notice('event', `${type}: ${host.redact.text(value)}`)
          : { documents: [], tells: [] }
        return {
          done: declared.terminal ? encode({ ended: declared.terminal, payload: decode(value) }) : 'null',
          beside: {
            documents: [kept, ...notice.documents],
            tells: [{ type: 'task.event', body: { task, type, number } }, ...notice.tells],
          },
        }
      })
      // From here on it is over, whatever its body still does.
      const told = declared.terminal ? endedBy(execution) : null
      if (told) around.pace?.told(told)
    } catch (error) {
      if (error instanceof PawlError && error.code === 'replay_mismatch')
        throw new PawlError(
          'emit_conflict',
          declared.terminal ? 'The task has ended with another event.' : `The key is '${key}'.`,
          {
            cause: error,
          },
        )
      throw error
    }
  }
}

/** How a task ends that has said so itself; null if it has not. */
export function endedBy(execution: Execution): ToSettle | null {
  const said = execution.options.task ? execution.recorded(terminalKey) : null
  if (!said || !('done' in said)) return null
  const { ended, payload } = decode(said.done) as { ended: 'succeeded' | 'failed'; payload: Json }
  if (ended === 'succeeded') return { settle: successOf(payload) }
  const { message } = (typeof payload === 'object' && payload !== null ? payload : {}) as { message?: unknown }
  return {
    settle: failure({
      class: 'execution',
      code: 'tool_error',
      message:
        typeof message === 'string' ? message : typeof payload === 'string' ? payload : 'The task said that it failed',
      source: 'tool',
      raw: payload,
    }),
  }
}
