// Follows the calls that this page decided: the request disappears from the inbox, and its story goes on here.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useSyncExternalStore } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { Badge, Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { statusWords } from '../calls/call-words.ts'
import type { Item } from './item-words.ts'

interface Decided {
  readonly call: string
  readonly session: string
  readonly text: string
}

const maxShown = 5
let decided: readonly Decided[] = []
const listeners = new Set<() => void>()

export function addDecided({ call, session, preview }: Item, word: string): void {
  decided = [{ call, session, text: `${word}: ${preview.summary}` }, ...decided.filter((each) => each.call !== call)]
  decided = decided.slice(0, maxShown)
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function JustDecided(): ReactNode {
  const rows = useSyncExternalStore(subscribe, () => decided)
  if (rows.length === 0) return null
  return (
    <div className="mt-6">
      <Section title="What you decided">
        <ul className="divide-y divide-line">
          {rows.map((each) => (
            <Row key={each.call} {...each} />
          ))}
        </ul>
      </Section>
    </div>
  )
}

function Row({ call: uid, session, text }: Decided): ReactNode {
  const { data: timeline } = useQuery({
    queryKey: ['timeline', uid, session],
    queryFn: () => client.calls.timeline({ call: uid }),
  })
  const call = timeline?.rows.find((row) => row.uid === uid)
  const status = call && statusWords(call.state, call.status, call.code)
  const crashes = call?.marks.filter(({ kind }) => kind === 'takeover' || kind === 'lost') ?? []
  return (
    <li className="py-2">
      <p className="any mb-1 font-medium">{text}</p>
      <p className="any flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
        {status && <Badge tone={status.tone}>{status.text}</Badge>}
        {crashes.map((mark) => (
          <span key={mark.at}>
            <span aria-hidden="true">⚡ </span>
            {shown(mark.text)}.
          </span>
        ))}
        <Link href={`/calls/${uid}`} className="text" aria-label={`What happened: ${text}`}>
          What happened
        </Link>
      </p>
    </li>
  )
}
