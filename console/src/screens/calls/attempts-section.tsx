// The attempts of a call that was tried more than once: what each recorded, how it ended, and what the next one replayed.

import type { ReactNode } from 'react'
import { Badge, Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { durationText, Time, timeOfDay } from '../../ui/time.tsx'
import { type Attempt, attemptsOf } from './attempts.ts'
import type { Timeline } from './call-words.ts'

interface AttemptsProps {
  readonly timeline: Timeline
  readonly call: string
  /** How the call ended, in words; null while it is open. */
  readonly ended: string | null
}

export function Attempts({ timeline, call, ended }: AttemptsProps): ReactNode {
  const attempts = attemptsOf(timeline.events, call)
  if (attempts.length < 2) return null
  const stopped = attempts.some(({ end }) => end === 'stopped')
  return (
    <Section title="Attempts">
      <ol className="divide-y divide-line">
        {attempts.map((attempt) => (
          <Row key={`${attempt.number} ${attempt.from}`} attempt={attempt} ended={ended} />
        ))}
      </ol>
      <p className="mt-2 text-sm text-soft">
        A recorded step is not repeated: a later attempt gets its recorded value.
        {stopped &&
          ' A step that was under way when the worker stopped is not recorded, so it runs again, with the same ' +
            'idempotency key. A service that knows the key does not act twice.'}
      </p>
    </Section>
  )
}

function endText({ end, code }: Attempt, ended: string | null): string {
  if (end === 'stopped') return 'the worker stopped'
  if (end === 'failed') return `failed${code === null ? '' : ` with ${code}`}, to be tried again`
  if (end === 'waits') return 'waits for an answer'
  return end === 'settled' && ended !== null ? ended.toLowerCase() : 'running'
}

function Row({ attempt, ended }: { readonly attempt: Attempt; readonly ended: string | null }): ReactNode {
  const { number, from, to, end, ran, replayed } = attempt
  return (
    <li className="py-2">
      <p className="flex flex-wrap items-center gap-x-3">
        <span className="font-medium">Attempt {number}</span>
        <span className={end === 'stopped' ? 'text-stop' : ''}>
          {end === 'stopped' && <span aria-hidden="true">⚡ </span>}
          {shown(endText(attempt, ended))}
        </span>
        <span className="text-sm text-soft">
          <Time at={from}>{timeOfDay(from)}</Time>
          {to !== null && `, ${durationText(to - from)}`}
        </span>
      </p>
      {(ran.length > 0 || replayed.length > 0) && (
        <ul className="mt-1 flex flex-wrap gap-x-3 gap-y-1 text-sm">
          {replayed.map((step) => (
            <li key={`replayed ${step}`} className="any">
              {shown(step)} <Badge>replayed</Badge>
            </li>
          ))}
          {ran.map((step) => (
            <li key={`ran ${step}`} className="any">
              {shown(step)} <Badge tone="go">recorded</Badge>
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}
