// The steps, waits and sleeps of a call in the order in which they began.

import type { ReactNode } from 'react'
import { Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, durationText, Time, timeOfDay } from '../../ui/time.tsx'
import { decidedWords } from '../inbox/item-words.ts'
import type { Call, Timeline } from './call-words.ts'

interface Entry {
  readonly key: string
  readonly at: number
  readonly what: string
  readonly text: string
}

const stepStates: Readonly<Record<string, string>> = {
  done: 'Step, recorded',
  failed: 'Step, failed',
  started: 'Step, started',
}

const waitStates: Readonly<Record<string, string>> = {
  value: 'answered',
  failure: 'answered with a failure',
  cancelled: 'cancelled',
  timeout: 'ended without an answer',
}

/** Waits of the runtime have names of their own. */
const waitNames: readonly (readonly [RegExp, string])[] = [
  [/^pawl:approval:/, 'Approval'],
  [/^pawl:connection:/, 'Connection of an account'],
  [/^pawl:finding:/, 'Question whether it took effect'],
  [/^pawl:question:/, 'Question'],
  [/^pawl:client/, 'Call of the client'],
  [/^pawl:reply:/, 'Reply to the task'],
  [/^pawl:signal:/, 'Signal '],
]

export function waitName(name: string): string {
  const [pattern, text] = waitNames.find(([each]) => each.test(name)) ?? []
  if (pattern === undefined || text === undefined) return name
  return text.endsWith(' ') ? text + name.replace(pattern, '') : text
}

const stepEntries = ({ steps }: Call): Entry[] =>
  steps.map(({ id, state, at, round }) => ({
    key: `step ${id}`,
    at,
    what: id,
    text: `${stepStates[state] ?? state}${round > 1 ? `, in round ${round}` : ''}`,
  }))

const sleepEntries = ({ sleeps }: Call): Entry[] =>
  sleeps.map(({ from, until }, index) => ({
    key: `sleep ${index}`,
    at: from,
    what: 'Sleep',
    text: `${durationText(until - from)}, until ${clockTime(until)}`,
  }))

/** The time of the row is that of the request. */
function decidedAt({ votes }: NonNullable<Call['waits'][number]['decision']>): string {
  const at = votes.at(-1)?.at
  return at === undefined ? '' : ` at ${timeOfDay(at)}`
}

const waitEntries = ({ waits }: Call): Entry[] =>
  waits.map(({ id, name, state, createdAt, deadline, decision }) => ({
    key: `wait ${id}`,
    at: createdAt,
    what: decision || state === 'open' ? `${waitName(name)} requested` : waitName(name),
    text: decision
      ? `${decidedWords[decision.verb] ?? 'decided'} by ${decision.votes.map(({ by }) => by).join(', ')}${decidedAt(decision)}`
      : state === 'open'
        ? `Open until ${clockTime(deadline)}`
        : (waitStates[state] ?? state),
  }))

interface StepsProps {
  readonly call: Call
  /** In the order in which they were recorded. */
  readonly events: Timeline['events']
}

/** Steps that ended in the same millisecond are in the order of their events. */
function orderOf({ uid }: Call, events: Timeline['events']): (id: string) => number {
  const places = new Map<string, number>()
  for (const [index, { type, call, body }] of events.entries()) {
    const { step } = body as { readonly step?: unknown }
    if (type === 'step.done' && call === uid && typeof step === 'string')
      places.set(`step ${step.replace(/^step:/, '')}`, index)
  }
  return (key) => places.get(key) ?? -1
}

export function Steps({ call, events }: StepsProps): ReactNode {
  const order = orderOf(call, events)
  const entries = [...stepEntries(call), ...waitEntries(call), ...sleepEntries(call)].toSorted(
    (a, b) => a.at - b.at || order(a.key) - order(b.key),
  )
  if (entries.length === 0) return null
  return (
    <Section title="Steps and waits">
      <ol className="divide-y divide-line">
        {entries.map(({ key, at, what, text }) => (
          <li key={key} className="flex flex-wrap items-baseline justify-between gap-x-4 py-1.5">
            <span className="any">
              <span className="font-medium">{shown(what)}</span>{' '}
              <span className="text-sm text-soft">{shown(text)}</span>
            </span>
            <span className="text-sm text-soft">
              <Time at={at}>{timeOfDay(at)}</Time>
            </span>
          </li>
        ))}
      </ol>
    </Section>
  )
}
