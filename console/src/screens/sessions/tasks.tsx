// The background tasks of a session: state, progress, cancel.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client, messageOf, queryClient } from '../../api/client.ts'
import { useMay } from '../../shell/me.tsx'
import { notify } from '../../ui/notices.tsx'
import { Badge, Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago } from '../../ui/time.tsx'
import { Progress } from '../tasks/progress.tsx'
import { taskPath, taskState, taskTone } from '../tasks/task-words.ts'

type Task = Awaited<ReturnType<typeof client.tasks.list>>[number]

const cancel = async (session: string, task: Task): Promise<void> => {
  try {
    await client.tasks.cancel({ session, task: task.id })
    notify(`The cancellation of ${shown(task.title)} is recorded.`)
    void queryClient.invalidateQueries({ queryKey: ['tasks', session] })
  } catch (error) {
    notify(messageOf(error))
  }
}

export function Tasks({ session }: { readonly session: string }): ReactNode {
  const { data: tasks = [] } = useQuery({
    queryKey: ['tasks', session],
    queryFn: () => client.tasks.list({ session, limit: 50 }),
  })
  if (tasks.length === 0) return null
  return (
    <Section title="Tasks">
      <ul className="divide-y divide-line">
        {tasks.map((task) => (
          <TaskRow key={task.id} task={task} session={session} />
        ))}
      </ul>
    </Section>
  )
}

function TaskRow({ task, session }: { readonly task: Task; readonly session: string }): ReactNode {
  const mayCall = useMay('call')
  const { title, state, status, summary, progress, createdAt, finishedAt } = task
  const text = finishedAt === null ? status : summary
  return (
    <li className="py-2">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={taskTone(state)}>{taskState(state)}</Badge>
        <Link href={taskPath(session, task.id)} className="text any flex-1">
          {shown(title)}
        </Link>
        <span className="text-sm text-soft">
          <Ago at={createdAt} />
        </span>
      </p>
      {text !== null && <p className="any text-sm text-soft">{shown(text)}</p>}
      {finishedAt === null && <Progress progress={progress} title={title} />}
      {mayCall && finishedAt === null && (
        <button type="button" className="button button-small mt-1" onClick={() => void cancel(session, task)}>
          Cancel
        </button>
      )}
    </li>
  )
}
