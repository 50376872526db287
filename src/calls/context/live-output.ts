// What reaches watchers while a body runs and is not kept (CALL-10): progress, at most ten times a second with the last one winning,
// and output, gathered and bounded.

import type { Execution } from '../../engine/engine.ts'
import type { RedactedStream } from '../../security/redact.ts'
import type { Progress } from '../../tools/context/context.ts'
import type { CallHost } from '../ports.ts'
import { runOf } from '../task-execution/task-run.ts'

const everyMs = 100

export interface Live {
  progress(progress: Progress): void
  output(text: string, stream: string): void
  /** Tells what is left, then nothing more. */
  end(): void
}

export function liveOf(execution: Execution, host: CallHost): Live {
  let progress: Progress | null = null
  let output: { stream: string; text: string }[] = []
  let characters = 0
  let callOff: (() => void) | null = null
  let over = false
  /** By stream: a secret may come in two pieces. */
  const streams = new Map<string, RedactedStream>()
  const most = host.sizes.event
  const task = runOf(execution)

  const tell = (): void => {
    if (progress) host.live(execution, 'call.progress', progress)
    progress = null
    for (const chunk of output) host.live(execution, 'call.output', chunk)
    output = []
  }
  /** The first is told at once; those that follow within the interval are told together at its end. */
  const soon = (): void => {
    if (callOff) return
    tell()
    callOff = host.clock.timer(everyMs, () => {
      callOff = null
      if (!over && (progress || output.length > 0)) soon()
    })
  }
  /** Cut after secrets were taken out: half of one would not be known again. */
  const add = (text: string, stream: string): void => {
    if (text !== '') task?.output(text, stream)
    if (characters > most || text === '') return
    const room = most - characters
    const shown =
      text.length > room ? `${text.slice(0, room).toWellFormed()}\n[output cut after ${most} characters]` : text
    characters += text.length
    const last = output.at(-1)
    if (last?.stream === stream) last.text += shown
    else output.push({ stream, text: shown })
  }
  return {
    progress(next) {
      try {
        const shown = host.redact.deep({ ...next }) // as it is now: the body may go on to use the object
        const { label } = shown
        progress =
          typeof label === 'string' && label.length > most
            ? { ...shown, label: label.slice(0, most).toWellFormed() }
            : shown
        task?.progress(progress)
      } catch (error) {
        return host.logger.warn('A progress could not be read', {
          tool: execution.request.tool,
          callId: execution.callId,
          error,
        })
      }
      soon()
    },
    output(given, stream) {
      if (over || given === '' || (characters > most && !task?.takesOutput)) return
      let redacted = streams.get(stream)
      if (!redacted) streams.set(stream, (redacted = host.redact.stream()))
      add(redacted.push(given), stream)
      soon()
    },
    end() {
      over = true
      callOff?.()
      for (const [stream, redacted] of streams) add(redacted.end(), stream)
      tell()
    },
  }
}
