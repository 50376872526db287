// The words and tones for the state of a call.

import type { client } from '../../api/client.ts'
import type { Tone } from '../../ui/parts.tsx'

export type Call = Awaited<ReturnType<typeof client.calls.find>>
export type Timeline = Awaited<ReturnType<typeof client.calls.timeline>>
export type CallRow = Awaited<ReturnType<typeof client.calls.recent>>['calls'][number]

interface Words {
  readonly text: string
  readonly tone: Tone
}

const words: Readonly<Record<string, Words>> = {
  received: { text: 'Received', tone: 'neutral' },
  queued: { text: 'Queued', tone: 'neutral' },
  running: { text: 'Running', tone: 'accent' },
  parked: { text: 'Waiting', tone: 'wait' },
  success: { text: 'Succeeded', tone: 'go' },
  failure: { text: 'Failed', tone: 'stop' },
  cancelled: { text: 'Cancelled', tone: 'neutral' },
  unknown: { text: 'Unknown outcome', tone: 'stop' },
}

/** Values of the filter, in the order in which a call passes them. */
export const statuses: readonly (readonly [string, string])[] = Object.entries(words).map(([key, { text }]) => [
  key,
  text,
])

/** Failures that are decisions: nothing broke. */
const refusals: Readonly<Record<string, Words>> = {
  denied_by_person: { text: 'Denied', tone: 'neutral' },
  denied_by_policy: { text: 'Denied by policy', tone: 'neutral' },
  approval_expired: { text: 'Not approved in time', tone: 'neutral' },
}

/** `code`: of a failure. */
export const statusWords = (state: string, status: string | null, code: string | null = null): Words =>
  (code === null ? undefined : refusals[code]) ?? words[status ?? state] ?? { text: status ?? state, tone: 'neutral' }

/** A refusal is an answer, not an error. */
export const isError = ({ status, code }: Pick<CallRow, 'status' | 'code'>): boolean =>
  status === 'unknown' || (status === 'failure' && (code === null || !Object.hasOwn(refusals, code)))

/** The runtime records a turn under its model. */
export const nameOf = (name: string): string =>
  name.startsWith('pawl:turn:') ? `Turn with ${name.slice('pawl:turn:'.length)}` : name
