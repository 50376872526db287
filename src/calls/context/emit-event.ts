// ctx.triggers.emit emits an event to the subscriptions of the tenant. With ctx.emit a task emits an event that its tool declares, once per key or per position in the body, however often the
// body runs. A terminal event ends the task, even if its worker dies before the body has ended.

import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import type { Execution, ToSettle } from '../../engine/engine.ts'
import { PawlError } from '../../core/errors.ts'
import { failure } from '../../core/outcome.ts'
import { utf8Bytes, fits } from '../../core/size-limits.ts'
import { decode, encode, type Json, parseJson } from '../../core/tool-value.ts'
import { successOf } from '../../tools/result.ts'
import type { CompiledEvent } from '../../tools/background-options.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { describeProblems } from '../admission/read-arguments.ts'
import { withoutUsedSecrets } from '../authorization/used-connections.ts'
import { reporterOf } from '../task-execution/task-run.ts'
import type { CallEnvironment } from './call-environment.ts'
import { collections } from '../../store/collections.ts'
import { stepKeys } from '../../store/journal-keys.ts'

export function triggers(context: CallEnvironment): Pick<ToolContext, 'triggers'> {
  const { execution, host } = context
  let count = 0
  return {
    triggers: {
      async emit(event, payload, how = {}) {
        context.assertUsable('triggers.emit')
        context.countEntry()
        const key = how?.key ?? context.derive(`trigger:${++count}`, 24).toString('base64url')
        await context.endOnLoss(() =>
          host.trigger(execution, event, payload, {
            ...how,
            key,
            session: how?.session,
            placed: how?.key === undefined,
          }),
        )
      },
    },
  }
}

const emitOptions = { key: option.string } satisfies OptionTable<NonNullable<Parameters<ToolContext['emit']>[2]>>

export function taskEvents(context: CallEnvironment): Pick<ToolContext, 'emit'> {
  const { execution, tool, host } = context
  const reporter = reporterOf(execution)
  let count = 0
  const emit: ToolContext['emit'] = async (type, payload, options) => {
    checkOptions(options, emitOptions, 'ctx.emit()', 'emit_invalid')
    const key = options?.key
    context.assertUsable('emit')
    context.countEntry()
    const index = ++count
    const declared = reporter && typeof type === 'string' ? tool.events.get(type) : undefined
    if (!reporter) throw new PawlError('emit_invalid', 'ctx.emit is only available in a task.')
    if (!declared) {
      const known = [...tool.events.keys()].map((each) => `'${each}'`).join(', ')
      throw new PawlError(
        'emit_invalid',
        `Tool '${tool.name}' declares no event ${JSON.stringify(type)}; it declares ${known || 'none'}.`,
      )
    }
    if (key !== undefined && (key.trim() === '' || key.length > 256))
      throw new PawlError(
        'emit_invalid',
        'The `key` of an event must be a string of 1 to 256 characters that is not blank.',
      )
    const value = await encodePayload(context, type, declared, payload)
    const { id, input } = identityOf(type, declared, { key, index, value })
    try {
      await execution.runStep({ key: id, input, once: false }, async () => {
        context.assertUsable('emit') // throws before anything is attached to the step
        const { position } = execution.request
        const { id: task } = reporter.terms
        // Numbered in order of emission over all attempts; a new attempt continues the numbers of the previous one.
        const number = reporter.run.emitted + 1
        reporter.update({ emitted: number })
        reporter.attachPending()
        const row = { type, payload: parseJson(value), at: host.clock.now() }
        const document = collections.taskEvent.write(row, position, task, number)
        const notice = declared.wake
          ? reporter.notice('event', `${type}: ${host.redact.text(value)}`)
          : { documents: [], events: [] }
        return {
          done: declared.terminal ? encode({ ended: declared.terminal, payload: decode(value) }) : 'null',
          attached: {
            documents: [document, ...notice.documents],
            events: [{ type: 'task.event', body: { task, type, number } }, ...notice.events],
          },
        }
      })
      // The task has ended, whatever its body still does.
      const end = declared.terminal ? emittedEnd(execution) : null
      if (end) context.control?.taskEnded(end)
    } catch (error) {
      if (error instanceof PawlError && error.code === 'replay_mismatch')
        throw new PawlError(
          'emit_conflict',
          declared.terminal ? 'The task has already ended with another event.' : `The key is '${key}'.`,
          {
            cause: error,
          },
        )
      throw error
    }
  }
  return { emit }
}

/** The step of an event. Without a key it is its position in the body, and its payload may differ between runs. */
function identityOf(
  type: string,
  { terminal }: CompiledEvent,
  { key, index, value }: { key: string | undefined; index: number; value: string },
): { id: string; input: string | null } {
  if (!terminal && key === undefined) return { id: stepKeys.emit(index), input: null }
  const id = terminal ? stepKeys.lastEmit : stepKeys.emitWithKey(key as string)
  return { id, input: encode({ type, payload: decode(value) }) }
}

/** The recorded form of a payload that matches its schema. */
async function encodePayload(
  { host, connections }: CallEnvironment,
  type: string,
  { schema }: CompiledEvent,
  payload: unknown,
): Promise<string> {
  const encoded = encode(payload ?? null)
  const checked = schema ? await schema.check(decode(encoded)) : null
  if (checked && !checked.ok)
    throw new PawlError(
      'emit_invalid',
      `The payload of '${type}' does not match its schema: ${describeProblems(checked.problems)}. Nothing was recorded.`,
    )
  // Like a result, the payload must not contain secrets that the body received.
  const value = encode(withoutUsedSecrets(decode(encoded), connections))
  if (!fits(value, host.sizes.step))
    throw new PawlError('emit_invalid', `The payload has ${utf8Bytes(value)} bytes; the limit is ${host.sizes.step}.`)
  return value
}

/** The end that a task emitted with a terminal event, or null. */
export function emittedEnd(execution: Execution): ToSettle | null {
  const recorded = execution.recordedStep(stepKeys.lastEmit)
  if (!recorded || !('done' in recorded)) return null
  const { ended, payload } = decode(recorded.done) as { ended: 'succeeded' | 'failed'; payload: Json }
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
