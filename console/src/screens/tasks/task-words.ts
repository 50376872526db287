// The words, tones and addresses of tasks.

import type { Tone } from '../../ui/parts.tsx'

const tones: Readonly<Record<string, Tone>> = {
  running: 'accent',
  awaiting_input: 'wait',
  succeeded: 'go',
  failed: 'stop',
}

const names: Readonly<Record<string, string>> = {
  queued: 'Queued',
  running: 'Running',
  awaiting_input: 'Waiting for a reply',
  succeeded: 'Succeeded',
  failed: 'Failed',
  cancelled: 'Cancelled',
  abandoned: 'Abandoned',
}

export const taskTone = (state: string): Tone => tones[state] ?? 'neutral'
export const taskState = (state: string): string => names[state] ?? state

export const taskPath = (session: string, task: string): string =>
  `/tasks/${encodeURIComponent(session)}/${encodeURIComponent(task)}`

/** The parts of a progress that are there. */
export function progressText(progress: object | null): string | null {
  const { current, total, unit, label } = (progress ?? {}) as Readonly<Record<string, unknown>>
  const name = typeof unit === 'string' ? ` ${unit}` : ''
  const count =
    typeof current === 'number' ? `${current}${typeof total === 'number' ? ` of ${total}` : ''}${name}` : null
  return [typeof label === 'string' ? label : null, count].filter((text) => text !== null).join(', ') || null
}
