// Background tasks of all sessions, newest first.

import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { Badge, Empty, Failed, Loading, ScreenTitle, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago } from '../../ui/time.tsx'
import { Progress } from './progress.tsx'
import { taskPath, taskState, taskTone } from './task-words.ts'
import { quoted } from '../calls/commands.ts'
import { useExampleCall } from '../tools/example-call.ts'

type Row = Awaited<ReturnType<typeof client.tasks.recent>>['tasks'][number]

const pageSize = 50

export function TasksScreen(): ReactNode {
  usePageTitle('Tasks')
  const query = useInfiniteQuery({
    queryKey: ['tasks', 'recent'],
    queryFn: ({ pageParam }) =>
      client.tasks.recent({ limit: pageSize, ...(pageParam === null ? {} : { before: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  })
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  const tasks = query.data.pages.flatMap((page) => page.tasks)
  return (
    <>
      <ScreenTitle>Tasks</ScreenTitle>
      {tasks.length === 0 && !query.hasNextPage ? (
        <NoTasks />
      ) : (
        <ul className="panel divide-y divide-line">
          {tasks.map((task) => (
            <TaskRow key={task.call} task={task} />
          ))}
        </ul>
      )}
      {query.hasNextPage && (
        <button
          type="button"
          className="button mt-3"
          disabled={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Show older tasks
        </button>
      )}
    </>
  )
}

function TaskRow({ task }: { readonly task: Row }): ReactNode {
  const { session, id, title, state, status, summary, progress, asks, createdAt, finishedAt } = task
  const text = finishedAt === null ? (asks ?? status) : summary
  return (
    <li className="p-3">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={taskTone(state)}>{taskState(state)}</Badge>
        <Link href={taskPath(session, id)} className="text any flex-1 font-medium">
          {shown(title)}
        </Link>
        <span className="text-sm text-soft">
          <Ago at={createdAt} />
        </span>
      </p>
      <p className="any text-sm text-soft">in {shown(session)}</p>
      {text !== null && <p className="any text-sm">{shown(text)}</p>}
      {finishedAt === null && <Progress progress={progress} title={title} />}
    </li>
  )
}

function NoTasks(): ReactNode {
  const example = useExampleCall(({ hints }) => hints?.idempotent === true)
  const command = example ? `pawl tasks start chat-1 ${quoted(example.name)} ${quoted(example.input)}` : 'pawl init'
  return (
    <Empty title="No tasks yet" command={command}>
      A task is a tool that runs in the background of a session. A model starts one with spawn_background.
    </Empty>
  )
}
