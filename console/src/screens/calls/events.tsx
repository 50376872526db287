// The events of a call as they are recorded, for people who look for a detail.

import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Time, timeOfDay } from '../../ui/time.tsx'
import type { Timeline } from './call-words.ts'

/** Fields that are instants, in milliseconds since 1970. */
const instants = new Set(['deadline', 'until', 'slot'])

function valueText(name: string, value: unknown): string {
  if (typeof value === 'number' && instants.has(name)) return clockTime(value)
  return typeof value === 'string' ? value.replace(/^step:/, '') : JSON.stringify(value)
}

/** The facts of an event as one line. Fields that are not set are left out. */
export const factsOf = (body: object): string =>
  Object.entries(body)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${valueText(name, value)}`)
    .join(', ')

interface EventsProps {
  readonly timeline: Timeline
  readonly call: string
}

export function Events({ timeline, call }: EventsProps): ReactNode {
  const names = new Map(timeline.rows.map(({ uid, name }) => [uid, name]))
  return (
    <Section title="Events and logs">
      <details>
        <summary className="py-1">
          {timeline.events.length === 1 ? 'The recorded event' : `The ${timeline.events.length} recorded events`}
        </summary>
        <ol className="divide-y divide-line">
          {timeline.events.map((event, index) => (
            <li key={`${index} ${event.type}`} className="grid gap-x-4 py-1.5 sm:grid-cols-[12rem_1fr_auto]">
              <code className="any text-sm">{event.type}</code>
              <span className="any text-sm text-soft">
                {event.call !== call && (
                  <>
                    <Link href={`/calls/${event.call}`} className="text">
                      {shown(names.get(event.call) ?? 'a call under it')}
                    </Link>
                    {': '}
                  </>
                )}
                {shown(factsOf(event.body))}
              </span>
              <span className="text-sm text-soft">
                <Time at={event.at}>{timeOfDay(event.at)}</Time>
              </span>
            </li>
          ))}
        </ol>
        {timeline.omitted > 0 && (
          <p className="mt-2 text-sm text-soft">
            {timeline.omitted} more calls and events are not shown. The export of the session has them.
          </p>
        )}
      </details>
      <p className="any mt-1 text-sm text-soft">
        Log lines of the tool are in the log of its worker, with <code>call={call}</code>.
      </p>
    </Section>
  )
}
