// Sessions that have calls, the most recently used first.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { Empty } from '../../ui/command.tsx'
import { Failed, Loading, ScreenTitle, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago } from '../../ui/time.tsx'

export const sessionPath = (session: string): string => `/sessions/${encodeURIComponent(session)}`

const maxSessions = 1_000

export function SessionsScreen(): ReactNode {
  usePageTitle('Sessions')
  const query = useQuery({ queryKey: ['sessions'], queryFn: () => client.sessions.list({ limit: maxSessions }) })
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  const sessions = query.data.toSorted((a, b) => b.lastCallAt - a.lastCallAt)
  return (
    <>
      <ScreenTitle>Sessions</ScreenTitle>
      {sessions.length === 0 ? (
        <Empty title="No sessions yet" command="pawl turn chat-1 'Hello'">
          A session begins with its first call or message.
        </Empty>
      ) : (
        <ul className="panel divide-y divide-line">
          {sessions.map(({ session, lastCallAt }) => (
            <li key={session}>
              <Link
                href={sessionPath(session)}
                className="flex flex-wrap justify-between gap-x-4 px-3 py-2.5 hover:bg-sunk"
              >
                <span className="any font-medium">{shown(session)}</span>
                <span className="text-sm text-soft">
                  last call <Ago at={lastCallAt} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      {sessions.length === maxSessions && (
        <p className="mt-2 text-soft">These are 1,000 of the sessions. Open others by their address.</p>
      )}
    </>
  )
}
