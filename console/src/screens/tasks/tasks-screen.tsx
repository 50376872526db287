// Background tasks of all sessions, newest first.

import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { Pages } from '../../ui/pages.tsx'
import { Empty } from '../../ui/command.tsx'
import { Badge, ScreenTitle, usePageTitle } from '../../ui/parts.tsx'
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
  return (
    <>
      <ScreenTitle>Tasks</ScreenTitle>
      <Pages
        queryKey={['tasks', 'recent']}
        read={(before) => client.tasks.recent({ limit: pageSize, ...(before === null ? {} : { before }) })}
        more="Show older tasks"
      >
        {(pages, isWhole) => {
          const tasks = pages.flatMap((page) => page.tasks)
          if (tasks.length === 0 && isWhole) return <NoTasks />
          return (
            <ul className="panel divide-y divide-line">
              {tasks.map((task) => (
                <TaskRow key={task.call} task={task} />
              ))}
            </ul>
          )
        }}
      </Pages>
    </>
  )
}

function TaskRow({ task }: { readonly task: Row }): ReactNode {
  const { session, id, title, state, status, summary, progress, asks, createdAt, finishedAt } = task
  const text = finishedAt === null ? (asks ?? status) : state === 'succeeded' ? null : summary
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
