// The messages of a session in order, and a field that starts a turn.

import { useInfiniteQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { client, messageOf, queryClient } from '../../api/client.ts'
import { formText } from '../../forms/form-text.ts'
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
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  if (!mayCall) return null
  async function send(form: HTMLFormElement): Promise<void> {
    const message = formText(new FormData(form), 'message')
    if (message === '' || isBusy) return
    setBusy(true)
    try {
      // The open turn reads the message before its next request; otherwise a turn starts.
      if (isOpen) await client.messages.send({ session, message })
      else await client.turns.start({ session, message })
      form.reset()
      setProblem(null)
      void queryClient.invalidateQueries({ queryKey: ['messages', session] })
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void send(event.currentTarget)
      }}
    >
      <label className="mb-2 block">
        <span className="mb-1 block text-sm text-soft">
          {isOpen ? 'Message to the open turn' : 'Message that starts a turn'}
        </span>
        <textarea name="message" rows={2} className="field" required />
      </label>
      {problem !== null && (
        <p role="alert" className="wrap mb-2 text-stop">
          {problem}
        </p>
      )}
      <button type="submit" className="button" disabled={isBusy}>
        Send
      </button>
    </form>
  )
}
