// One schedule: its next times and its last runs; pause, resume, run now.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { client, isMissing, queryClient } from '../../api/client.ts'
import { useMay } from '../../shell/me.tsx'
import { notify } from '../../ui/notices.tsx'
import { Confirm } from '../../forms/confirm.tsx'
import { Command } from '../../ui/command.tsx'
import { Badge, Failed, Loading, ScreenTitle, Section, type Tone, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Left, Time } from '../../ui/time.tsx'
import { Arguments } from '../../ui/values.tsx'
import { quoted } from '../calls/commands.ts'
import { taskPath } from '../tasks/task-words.ts'
import { catchUpWords, overlapWords, type Schedule, StateBadge, Terms } from './schedule-words.tsx'

interface ScheduleScreenProps {
  readonly session: string
  readonly id: string
}

export function ScheduleScreen({ session, id }: ScheduleScreenProps): ReactNode {
  const query = useQuery({
    queryKey: ['schedules', session, id],
    queryFn: () => client.schedules.get({ session, schedule: id, count: 5 }),
  })
  usePageTitle(query.data ? shown(query.data.schedule.title) : 'Schedule')
  if (isMissing(query.error)) return <ScreenTitle>There is no such schedule</ScreenTitle>
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  const { schedule, nextTimes } = query.data
  const { title, state, tool, input, overlap, catchUp, runs } = schedule
  return (
    <>
      <ScreenTitle
        aside={
          <Link href="/schedules" className="text text-sm">
            Schedules
          </Link>
        }
      >
        {shown(title)} <StateBadge state={state} />
      </ScreenTitle>
      <section className="panel mb-4 p-4" aria-label="Status">
        <p className="mb-2">
          <Terms schedule={schedule} />
        </p>
        <p className="any mb-3 text-sm text-soft">
          <Link href={`/sessions/${encodeURIComponent(session)}`} className="text">
            {shown(session)}
          </Link>{' '}
          · {runs} {runs === 1 ? 'run' : 'runs'} so far · <code>{shown(id)}</code>
        </p>
        <p className="mb-3 text-sm text-soft">
          {overlapWords[overlap]} {catchUpWords[catchUp]}
        </p>
        <Actions schedule={schedule} session={session} />
        <div className="mt-3">
          <Command text={`pawl schedules run ${quoted(session)} ${quoted(id)}`} />
        </div>
      </section>
      <Section title={state === 'paused' ? 'Next times if it is resumed now' : 'Next times'}>
        {nextTimes.length === 0 ? (
          <p className="text-soft">It will not run again.</p>
        ) : (
          <ol className="divide-y divide-line">
            {nextTimes.map((at) => (
              <li key={at} className="flex flex-wrap justify-between gap-x-4 py-1.5">
                <Time at={at}>{clockTime(at)}</Time>
                <span className="text-sm text-soft">
                  <Left until={at} />
                </span>
              </li>
            ))}
          </ol>
        )}
      </Section>
      {tool !== null && (
        <Section title="Input of each run">
          <Arguments value={input} />
        </Section>
      )}
      <History session={session} id={id} />
    </>
  )
}

type Action = 'pause' | 'resume' | 'run' | 'cancel'

const actions: Readonly<Record<Action, { title: string; consequence: string; action: string }>> = {
  pause: {
    title: 'Pause the schedule',
    consequence:
      'It does not run until it is resumed. Missed runs are not made up for. Runs that have started continue.',
    action: 'Pause',
  },
  resume: { title: 'Resume the schedule', consequence: 'It runs again at its next time.', action: 'Resume' },
  run: {
    title: 'Run it now',
    consequence: 'One more run starts at once, with its input or message. Its next times stay as they are.',
    action: 'Run now',
  },
  cancel: {
    title: 'Remove the schedule',
    consequence: 'It is deleted and does not run again. Runs that have started continue.',
    action: 'Remove',
  },
}

function Actions({ schedule, session }: { readonly schedule: Schedule; readonly session: string }): ReactNode {
  const mayCall = useMay('call')
  const [chosen, choose] = useState<Action | null>(null)
  if (!mayCall) return null
  const of = { session, schedule: schedule.id }
  const act = async (action: Action): Promise<void> => {
    await client.schedules[action](of)
    const done = {
      pause: 'It is paused.',
      resume: 'It is active.',
      run: 'A run has started.',
      cancel: 'It is removed.',
    }
    notify(done[action])
    void queryClient.invalidateQueries({ queryKey: ['schedules'] })
  }
  const { state } = schedule
  const offered: readonly Action[] = [
    ...(state === 'active' ? (['pause'] as const) : state === 'paused' ? (['resume'] as const) : []),
    ...(state === 'ended' ? [] : (['run'] as const)),
    'cancel',
  ]
  return (
    <div className="flex flex-wrap gap-2">
      {offered.map((action) => (
        <button key={action} type="button" className="button" onClick={() => choose(action)}>
          {actions[action].action}
        </button>
      ))}
      {chosen !== null && (
        <Confirm
          {...actions[chosen]}
          tone={chosen === 'cancel' ? 'stop' : 'go'}
          run={() => act(chosen)}
          onClose={() => choose(null)}
        />
      )}
    </div>
  )
}

const tones: Readonly<Record<string, Tone>> = { started: 'go', failed: 'stop', missed: 'wait', overlap: 'neutral' }

const outcomeWords: Readonly<Record<string, string>> = {
  started: 'Started',
  failed: 'Failed to start',
  missed: 'Missed',
  overlap: 'Skipped, the last run was open',
}

function History({ session, id }: ScheduleScreenProps): ReactNode {
  const { data: slots = [] } = useQuery({
    queryKey: ['schedules', session, id, 'history'],
    queryFn: () => client.schedules.history({ session, schedule: id }),
  })
  return (
    <Section title="Last runs">
      {slots.length === 0 && <p className="text-soft">It has not run yet.</p>}
      <ol className="divide-y divide-line">
        {slots.toReversed().map(({ slot, firedAt, outcome, task, byHand, why }) => (
          <li key={`${slot} ${firedAt}`} className="flex flex-wrap items-center gap-x-3 py-1.5">
            <Badge tone={tones[outcome] ?? 'neutral'}>{outcomeWords[outcome] ?? outcome}</Badge>
            <Time at={slot}>{clockTime(slot)}</Time>
            {byHand && <span className="text-sm text-soft">run now</span>}
            {why !== undefined && <span className="any text-sm text-soft">{shown(why)}</span>}
            {task !== undefined && (
              <Link href={taskPath(session, task)} className="text">
                Open the task
              </Link>
            )}
          </li>
        ))}
      </ol>
    </Section>
  )
}
