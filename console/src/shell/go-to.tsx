// Goes to a screen, a tool, a session, a call or a request by what a person types of it.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { client } from '../api/client.ts'
import { toolPath, toolsQuery } from '../screens/tools/catalogue.ts'
import { Dialog } from '../ui/parts.tsx'
import { shown } from '../ui/shown.ts'
import { inboxQuery } from './inbox-query.ts'

interface Target {
  readonly path: string
  readonly text: string
  readonly kind: string
}

interface GoToProps {
  readonly items: readonly { readonly path: string; readonly title: string }[]
  readonly onClose: () => void
}

const maxTargets = 8
const maxSessions = 200
/** Ids of calls and requests. */
const idPattern = /^[0-9a-z]{20,64}$/

function useTargets(items: GoToProps['items'], text: string): readonly Target[] {
  const { data: tools = [] } = useQuery(toolsQuery)
  const { data: inbox = [] } = useQuery(inboxQuery)
  const { data: sessions = [] } = useQuery({
    queryKey: ['sessions', 'names'],
    queryFn: () => client.sessions.list({ limit: maxSessions }),
  })
  const all: readonly Target[] = [
    ...items.map(({ path, title }) => ({ path, text: title, kind: 'Screen' })),
    ...inbox.map(({ id, preview }) => ({ path: `/inbox/${id}`, text: preview.summary, kind: 'Request' })),
    ...tools
      .filter(({ internal }) => !internal)
      .map(({ name }) => ({ path: toolPath(name), text: shown(name), kind: 'Tool' })),
    ...sessions.map(({ session }) => ({
      path: `/sessions/${encodeURIComponent(session)}`,
      text: shown(session),
      kind: 'Session',
    })),
  ]
  const wanted = text.trim().toLowerCase()
  const found = all.filter((target) => target.text.toLowerCase().includes(wanted))
  const ids: readonly Target[] = idPattern.test(wanted)
    ? [
        { path: `/calls/${wanted}`, text: wanted, kind: 'Call' },
        { path: `/inbox/${wanted}`, text: wanted, kind: 'Request' },
      ]
    : []
  return [...ids, ...found].slice(0, maxTargets)
}

export function GoTo({ items, onClose }: GoToProps): ReactNode {
  const [text, setText] = useState('')
  const [current, setCurrent] = useState(0)
  const [, navigate] = useLocation()
  const targets = useTargets(items, text)
  const open = ({ path }: Target): void => {
    onClose()
    navigate(path)
  }
  const move = (by: number): void => setCurrent(Math.min(Math.max(current + by, 0), targets.length - 1))
  const chosen = targets[Math.min(current, targets.length - 1)]
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        type="search"
        role="combobox"
        aria-label="Screen, tool, session, request or id"
        aria-expanded="true"
        aria-controls="targets"
        {...(chosen ? { 'aria-activedescendant': `target ${chosen.path}`.replaceAll(' ', '-') } : {})}
        placeholder="Screen, tool, session, request or id"
        className="field mb-2"
        spellCheck={false}
        data-autofocus
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          setCurrent(0)
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') move(1)
          else if (event.key === 'ArrowUp') move(-1)
          else if (event.key === 'Enter' && chosen) open(chosen)
          else return
          event.preventDefault()
        }}
      />
      <ul id="targets" role="listbox" aria-label="Targets">
        {targets.map((target) => (
          <li
            key={`${target.kind} ${target.path}`}
            id={`target ${target.path}`.replaceAll(' ', '-')}
            role="option"
            aria-selected={target === chosen}
            className={`flex cursor-pointer items-baseline justify-between gap-4 rounded-md px-3 py-2 ${
              target === chosen ? 'bg-sunk' : ''
            }`}
            onClick={() => open(target)}
          >
            <span className="any">{target.text}</span>
            <span className="text-sm text-soft">{target.kind}</span>
          </li>
        ))}
      </ul>
      {targets.length === 0 && <p className="px-3 py-2 text-soft">Nothing matches.</p>}
    </Dialog>
  )
}
