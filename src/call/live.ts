// What reaches watchers while a body runs and is not kept (CALL-10): progress, at most ten times a second with the last one winning,
// and output, gathered and bounded.

import type { Invocation } from '../engine/engine.ts'
import type { Progress } from '../tool/context.ts'
import type { CallHost } from './host.ts'

const everyMs = 100
const mostCharacters = 262_144

export interface Live {
  progress(progress: Progress): void
  output(text: string, stream: string): void
  /** Tells what is left, then nothing more. */
  end(): void
}

export function liveOf(invocation: Invocation, host: CallHost): Live {
  let progress: Progress | null = null
  let output: { stream: string; text: string }[] = []
  let characters = 0
  let callOff: (() => void) | null = null
  let over = false

  const tell = (): void => {
    if (progress) host.live(invocation, 'call.progress', { ...progress })
    progress = null
    for (const chunk of output) host.live(invocation, 'call.output', chunk)
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
  return {
    progress(next) {
      progress = next
      soon()
    },
    output(text, stream) {
      if (over || characters > mostCharacters || text === '') return
      const room = mostCharacters - characters
      const shown = text.length > room ? `${text.slice(0, room).toWellFormed()}\n[output cut after ${mostCharacters} characters]` : text
      characters += text.length
      const last = output.at(-1)
      if (last?.stream === stream) last.text += shown
      else output.push({ stream, text: shown })
      soon()
    },
    end() {
      over = true
      callOff?.()
      tell()
    },
  }
}
