// The history of a request: the calls before it, why it asks, and earlier decisions about its tool. The page decides
// without it, so a failure to read it is shown below the decision.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { useMay } from '../../shell/me.tsx'
import { Badge, Failed, Loading, Section, type Tone } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Time } from '../../ui/time.tsx'
import { nameOf } from '../calls/call-words.ts'
import { Explanation } from '../policy/explain.tsx'
import { MessageView } from '../sessions/conversation.tsx'
import { Changes, changesOf } from './changes.tsx'
import { decidedWords, type Item } from './item-words.ts'

type Context = Awaited<ReturnType<typeof client.inbox.context>>

export function DecisionContext({ item }: { readonly item: Item }): ReactNode {
  const query = useQuery({
    queryKey: ['item-context', item.id],
    queryFn: () => client.inbox.context({ item: item.id }),
  })
  const mayOperate = useMay('operate')
  const { data: rules } = useQuery({
    queryKey: ['policy'],
    queryFn: () => client.policy.rules(),
    enabled: mayOperate && item.kind === 'approval',
  })
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  const { data: context } = query
  if (!context) return <Loading />
  const { explained, earlier } = context
  return (
    <>
      <LedHere item={item} context={context} />
      {explained && explained.would !== 'be refused' && (
        <Section title="Why it asks">
          <p className="any mb-2 text-sm text-soft">
            As the policy is now, for calls of{' '}
            {item.principal === null ? 'a caller without a name' : shown(item.principal)}.
          </p>
          <Explanation explained={explained} rules={rules ?? []} />
        </Section>
      )}
      <Earlier item={item} earlier={earlier} />
    </>
  )
}

const SessionLink = ({ session }: { readonly session: string }): ReactNode => (
  <Link href={`/sessions/${encodeURIComponent(session)}`} className="text">
    {shown(session)}
  </Link>
)

function LedHere({ item, context }: { readonly item: Item; readonly context: Context }): ReactNode {
  const { above, messages } = context
  return (
    <Section title="What led here">
      {above.length === 0 ? (
        <p className="any">
          No model asked for it: a program or a person started this call in session{' '}
          <SessionLink session={item.session} />.
        </p>
      ) : (
        <ol className="any flex flex-wrap items-center gap-x-2" aria-label="The calls above this one">
          {above.map(({ uid, name, session, isTurn }) => (
            <li key={uid}>
              <Link href={`/calls/${encodeURIComponent(uid)}`} className="text">
                {isTurn ? 'A turn' : shown(nameOf(name))}
              </Link>
              {isTurn && (
                <>
                  {' of session '}
                  <SessionLink session={session} />
                </>
              )}{' '}
              →
            </li>
          ))}
          <li>
            <code>{shown(item.tool)}</code>
          </li>
        </ol>
      )}
      {messages.length > 0 && (
        <ol className="mt-3 flex flex-col gap-3" aria-label="The last messages of the turn">
          {messages.map((stored) => (
            <MessageView key={stored.number} stored={stored} />
          ))}
        </ol>
      )}
    </Section>
  )
}

const tones: Readonly<Record<string, Tone>> = { approve: 'go', edit: 'go', deny: 'stop', answer: 'accent' }

interface EarlierProps {
  readonly item: Item
  readonly earlier: Context['earlier']
}

function Earlier({ item, earlier }: EarlierProps): ReactNode {
  const approved = earlier.find(({ verb }) => verb === 'approve' || verb === 'edit')
  const changes = approved ? changesOf(approved.args, item.args) : []
  return (
    <Section title="Earlier decisions about this tool">
      {earlier.length === 0 && <p className="text-soft">A person has not decided about any of its last calls.</p>}
      {approved && changes.length === 0 && <p className="mb-2">The last approved call had the same arguments.</p>}
      <Changes title="Last approved call → this one" label="Since the last approved call" changes={changes} />
      <ol className="divide-y divide-line">
        {earlier.map(({ call, session, verb, votes }) => (
          <li key={call} className="any flex flex-wrap items-center gap-x-3 py-1.5">
            <Badge tone={tones[verb] ?? 'neutral'}>{decidedWords[verb] ?? 'decided'}</Badge>
            <span className="min-w-0 flex-1">
              {votes.map(({ by, door, at, reason }) => (
                <span key={`${by} ${at}`} className="block">
                  {shown(by)} <span className="text-sm text-soft">by {shown(door)},</span>{' '}
                  <Time at={at}>{clockTime(at)}</Time>
                  {reason !== undefined && <span className="wrap block text-sm text-soft">{shown(reason)}</span>}
                </span>
              ))}
            </span>
            <Link href={`/calls/${encodeURIComponent(call)}`} className="text text-sm">
              Call in {shown(session)}
            </Link>
          </li>
        ))}
      </ol>
    </Section>
  )
}
