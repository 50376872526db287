// Messages to and from a task, and a field that sends one or answers what the task asks.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { client, queryClient } from '../../api/client.ts'
import { MessageForm } from '../../forms/message-form.tsx'
import { useMay } from '../../shell/me.tsx'
import { Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Time } from '../../ui/time.tsx'

type Task = Awaited<ReturnType<typeof client.tasks.get>>

interface TaskMessagesProps {
  readonly task: Task
  readonly session: string
}

const maxMessages = 100

export function TaskMessages({ task, session }: TaskMessagesProps): ReactNode {
  const { data: messages = [] } = useQuery({
    queryKey: ['task', session, task.id, 'messages'],
    queryFn: () => client.tasks.messages({ session, task: task.id, last: maxMessages }),
  })
  const isOpen = task.finishedAt === null
  if (messages.length === 0 && !isOpen) return null
  return (
    <Section title="Messages">
      {messages.length === maxMessages && <p className="mb-2 text-soft">These are the last {maxMessages}.</p>}
      <ol className="mb-3 flex flex-col gap-2">
        {messages.map(({ id, direction, text, asks, at }) => (
          <li key={id} className={`rounded-lg p-3 ${direction === 'in' ? 'ml-6 bg-sunk' : 'border border-line'}`}>
            <p className="mb-1 flex justify-between gap-4 text-sm text-soft">
              <span>{direction === 'in' ? 'To the task' : asks ? 'The task asks' : 'From the task'}</span>
              <Time at={at}>{clockTime(at)}</Time>
            </p>
            <p className="wrap">{shown(text)}</p>
          </li>
        ))}
      </ol>
      {isOpen && <Composer task={task} session={session} />}
    </Section>
  )
}

function Composer({ task, session }: TaskMessagesProps): ReactNode {
  const mayCall = useMay('call')
  if (!mayCall) return null
  const { inputRequest } = task
  const send = async (text: string): Promise<void> => {
    const reply = inputRequest ? { inReplyTo: inputRequest.id } : {}
    await client.tasks.message({ session, task: task.id, text, ...reply })
    void queryClient.invalidateQueries({ queryKey: ['task', session, task.id] })
  }
  return (
    <MessageForm
      key={inputRequest?.id ?? 'message'}
      label={
        inputRequest
          ? `Reply to: ${shown(inputRequest.prompt)}`
          : 'Message to the task (it reads it when it checks for messages)'
      }
      button={inputRequest ? 'Reply' : 'Send'}
      send={send}
    />
  )
}
