// The words and addresses of schedules.

import type { ReactNode } from 'react'
import type { client } from '../../api/client.ts'
import { Badge, type Tone } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime } from '../../ui/time.tsx'

export type Schedule = Awaited<ReturnType<typeof client.schedules.get>>['schedule']

export const schedulePath = (session: string, schedule: string): string =>
  `/schedules/${encodeURIComponent(session)}/${encodeURIComponent(schedule)}`

const stateTones: Readonly<Record<string, Tone>> = { active: 'go', paused: 'wait', ended: 'neutral' }
const stateNames: Readonly<Record<string, string>> = { active: 'Active', paused: 'Paused', ended: 'Ended' }

export const StateBadge = ({ state }: { readonly state: string }): ReactNode => (
  <Badge tone={stateTones[state] ?? 'neutral'}>{stateNames[state] ?? state}</Badge>
)

/** When it runs and what it starts. */
export function Terms({ schedule }: { readonly schedule: Schedule }): ReactNode {
  const { cron, at, timezone, tool, message } = schedule
  return (
    <span className="any">
      {cron === null
        ? `Once at ${at === null ? 'its instant' : clockTime(at)}`
        : `${shown(cron)} in ${shown(timezone)}`}
      {tool !== null && (
        <>
          {', starts '}
          <code>{shown(tool)}</code>
        </>
      )}
      {message !== null && `, sends “${shown(message.slice(0, 200))}”`}
    </span>
  )
}

export const overlapWords: Readonly<Record<string, string>> = {
  skip: 'It is skipped while the previous run is open.',
  queue: 'A run waits until the previous one has ended.',
  parallel: 'Runs may overlap.',
}

export const catchUpWords: Readonly<Record<string, string>> = {
  skip: 'Runs that no worker started in time are not made up for.',
  once: 'One run makes up for all that no worker started in time.',
  all: 'Each of the last runs that no worker started in time is made up for.',
}
