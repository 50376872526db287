// The schedules of a session and when they run next. The page of a schedule pauses and runs it.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Time } from '../../ui/time.tsx'
import { schedulePath, StateBadge, Terms } from '../schedules/schedule-words.tsx'

type Schedule = Awaited<ReturnType<typeof client.schedules.list>>[number]

export function Schedules({ session }: { readonly session: string }): ReactNode {
  const { data: schedules = [] } = useQuery({
    queryKey: ['schedules', session],
    queryFn: () => client.schedules.list({ session }),
  })
  if (schedules.length === 0) return null
  return (
    <Section title="Schedules">
      <ul className="divide-y divide-line">
        {schedules.map((schedule) => (
          <Row key={schedule.id} schedule={schedule} session={session} />
        ))}
      </ul>
    </Section>
  )
}

const Row = ({ schedule, session }: { readonly schedule: Schedule; readonly session: string }): ReactNode => (
  <li className="py-2">
    <p className="flex flex-wrap items-center gap-2">
      <StateBadge state={schedule.state} />
      <Link href={schedulePath(session, schedule.id)} className="text any flex-1">
        {shown(schedule.title)}
      </Link>
    </p>
    <p className="any text-sm text-soft">
      <Terms schedule={schedule} />
      {schedule.nextAt !== null && (
        <>
          , next run <Time at={schedule.nextAt}>{clockTime(schedule.nextAt)}</Time>
        </>
      )}
    </p>
  </li>
)
