// Follows the calls that this page decided: the request disappears from the inbox, and its story goes on here.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useSyncExternalStore } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { Badge, Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { statusWords } from '../calls/call-words.ts'

interface Decided {
  readonly call: string
  readonly session: string
  readonly text: string
}

const maxShown = 5
/** In the storage of the tab, so that they outlive a reload. */
const storageKey = 'pawl.decided'
const ownerKey = 'pawl.decided.of'
const listeners = new Set<() => void>()

function read(): readonly Decided[] {
  try {
    const found = JSON.parse(sessionStorage.getItem(storageKey) ?? '[]') as unknown
    return Array.isArray(found) ? (found as readonly Decided[]) : []
  } catch {
    return []
  }
}

let decided = read()

function change(next: readonly Decided[]): void {
  decided = next
  sessionStorage.setItem(storageKey, JSON.stringify(next))
  for (const listener of listeners) listener()
}

export const addDecided = (one: Decided): void =>
  change([one, ...decided.filter(({ call }) => call !== one.call)].slice(0, maxShown))

/** Another person who signs in on this tab does not see the decisions of the last one. */
export function showDecidedOf(owner: string): void {
  if (sessionStorage.getItem(ownerKey) === owner) return
  sessionStorage.setItem(ownerKey, owner)
  change([])
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const runningIntervalMs = 1_000

export function JustDecided(): ReactNode {
  const rows = useSyncExternalStore(subscribe, () => decided)
  if (rows.length === 0) return null
  return (
    <Section title="What you decided">
      <ul className="divide-y divide-line">
        {rows.map((each) => (
          <Row key={each.call} {...each} />
        ))}
      </ul>
    </Section>
  )
}

function Row({ call: uid, session, text }: Decided): ReactNode {
  const { data: timeline } = useQuery({
    queryKey: ['timeline', uid, session],
    queryFn: () => client.calls.timeline({ call: uid }),
  })
  const call = timeline?.rows.find((row) => row.uid === uid)
  // A worker that dies writes no event.
  const { data: details } = useQuery({
    queryKey: ['call', uid],
    queryFn: () => client.calls.find({ call: uid }),
    refetchInterval: ({ state: { data } }) => (data?.state === 'running' ? runningIntervalMs : false),
  })
  const status = call && statusWords(call.state, call.status, call.code)
  const crashes = call?.marks.filter(({ kind }) => kind === 'takeover' || kind === 'lost') ?? []
  const isLost = details?.worker === 'lost'
  return (
    <li className="py-2">
      <p className="any mb-1 font-medium">{text}</p>
      <p className="any flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
        {status && <Badge tone={status.tone}>{status.text}</Badge>}
        {isLost && (
          <strong className="text-wait">
            <span aria-hidden="true">⚡ </span>The worker stopped while it ran. Another one continues as soon as one is
            free.
          </strong>
        )}
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
