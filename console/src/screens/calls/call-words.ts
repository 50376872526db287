// The words and tones for the state of a call.

import type { client } from '../../api/client.ts'
import type { Tone } from '../../ui/parts.tsx'

export type CallRow = Awaited<ReturnType<typeof client.calls.recent>>['calls'][number]

const words: Readonly<Record<string, readonly [string, Tone]>> = {
  received: ['Received', 'neutral'],
  queued: ['Queued', 'neutral'],
  running: ['Running', 'accent'],
  parked: ['Waiting', 'wait'],
  success: ['Succeeded', 'go'],
  failure: ['Failed', 'stop'],
  cancelled: ['Cancelled', 'neutral'],
  unknown: ['Unknown outcome', 'stop'],
}

/** Values of the filter, in the order in which a call passes them. */
export const statuses: readonly (readonly [string, string])[] = Object.entries(words).map(([key, [text]]) => [
  key,
  text,
])

export const statusWords = (state: string, status: string | null): { readonly text: string; readonly tone: Tone } => {
  const [text, tone] = words[status ?? state] ?? [state, 'neutral']
  return { text, tone }
}

/** The runtime records a turn under its model. */
export const nameOf = (name: string): string =>
  name.startsWith('pawl:turn:') ? `Turn with ${name.slice('pawl:turn:'.length)}` : name
