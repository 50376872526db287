// One session: its conversation, tasks and schedules.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client, isMissing } from '../../api/client.ts'
import { Command } from '../../ui/command.tsx'
import { Failed, Loading, ScreenTitle, Section, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { quoted } from '../calls/commands.ts'
import { Conversation } from './conversation.tsx'
import { Schedules } from './schedules.tsx'
import { Tasks } from './tasks.tsx'

export function SessionScreen({ id }: { readonly id: string }): ReactNode {
  usePageTitle(shown(id))
  const query = useQuery({ queryKey: ['session', id], queryFn: () => client.sessions.get({ session: id }) })
  if (isMissing(query.error)) return <ScreenTitle>There is no session {shown(id)}</ScreenTitle>
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  const { inbox, openTurn, usage } = query.data
  const { inputTokens, outputTokens, cost } = usage.total
  return (
    <>
      <ScreenTitle
        aside={
          <Link href="/sessions" className="text text-sm">
            Sessions
          </Link>
        }
      >
        {shown(id)}
      </ScreenTitle>
      <section className="panel mb-4 flex flex-wrap items-center gap-x-6 gap-y-2 p-4" aria-label="Status">
        <span>{openTurn === null ? 'The model is not working.' : 'The model is working on an answer.'}</span>
        <span>
          {inbox === 0 ? (
            'Nothing waits for a person.'
          ) : (
            <Link href="/inbox" className="text">
              {inbox} waiting for people
            </Link>
          )}
        </span>
        {inputTokens + outputTokens > 0 && (
          <span className="text-soft">
            {inputTokens.toLocaleString()} tokens read, {outputTokens.toLocaleString()} written
            {cost !== null && `, ${cost.toFixed(4)} in cost`}
          </span>
        )}
        <Link href={`/calls?session=${encodeURIComponent(id)}`} className="text">
          Calls
        </Link>
        <div className="w-full">
          <Command text={`pawl sessions ${quoted(id)}`} />
        </div>
      </section>
      <div className="grid gap-x-4 lg:grid-cols-[1fr_22rem]">
        <div className="min-w-0">
          <Section title="Conversation">
            <Conversation session={id} isOpen={openTurn !== null} />
          </Section>
        </div>
        <div className="min-w-0">
          <Tasks session={id} />
          <Schedules session={id} />
        </div>
      </div>
    </>
  )
}
