// The schedules of a session: when they fire next; pause, resume, run now.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client, messageOf, queryClient } from '../../api/client.ts'
import { useMay } from '../../shell/me.tsx'
import { notify } from '../../ui/notices.tsx'
import { Badge, Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Time } from '../../ui/time.tsx'
import { schedulePath } from '../schedules/schedule-words.tsx'

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

function Row({ schedule, session }: { readonly schedule: Schedule; readonly session: string }): ReactNode {
  const mayCall = useMay('call')
  const { id, title, state, cron, timezone, nextAt } = schedule
  const of = { session, schedule: id }
  async function act(how: () => Promise<unknown>, text: string): Promise<void> {
    try {
      await how()
      notify(text)
      void queryClient.invalidateQueries({ queryKey: ['schedules', session] })
    } catch (error) {
      notify(messageOf(error))
    }
  }
  return (
    <li className="py-2">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={state === 'active' ? 'go' : 'neutral'}>{state}</Badge>
        <Link href={schedulePath(session, id)} className="text any flex-1">
          {shown(title)}
        </Link>
      </p>
      <p className="any text-sm text-soft">
        {cron === null ? 'Once' : `${shown(cron)} in ${shown(timezone)}`}
        {nextAt !== null && (
          <>
            , next <Time at={nextAt}>{clockTime(nextAt)}</Time>
          </>
        )}
      </p>
      {mayCall && state !== 'ended' && (
        <p className="mt-1 flex flex-wrap gap-2">
          {state === 'active' ? (
            <button
              type="button"
              className="button button-small"
              onClick={() =>
                void act(() => client.schedules.pause(of), 'Paused: it fires no slots until it is resumed.')
              }
            >
              Pause
            </button>
          ) : (
            <button
              type="button"
              className="button button-small"
              onClick={() => void act(() => client.schedules.resume(of), 'It fires its slots again.')}
            >
              Resume
            </button>
          )}
          <button
            type="button"
            className="button button-small"
            onClick={() => void act(() => client.schedules.run(of), 'It has been started once, besides its slots.')}
          >
            Run now
          </button>
        </p>
      )}
    </li>
  )
}
