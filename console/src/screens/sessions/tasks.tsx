// The background tasks of a session: state and progress. The page of a task cancels it.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { Badge, Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago } from '../../ui/time.tsx'
import { Progress } from '../tasks/progress.tsx'
import { taskPath, taskState, taskTone } from '../tasks/task-words.ts'

type Task = Awaited<ReturnType<typeof client.tasks.list>>[number]

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
  const { title, state, status, summary, progress, createdAt, finishedAt } = task
  const text = finishedAt === null ? status : state === 'succeeded' ? null : summary
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
      {text !== null && <p className="any line-clamp-3 text-sm text-soft">{shown(text)}</p>}
      {finishedAt === null && <Progress progress={progress} title={title} />}
    </li>
  )
}
