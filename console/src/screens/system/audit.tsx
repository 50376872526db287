// The audit: decisions, revocations, acceptances and erasures with their authors, newest first.

import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { Pages } from '../../ui/pages.tsx'
import { Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Time } from '../../ui/time.tsx'

type Event = Awaited<ReturnType<typeof client.audit.list>>['events'][number]

const pageSize = 100

export function Audit(): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <Section title="Audit">
      {isOpen ? (
        <Entries />
      ) : (
        <>
          <p className="mb-2 text-soft">Who decided, cancelled, revoked, accepted or erased something, newest first.</p>
          <button type="button" className="button" onClick={() => setOpen(true)}>
            Show the audit
          </button>
        </>
      )}
    </Section>
  )
}

const Entries = (): ReactNode => (
  <Pages
    queryKey={['audit']}
    read={(before) => client.audit.list({ limit: pageSize, ...(before === null ? {} : { before }) })}
    more="Show older entries"
  >
    {(pages, isWhole) => {
      const events = pages.flatMap((page) => page.events)
      if (events.length === 0)
        return <p className="text-soft">{isWhole ? 'Nothing yet.' : 'Nothing in the newest part of the record.'}</p>
      return (
        <ol className="divide-y divide-line">
          {events.map((event) => (
            <Entry key={event.cursor} event={event} />
          ))}
        </ol>
      )
    }}
  </Pages>
)

function Entry({ event }: { readonly event: Event }): ReactNode {
  const { type, at, body, call, session } = event
  const facts = Object.entries(body as Readonly<Record<string, unknown>>)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return (
    <li className="grid gap-x-4 py-1.5 sm:grid-cols-[11rem_1fr_auto]">
      <code className="any text-sm">{type}</code>
      <span className="any text-sm text-soft">
        {shown(facts.join(', ').slice(0, 500))}
        {session !== '' && ` in ${shown(session)}`}{' '}
        {type.startsWith('call.') && (
          <Link href={`/calls/${encodeURIComponent(call)}`} className="text">
            Open the call
          </Link>
        )}
      </span>
      <span className="text-sm text-soft">
        <Time at={at}>{clockTime(at)}</Time>
      </span>
    </li>
  )
}
