// Schedules of all sessions: the next run first, then those that are paused or have ended.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { Pages } from '../../ui/pages.tsx'
import { Empty } from '../../ui/command.tsx'
import { Failed, ScreenTitle, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Left, Time } from '../../ui/time.tsx'
import { schedulePath, StateBadge, Terms } from './schedule-words.tsx'

const pageSize = 50
const maxStopped = 200

type Listed = Awaited<ReturnType<typeof client.schedules.upcoming>>['schedules'][number]

export function SchedulesScreen(): ReactNode {
  usePageTitle('Schedules')
  const { data: stopped, error } = useQuery({
    queryKey: ['schedules', 'stopped'],
    queryFn: () => client.schedules.stopped({ limit: maxStopped }),
  })
  return (
    <>
      <ScreenTitle>Schedules</ScreenTitle>
      <Pages
        queryKey={['schedules', 'upcoming']}
        read={(after) => client.schedules.upcoming({ limit: pageSize, ...(after === null ? {} : { after }) })}
        more="Show later ones"
      >
        {(pages, isWhole) => {
          const schedules = pages.flatMap((page) => page.schedules)
          if (schedules.length === 0 && isWhole)
            return stopped?.schedules.length === 0 ? <NothingScheduled /> : <NothingActive />
          return <List schedules={schedules} label="Active schedules" />
        }}
      </Pages>
      {error && !stopped ? <Failed error={error} /> : null}
      {stopped && stopped.schedules.length > 0 && (
        <>
          <h2 className="mt-6 mb-2 font-semibold">Paused and ended</h2>
          <List schedules={stopped.schedules} label="Paused and ended schedules" />
          {!stopped.complete && (
            <p className="mt-2 text-sm text-soft">
              There may be more. The page of a session lists all of its schedules.
            </p>
          )}
        </>
      )}
    </>
  )
}

const List = ({ schedules, label }: { readonly schedules: readonly Listed[]; readonly label: string }): ReactNode => (
  <ul className="panel divide-y divide-line" aria-label={label}>
    {schedules.map((schedule) => (
      <Row key={`${schedule.session} ${schedule.id}`} schedule={schedule} />
    ))}
  </ul>
)

const Row = ({ schedule }: { readonly schedule: Listed }): ReactNode => (
  <li className="p-3">
    <p className="flex flex-wrap items-center gap-x-3">
      <StateBadge state={schedule.state} />
      <Link href={schedulePath(schedule.session, schedule.id)} className="text any flex-1 font-medium">
        {shown(schedule.title)}
      </Link>
      {schedule.nextAt !== null && (
        <span className="text-sm">
          next run <Time at={schedule.nextAt}>{clockTime(schedule.nextAt)}</Time>, <Left until={schedule.nextAt} />
        </span>
      )}
    </p>
    <p className="any text-sm text-soft">
      <Terms schedule={schedule} /> · in {shown(schedule.session)}
    </p>
  </li>
)

const NothingActive = (): ReactNode => <p className="text-soft">No schedule is active.</p>

function NothingScheduled(): ReactNode {
  return (
    <Empty
      title="Nothing is scheduled"
      command="pawl schedules create chat-1 --cron '0 9 * * *' --message 'Good morning'"
    >
      A schedule starts a tool, or sends a message to a session, by cron or at one instant.
    </Empty>
  )
}
