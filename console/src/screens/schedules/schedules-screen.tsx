// Schedules of all sessions, in the order of their next slot.

import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { Empty, Failed, Loading, ScreenTitle, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Left, Time } from '../../ui/time.tsx'
import { schedulePath, Terms } from './schedule-words.tsx'

const pageSize = 50

export function SchedulesScreen(): ReactNode {
  usePageTitle('Schedules')
  const query = useInfiniteQuery({
    queryKey: ['schedules', 'upcoming'],
    queryFn: ({ pageParam }) =>
      client.schedules.upcoming({ limit: pageSize, ...(pageParam === null ? {} : { after: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  })
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  const schedules = query.data.pages.flatMap((page) => page.schedules)
  return (
    <>
      <ScreenTitle>Schedules</ScreenTitle>
      {schedules.length === 0 && !query.hasNextPage ? (
        <NothingScheduled />
      ) : (
        <ul className="panel divide-y divide-line">
          {schedules.map((schedule) => (
            <li key={`${schedule.session} ${schedule.id}`} className="p-3">
              <p className="flex flex-wrap items-center gap-x-4">
                <Link href={schedulePath(schedule.session, schedule.id)} className="text any flex-1 font-medium">
                  {shown(schedule.title)}
                </Link>
                {schedule.nextAt !== null && (
                  <span className="text-sm">
                    next <Time at={schedule.nextAt}>{clockTime(schedule.nextAt)}</Time>,{' '}
                    <Left until={schedule.nextAt} />
                  </span>
                )}
              </p>
              <p className="any text-sm text-soft">
                <Terms schedule={schedule} /> · in {shown(schedule.session)}
              </p>
            </li>
          ))}
        </ul>
      )}
      {query.hasNextPage && (
        <button type="button" className="button mt-3" onClick={() => void query.fetchNextPage()}>
          Show later ones
        </button>
      )}
      <p className="mt-3 text-sm text-soft">Paused and ended schedules are on the page of their session.</p>
    </>
  )
}

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
