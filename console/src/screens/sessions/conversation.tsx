// The messages of a session in order, and a field that starts a turn.

import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client, queryClient } from '../../api/client.ts'
import { MessageForm } from '../../forms/message-form.tsx'
import { useMay } from '../../shell/me.tsx'
import { Failed, Loading } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Time } from '../../ui/time.tsx'
import { LongText } from '../../ui/values.tsx'
import { Streaming } from './streaming.tsx'

type Stored = Awaited<ReturnType<typeof client.messages.list>>[number]
type Message = Stored['message']

const pageSize = 200

interface ConversationProps {
  readonly session: string
  readonly isOpen: boolean
}

export function Conversation({ session, isOpen }: ConversationProps): ReactNode {
  const query = useInfiniteQuery({
    queryKey: ['messages', session],
    queryFn: ({ pageParam }) => client.messages.list({ session, after: pageParam, limit: pageSize }),
    initialPageParam: 0,
    getNextPageParam: (page) => (page.length < pageSize ? undefined : page.at(-1)?.number),
  })
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  const messages = query.data.pages.flat()
  return (
    <>
      {messages.length === 0 && <p className="mb-3 text-soft">No model has been asked in this session.</p>}
      <ol className="mb-3 flex flex-col gap-3">
        {messages.map((stored) => (
          <MessageView key={stored.number} stored={stored} session={session} />
        ))}
      </ol>
      {query.hasNextPage && (
        <button type="button" className="button mb-3" onClick={() => void query.fetchNextPage()}>
          Show later messages
        </button>
      )}
      <Streaming session={session} isOpen={isOpen} recorded={messages.at(-1)?.number} />
      <Composer session={session} isOpen={isOpen} />
    </>
  )
}

const roleNames: Readonly<Record<Message['role'], string>> = {
  user: 'User',
  assistant: 'Model',
  tool: 'Results',
  notice: 'Notice of the runtime',
  summary: 'Summary of earlier messages',
  frame: 'Frame',
}

export function MessageView({ stored, session }: { readonly stored: Stored; readonly session: string }): ReactNode {
  const { message, at, model } = stored
  return (
    <li className={`rounded-lg p-3 ${message.role === 'user' ? 'ml-6 bg-sunk' : 'border border-line'}`}>
      <p className="mb-1 flex justify-between gap-4 text-sm text-soft">
        <span className="any">
          {roleNames[message.role]}
          {model !== undefined && ` (${shown(model)})`}
        </span>
        <Time at={at}>{clockTime(at)}</Time>
      </p>
      <Parts message={message} session={session} />
    </li>
  )
}

function Parts({ message, session }: { readonly message: Message; readonly session: string }): ReactNode {
  if (message.role === 'summary') return <LongText text={message.text} label="the summary" />
  if (message.role === 'frame') return <p className="any">The turn goes on in {shown(message.frame)}.</p>
  if (message.role === 'tool')
    return message.results.map(({ callId, name, status, parts }) => (
      <details key={callId}>
        <summary className="any py-0.5">
          <code>{shown(name)}</code> <span className="text-sm text-soft">{status}</span>
        </summary>
        <LongText text={textOf(parts)} label="the result" />
      </details>
    ))
  return message.parts.map((part, index) => {
    const key = `${index} ${part.type}`
    if (part.type === 'text') return <LongText key={key} text={part.text} label="the text" />
    if (part.type === 'call')
      return (
        <p key={key} className="any">
          calls{' '}
          <Link
            href={`/calls?session=${encodeURIComponent(session)}&tool=${encodeURIComponent(part.name)}`}
            className="text font-mono"
          >
            {shown(part.name)}
          </Link>
        </p>
      )
    return (
      <p key={key} className="text-sm text-soft">
        {part.type}
      </p>
    )
  })
}

const textOf = (parts: readonly { readonly type: string; readonly text?: string }[]): string =>
  parts.map(({ type, text }) => (type === 'text' ? (text ?? '') : `[${type}]`)).join('\n')

function Composer({ session, isOpen }: ConversationProps): ReactNode {
  const mayCall = useMay('call')
  if (!mayCall) return null
  async function send(message: string): Promise<void> {
    // The open turn reads the message before its next request; otherwise a turn starts.
    if (isOpen) await client.messages.send({ session, message })
    else await client.turns.start({ session, message })
    void queryClient.invalidateQueries({ queryKey: ['messages', session] })
  }
  return (
    <MessageForm
      label={isOpen ? 'Message to the model (it reads it before its next answer)' : 'Message to the model'}
      button="Send"
      send={send}
    />
  )
}
