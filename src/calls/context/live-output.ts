// ctx.progress (at most ten times a second, the latest wins) and ctx.output (collected and limited in size) publish live
// events that are not stored. ctx.log writes to the logger of the runtime.

import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { formatValue } from '../../core/format-value.ts'
import { PawlError } from '../../core/errors.ts'
import type { TaskProgress } from '../../core/task-state.ts'
import { encode } from '../../core/tool-value.ts'
import { truncateToLength } from '../../core/size-limits.ts'
import type { RedactedStream } from '../../security/redact.ts'
import type { Logger, Progress, ToolContext } from '../../tools/context/tool-context.ts'
import { reporterOf } from '../task-execution/task-run.ts'
import type { CallEnvironment } from './call-environment.ts'

const everyMs = 100
/** A body that no longer takes a recorded step would never catch up: its progress is shown again after this time. */
const maxReplayMs = 5_000
const controlCharacter = /[\p{Cc}\u2028\u2029]/u

export function log({ execution, tool, host }: CallEnvironment): Pick<ToolContext, 'log'> {
  const { callId, request, attempt } = execution
  const about = { tool: tool.name, callId, call: request.uid, attempt }
  const at =
    (level: keyof Logger) =>
    (message: string, fields?: Record<string, unknown>): void =>
      host.logger[level](message, { ...fields, ...about })
  return { log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}

const progressOptions = {
  current: option.number,
  total: option.number,
  unit: option.string,
  label: option.string,
  preliminary: option.anything,
} satisfies OptionTable<Progress>

/** Progress as a task records it. */
function recorded(shown: Progress): TaskProgress {
  const { preliminary: _, ...progress } = shown
  return progress
}

export function liveOutput(context: CallEnvironment): Pick<ToolContext, 'progress' | 'output'> {
  const { execution, host, control } = context
  let progress: Progress | null = null
  let output: { stream: string; text: string }[] = []
  let characters = 0
  let cancelTimer: (() => void) | null = null
  /** One redactor per stream, because a secret may be split over two chunks. */
  const streams = new Map<string, RedactedStream>()
  const maxCharacters = host.sizes.event
  const task = reporterOf(execution)
  const { replay } = context
  let cancelReplayTimer: (() => void) | null = null

  const flush = (): void => {
    if (!replay?.isActive) {
      if (progress) host.feed.publish(execution, 'call.progress', progress)
      progress = null
    }
    for (const chunk of output) host.feed.publish(execution, 'call.output', chunk)
    output = []
  }
  const flushLater = (): void => {
    cancelTimer ??= host.clock.timer(everyMs, () => {
      cancelTimer = null
      if (!context.ended && (progress || output.length > 0)) flushSoon()
    })
  }
  /** Sends the first event immediately and those within the interval together at its end. */
  const flushSoon = (): void => {
    if (cancelTimer) return
    flush()
    flushLater()
  }
  if (replay?.isActive)
    replay.onEnd = () => {
      cancelReplayTimer?.()
      if (progress) task?.progress(recorded(progress))
      // Later, because the body is about to report how far it was after the last recorded step.
      flushLater()
    }
  /** Truncates after redaction: half of a secret would not be recognized. */
  const add = (text: string, stream: string): void => {
    if (text !== '') task?.output(text, stream)
    if (characters > maxCharacters || text === '') return
    const room = maxCharacters - characters
    const shown =
      text.length > room ? `${truncateToLength(text, room)}\n[output cut after ${maxCharacters} characters]` : text
    characters += text.length
    const last = output.at(-1)
    if (last?.stream === stream) last.text += shown
    else output.push({ stream, text: shown })
  }
  // Flushes the rest when the attempt ends; later output is ignored.
  context.onStopRequested(() => {
    if (!context.ended) return
    cancelTimer?.()
    cancelReplayTimer?.()
    for (const [stream, redacted] of streams) add(redacted.end(), stream)
    flush()
  })
  return {
    progress(next) {
      if (context.ended) return
      control?.progress()
      try {
        checkOptions(next, progressOptions, 'ctx.progress()')
        const shown = host.redact.deep({ ...next }) // a copy: the body may change the object later
        const { label, preliminary } = shown
        const isTooLarge = preliminary !== undefined && encode(preliminary).length > maxCharacters
        progress = {
          ...(isTooLarge ? recorded(shown) : shown),
          ...(typeof label === 'string' && label.length > maxCharacters
            ? { label: label.slice(0, maxCharacters).toWellFormed() }
            : {}),
        }
        if (replay?.isActive) {
          cancelReplayTimer ??= host.clock.timer(maxReplayMs, () => replay.end())
          return
        }
        task?.progress(recorded(progress))
      } catch (error) {
        if (error instanceof PawlError) throw error
        return host.logger.warn('ctx.progress was called with a value that cannot be read', {
          tool: execution.request.tool,
          callId: execution.callId,
          error,
        })
      }
      flushSoon()
    },
    output(given, stream = 'stdout') {
      if (context.ended) return
      if (typeof given !== 'string' || typeof stream !== 'string')
        throw new PawlError('value_invalid', 'The `text` and the `stream` of ctx.output must be strings.')
      // The name is a prefix of lines in the log of a task: a line break in it would forge lines of other streams.
      if (controlCharacter.test(stream))
        throw new PawlError(
          'value_invalid',
          `The stream of ctx.output is ${formatValue(stream)}; its name must not contain line breaks or control characters.`,
        )
      control?.progress()
      if (given === '' || (characters > maxCharacters && !task?.takesOutput)) return
      let redacted = streams.get(stream)
      if (!redacted) streams.set(stream, (redacted = host.redact.stream()))
      add(redacted.push(given), stream)
      flushSoon()
    },
  }
}
