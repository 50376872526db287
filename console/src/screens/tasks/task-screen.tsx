// One task: state, progress, output as it is written, messages, and a button that cancels it.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { client, isMissing, queryClient } from '../../api/client.ts'
import { useMay } from '../../shell/me.tsx'
import { notify } from '../../ui/notices.tsx'
import { Confirm } from '../../forms/confirm.tsx'
import { Command } from '../../ui/command.tsx'
import { Badge, Failed, Loading, ScreenTitle, Section, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago, clockTime, durationText, Time, useNow } from '../../ui/time.tsx'
import { Json } from '../../ui/values.tsx'
import { quoted } from '../calls/commands.ts'
import { Progress } from './progress.tsx'
import { TaskMessages } from './task-messages.tsx'
import { TaskOutput } from './task-output.tsx'
import { taskState, taskTone } from './task-words.ts'

type Task = Awaited<ReturnType<typeof client.tasks.get>>

interface TaskScreenProps {
  readonly session: string
  readonly id: string
}

export function TaskScreen({ session, id }: TaskScreenProps): ReactNode {
  const query = useQuery({
    queryKey: ['task', session, id],
    queryFn: () => client.tasks.get({ session, task: id }),
  })
  usePageTitle(query.data ? shown(query.data.title) : 'Task')
  if (isMissing(query.error)) return <ScreenTitle>There is no such task</ScreenTitle>
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  return <TaskPage task={query.data} session={session} />
}

function TaskPage({ task, session }: { readonly task: Task; readonly session: string }): ReactNode {
  const { id, title, state, progress, call, createdAt, finishedAt, logPath } = task
  return (
    <>
      <ScreenTitle
        aside={
          <Link href="/tasks" className="text text-sm">
            Tasks
          </Link>
        }
      >
        {shown(title)} <Badge tone={taskTone(state)}>{taskState(state)}</Badge>
      </ScreenTitle>
      <section className="panel mb-4 p-4" aria-label="Status">
        <p className="any mb-2">
          <StatusSentence task={task} />
        </p>
        {finishedAt === null && <Progress progress={progress} title={title} />}
        <p className="any mt-2 mb-3 text-sm text-soft">
          <Link href={`/sessions/${encodeURIComponent(session)}`} className="text">
            {shown(session)}
          </Link>
          {' · '}
          <Link href={`/calls/${call}`} className="text">
            Call
          </Link>
          {' · '}
          <Time at={createdAt}>{clockTime(createdAt)}</Time> · <code>{shown(id)}</code>
        </p>
        <Actions task={task} session={session} />
        <div className="mt-3">
          <Command text={`pawl tasks ${quoted(session)} ${quoted(id)}${finishedAt === null ? ' --wait 1m' : ''}`} />
        </div>
      </section>
      {logPath !== null && <TaskOutput session={session} id={id} path={logPath} isOpen={finishedAt === null} />}
      <TaskMessages task={task} session={session} />
      <Result session={session} task={task} />
    </>
  )
}

function StatusSentence({ task }: { readonly task: Task }): ReactNode {
  const now = useNow()
  const { state, status, summary, inputRequest, createdAt, startedAt, finishedAt, attempt } = task
  const text = status === null ? '' : ` ${shown(status)}`
  if (finishedAt !== null)
    return `${taskState(state)} after ${durationText(finishedAt - createdAt)}.${summary === null || state === 'succeeded' ? '' : ` ${shown(summary)}`}`
  if (inputRequest)
    return (
      <>
        It has been waiting for a reply since <Ago at={task.updatedAt} />: {shown(inputRequest.prompt)}
      </>
    )
  if (state === 'queued' || startedAt === null)
    return `It has been waiting for a worker for ${durationText(now - createdAt)}.${text}`
  return `Attempt ${attempt} has been running for ${durationText(Math.max(0, now - startedAt))}.${text}`
}

function Actions({ task, session }: { readonly task: Task; readonly session: string }): ReactNode {
  const mayCall = useMay('call')
  const [isCancelling, setCancelling] = useState(false)
  if (!mayCall || task.finishedAt !== null) return null
  const cancel = async (): Promise<void> => {
    const { changed } = await client.tasks.cancel({ session, task: task.id })
    notify(changed ? 'The cancellation is recorded.' : 'The task had ended before.')
    void queryClient.invalidateQueries({ queryKey: ['task', session, task.id] })
  }
  return (
    <>
      <button type="button" className="button" onClick={() => setCancelling(true)}>
        Cancel
      </button>
      {isCancelling && (
        <Confirm
          title={`Cancel ${shown(task.title)}`}
          consequence={
            'The tool is asked to stop, and the calls that it started are cancelled with it. Effects that have already ' +
            'happened are not undone.'
          }
          action="Cancel the task"
          run={cancel}
          onClose={() => setCancelling(false)}
        />
      )}
    </>
  )
}

function Result({ task, session }: { readonly task: Task; readonly session: string }): ReactNode {
  const { data } = useQuery({
    queryKey: ['task', session, task.id, 'result'],
    queryFn: () => client.tasks.result({ session, task: task.id }),
    enabled: task.finishedAt !== null,
  })
  if (data?.result === undefined || data.result === null) return null
  return (
    <Section title="Result as the model reads it">
      <Json value={data.result} label="the result" />
    </Section>
  )
}
