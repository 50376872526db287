// One request: what would run, why it asks, who waits, until when, and what then.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { client, isMissing } from '../../api/client.ts'
import { Command } from '../../ui/command.tsx'
import { Badge, Failed, Loading, ScreenTitle, Section, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago, clockTime, Left, Time } from '../../ui/time.tsx'
import { Arguments, LongText } from '../../ui/values.tsx'
import { Actions } from './actions.tsx'
import { DecisionContext } from './decision-context.tsx'
import { decidedWords, expiryText, type Item, kindWords, shownItem } from './item-words.ts'

export function DecisionScreen({ id }: { readonly id: string }): ReactNode {
  const query = useQuery({
    queryKey: ['item', id],
    queryFn: async () => shownItem(await client.inbox.get({ item: id })),
  })
  usePageTitle(query.data?.preview.summary ?? 'Request')
  const [isDeciding, setDeciding] = useState(false)
  const hasEnded = isMissing(query.error)
  // A dialog stays open with what was typed.
  if (hasEnded && !(isDeciding && query.data)) return <Gone id={id} was={query.data} />
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  return <Open item={query.data} hasEnded={hasEnded} onDeciding={setDeciding} />
}

/** A request that is no longer open: who decided it, and where its story goes on. */
function Gone({ id, was }: { readonly id: string; readonly was: Item | undefined }): ReactNode {
  const query = useQuery({ queryKey: ['ended-item', id], queryFn: () => client.inbox.decided({ item: id }) })
  const { data: ended, error } = query
  if (!ended && !error) return <Loading />
  if (!ended && !isMissing(error)) return <Failed error={error} retry={() => void query.refetch()} />
  return (
    <>
      <ScreenTitle aside={<BackToInbox />}>{was?.preview.summary ?? 'This request is not open'}</ScreenTitle>
      <div className="panel p-4">
        <p className="any mb-2">{ended ? endText(ended) : 'There is no such request, or its records were deleted.'}</p>
        {ended && (
          <Link href={`/calls/${ended.call}`} className="text">
            See what happened
          </Link>
        )}
      </div>
    </>
  )
}

type Ended = Awaited<ReturnType<typeof client.inbox.decided>>

function endText({ status, by }: Ended): ReactNode {
  if (status === 'expired') return 'It expired before anyone decided.'
  if (status === 'withdrawn') return 'It was withdrawn, because its call ended.'
  const last = by.at(-1)
  return (
    <>
      {by.length === 0 ? 'A rule' : by.map((vote) => shown(vote.by)).join(', ')} {decidedWords[status] ?? 'decided'} it
      {last && (
        <>
          {' '}
          (<Time at={last.at}>{clockTime(last.at)}</Time>)
        </>
      )}
      .{last?.reason !== undefined && ` Reason: ${shown(last.reason)}`}
    </>
  )
}

const BackToInbox = (): ReactNode => (
  <Link href="/inbox" className="text text-sm">
    Inbox
  </Link>
)

interface OpenProps {
  readonly item: Item
  readonly hasEnded: boolean
  /** A dialog is open. */
  readonly onDeciding: (isDeciding: boolean) => void
}

function Open({ item, hasEnded, onDeciding }: OpenProps): ReactNode {
  const [, navigate] = useLocation()
  const { label, tone, asks } = kindWords[item.kind]
  return (
    <>
      <ScreenTitle aside={<BackToInbox />}>
        {item.preview.summary} <Badge tone={tone}>{label}</Badge>
      </ScreenTitle>
      <div className="grid gap-x-4 lg:grid-cols-[1fr_20rem]">
        <div className="min-w-0">
          <section className="panel mb-4 p-4" aria-label="Decision">
            <p className="any mb-3">
              {asks}. {item.reason === item.question?.text ? '' : item.reason}
            </p>
            <Actions item={item} hasEnded={hasEnded} onDeciding={onDeciding} onDecided={() => navigate('/inbox')} />
          </section>
          {item.question && (
            <Section title="Question">
              <LongText text={item.question.text} label="the question" />
            </Section>
          )}
          {item.interrupted && (
            <Section title="What is known">
              <p>
                Attempt {item.interrupted.attempt} began at{' '}
                <Time at={item.interrupted.startedAt}>{clockTime(item.interrupted.startedAt)}</Time>, and its worker
                stopped before it recorded a result. Find out from the service that the tool uses whether it took
                effect.
              </p>
            </Section>
          )}
          {item.preview.details !== undefined && (
            <Section title="Preview">
              <Preview text={item.preview.details} isDiff={item.preview.format === 'diff'} />
            </Section>
          )}
          <Section title={item.kind === 'approval' ? 'What will run' : 'Arguments'}>
            <Arguments value={item.args} />
          </Section>
          <DecisionContext item={item} />
        </div>
        <div className="min-w-0">
          <Facts item={item} />
        </div>
      </div>
    </>
  )
}

const lineTone = (line: string): string =>
  line.startsWith('+') ? 'text-go' : line.startsWith('-') ? 'text-stop' : line.startsWith('@') ? 'text-soft' : ''

function Preview({ text, isDiff }: { readonly text: string; readonly isDiff: boolean }): ReactNode {
  if (!isDiff) return <LongText text={text} label="the preview" />
  return (
    <pre className="max-h-112 overflow-auto rounded-md bg-sunk p-3 text-sm" tabIndex={0} aria-label="Preview as a diff">
      {text.split('\n').map((line, index) => (
        <div key={index} className={lineTone(line)}>
          {line === '' ? ' ' : shown(line)}
        </div>
      ))}
    </pre>
  )
}

const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode => (
  <div className="py-1.5">
    <dt className="text-sm text-soft">{name}</dt>
    <dd className="any">{children}</dd>
  </div>
)

function Facts({ item }: { readonly item: Item }): ReactNode {
  const command = item.kind === 'question' ? `pawl answer ${item.id}` : `pawl approve ${item.id}`
  return (
    <Section title="About this request">
      <dl className="divide-y divide-line">
        <Fact name="Tool">
          {item.title === item.tool ? '' : `${item.title} · `}
          <code>{shown(item.tool)}</code>
          <br />
          <span className="text-sm text-soft">{item.effect}</span>
        </Fact>
        <Fact name="Who waits">
          {item.principal === null ? 'A caller without a name' : shown(item.principal)} in session {shown(item.session)}
        </Fact>
        <Fact name="Since">
          <Ago at={item.askedAt} />
        </Fact>
        <Fact name="Until">
          <Time at={item.expiresAt}>{clockTime(item.expiresAt)}</Time>, <Left until={item.expiresAt} />.{' '}
          {expiryText(item)} then.
        </Fact>
        {item.quorum > 1 && (
          <Fact name="Approvals">
            {item.approvals.length} of {item.quorum}
            {item.approvals.map(({ by, at }) => (
              <span key={by} className="block text-sm text-soft">
                {shown(by)}, {clockTime(at)}
              </span>
            ))}
          </Fact>
        )}
        {(item.approvers.length > 0 || item.separate) && (
          <Fact name="Who may decide">
            {shown(item.approvers.map((patterns) => patterns.join(' or ')).join(', and also ')) ||
              'Anyone with the right'}
            {item.separate && ', but not the caller'}
          </Fact>
        )}
        <Fact name="Call">
          <Link href={`/calls/${item.call}`} className="text">
            {item.call}
          </Link>
        </Fact>
        <Fact name="Command">
          <Command text={command} />
        </Fact>
      </dl>
    </Section>
  )
}
