// Live events of a running body, which are not stored: progress (at most ten times a second, the latest wins) and
// output (collected and limited in size).

import type { Execution } from '../../engine/engine.ts'
import type { RedactedStream } from '../../security/redact.ts'
import type { Progress } from '../../tools/context/tool-context.ts'
import type { CallHost } from '../ports.ts'
import { reporterOf } from '../task-execution/task-run.ts'

const everyMs = 100

export interface LiveOutput {
  progress(progress: Progress): void
  output(text: string, stream: string): void
  /** Flushes the rest; later output is ignored. */
  end(): void
}

export function createLiveOutput(execution: Execution, host: CallHost): LiveOutput {
  let progress: Progress | null = null
  let output: { stream: string; text: string }[] = []
  let characters = 0
  let cancelTimer: (() => void) | null = null
  let ended = false
  /** One redactor per stream, because a secret may be split over two chunks. */
  const streams = new Map<string, RedactedStream>()
  const maxCharacters = host.sizes.event
  const task = reporterOf(execution)

  const flush = (): void => {
    if (progress) host.live(execution, 'call.progress', progress)
    progress = null
    for (const chunk of output) host.live(execution, 'call.output', chunk)
    output = []
  }
  /** Sends the first event immediately and those within the interval together at its end. */
  const flushSoon = (): void => {
    if (cancelTimer) return
    flush()
    cancelTimer = host.clock.timer(everyMs, () => {
      cancelTimer = null
      if (!ended && (progress || output.length > 0)) flushSoon()
    })
  }
  /** Truncates after redaction: half of a secret would not be recognized. */
  const add = (text: string, stream: string): void => {
    if (text !== '') task?.output(text, stream)
    if (characters > maxCharacters || text === '') return
    const room = maxCharacters - characters
    const shown =
      text.length > room
        ? `${text.slice(0, room).toWellFormed()}\n[output cut after ${maxCharacters} characters]`
        : text
    characters += text.length
    const last = output.at(-1)
    if (last?.stream === stream) last.text += shown
    else output.push({ stream, text: shown })
  }
  return {
    progress(next) {
      try {
        const shown = host.redact.deep({ ...next }) // a copy: the body may change the object later
        const { label } = shown
        progress =
          typeof label === 'string' && label.length > maxCharacters
            ? { ...shown, label: label.slice(0, maxCharacters).toWellFormed() }
            : shown
        task?.progress(progress)
      } catch (error) {
        return host.logger.warn('ctx.progress was called with a value that cannot be read', {
          tool: execution.request.tool,
          callId: execution.callId,
          error,
        })
      }
      flushSoon()
    },
    output(given, stream) {
      if (ended || given === '' || (characters > maxCharacters && !task?.takesOutput)) return
      let redacted = streams.get(stream)
      if (!redacted) streams.set(stream, (redacted = host.redact.stream()))
      add(redacted.push(given), stream)
      flushSoon()
    },
    end() {
      ended = true
      cancelTimer?.()
      for (const [stream, redacted] of streams) add(redacted.end(), stream)
      flush()
    },
  }
}
