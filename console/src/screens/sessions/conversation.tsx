// The messages of a session in order, and a field that starts a turn.

import { type InfiniteData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import { Link } from 'wouter'
import { client, queryClient } from '../../api/client.ts'
import { MessageForm } from '../../forms/message-form.tsx'
import { useMay } from '../../shell/me.tsx'
import { Badge, Failed, Loading } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Time } from '../../ui/time.tsx'
import { LongText } from '../../ui/values.tsx'
import { type CallRow, statusWords } from '../calls/call-words.ts'
import { Streaming } from './streaming.tsx'

type Stored = Awaited<ReturnType<typeof client.messages.list>>[number]
type Message = Stored['message']

const pageSize = 200

/** The newest page first. Messages are only added, so the newest ones are read again and join those before them. */
function useMessages(session: string) {
  const queryKey = ['messages', session]
  return useInfiniteQuery({
    queryKey,
    queryFn: async ({ pageParam: before }) => {
      const data = queryClient.getQueryData<InfiniteData<Stored[], number | null>>(queryKey)
      const old = data?.pages[data.pageParams.indexOf(before)]
      if (before !== null) return old ?? client.messages.list({ session, before, limit: pageSize })
      const newest = await client.messages.list({ session, newest: true, limit: pageSize })
      const first = newest[0]?.number ?? 0
      const isJoined = (old?.at(-1)?.number ?? 0) >= first - 1
      return isJoined ? [...(old ?? []).filter(({ number }) => number < first), ...newest] : newest
    },
    initialPageParam: null as number | null,
    getNextPageParam: ([first]) => (first && first.number > 1 ? first.number : undefined),
  })
}

interface ConversationProps {
  readonly session: string
  readonly isOpen: boolean
}

export function Conversation({ session, isOpen }: ConversationProps): ReactNode {
  const query = useMessages(session)
  const calls = useKnownCalls(session)
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  const messages = query.data.pages.toReversed().flat()
  return (
    <>
      {messages.length === 0 && <p className="mb-3 text-soft">No model has been asked in this session.</p>}
      {query.hasNextPage && (
        <button
          type="button"
          className="button mb-3"
          disabled={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Show earlier messages
        </button>
      )}
      <ol className="mb-3 flex flex-col gap-3">
        {messages.map((stored) => (
          <MessageView key={stored.number} stored={stored} calls={calls} />
        ))}
      </ol>
      {!isOpen && <FailedTurn calls={calls} />}
      <Streaming session={session} isOpen={isOpen} recorded={messages.at(-1)?.number ?? 0} />
      <Composer session={session} isOpen={isOpen} />
    </>
  )
}

/** The last turn, if it ended without an answer. */
function FailedTurn({ calls: { lastTurn: last } }: { readonly calls: KnownCalls }): ReactNode {
  if (!last || last.status === 'success' || last.settledAt === null) return null
  return (
    <p role="alert" className="wrap mb-3 rounded-lg border border-stop p-3">
      <span className="text-stop">The last turn ended without an answer.</span> {shown(last.message ?? '')}{' '}
      <Link href={`/calls/${last.uid}`} className="text">
        Open the turn
      </Link>
    </p>
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

interface MessageViewProps {
  readonly stored: Stored
  /** The calls of the session by the model's id, as far as they are known. */
  readonly calls?: KnownCalls
}

interface KnownCalls {
  /** Newest first, by the model's id. */
  readonly byId: ReadonlyMap<string, readonly CallRow[]>
  /** Calls that were recorded before this instant may be missing. */
  readonly since: number
  readonly lastTurn?: CallRow
}

const maxCalls = 500

function useKnownCalls(session: string): KnownCalls {
  const { data } = useQuery({
    queryKey: ['calls', 'of session', session],
    queryFn: () => client.calls.recent({ session, limit: maxCalls }),
  })
  return useMemo(() => {
    const calls = data?.calls ?? []
    const lastTurn = calls.find(({ name }) => name.startsWith('pawl:turn:'))
    const since = data?.next === null ? 0 : (calls.at(-1)?.createdAt ?? Infinity)
    return { byId: Map.groupBy(calls, ({ callId }) => callId), since, ...(lastTurn ? { lastTurn } : {}) }
  }, [data])
}

const noCalls: KnownCalls = { byId: new Map(), since: Infinity }

export function MessageView({ stored, calls = noCalls }: MessageViewProps): ReactNode {
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
      <Parts stored={stored} calls={calls} />
    </li>
  )
}

function Parts({ stored: { message, at }, calls }: Required<MessageViewProps>): ReactNode {
  if (message.role === 'summary') return <LongText text={message.text} label="the summary" />
  if (message.role === 'frame') return <p className="any">The turn continues in {shown(message.frame)}.</p>
  if (message.role === 'notice')
    return (
      <details>
        <summary className="py-0.5">What the model reads</summary>
        <LongText text={textOf(message.parts)} label="the notice" />
      </details>
    )
  if (message.role === 'tool')
    return message.results.map(({ callId, name, status, parts }) => (
      <details key={callId}>
        <summary className="any py-0.5">
          <code>{shown(name)}</code>{' '}
          <span className="text-sm text-soft">{statusWords(status, status).text.toLowerCase()}</span>
        </summary>
        <LongText text={textOf(parts)} label="the result" />
      </details>
    ))
  return message.parts.map((part, index) => {
    const key = `${index} ${part.type}`
    if (part.type === 'text') return <LongText key={key} text={part.text} label="the text" />
    if (part.type === 'call') return <CallInPlace key={key} id={part.id} name={part.name} after={at} calls={calls} />
    return (
      <p key={key} className="text-sm text-soft">
        {part.type}
      </p>
    )
  })
}

interface CallInPlaceProps {
  readonly id: string
  readonly name: string
  /** When the message with the call was recorded. */
  readonly after: number
  readonly calls: KnownCalls
}

/** A call that the model asked for, with its state now. Models use an id again in another turn, so the time decides. */
function CallInPlace({ id, name, after, calls }: CallInPlaceProps): ReactNode {
  const call = calls.since > after ? undefined : calls.byId.get(id)?.findLast(({ createdAt }) => createdAt >= after)
  const status = call && statusWords(call.state, call.status, call.code)
  return (
    <p className="any mt-1 flex flex-wrap items-center gap-x-2">
      <span className="text-soft">calls</span>
      {call ? (
        <Link href={`/calls/${call.uid}`} className="text font-mono">
          {shown(name)}
        </Link>
      ) : (
        <code>{shown(name)}</code>
      )}
      {status && <Badge tone={status.tone}>{status.text}</Badge>}
      {call && call.attempts > 1 && <span className="text-sm text-soft">{call.attempts} attempts</span>}
    </p>
  )
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
