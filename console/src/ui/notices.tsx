// Short messages at the edge of the page, such as who decided a request that has just disappeared.

import { type ReactNode, useSyncExternalStore } from 'react'
import { shown } from './shown.ts'

interface Notice {
  readonly id: number
  readonly text: string
}

let notices: readonly Notice[] = []
let lastId = 0
const listeners = new Set<() => void>()
const shownMs = 8_000
const maxNotices = 4

function change(next: readonly Notice[]): void {
  notices = next
  for (const listener of listeners) listener()
}

export function notify(text: string): void {
  const notice = { id: ++lastId, text }
  change([...notices, notice].slice(-maxNotices))
  setTimeout(() => change(notices.filter((each) => each !== notice)), shownMs)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function Notices(): ReactNode {
  const current = useSyncExternalStore(subscribe, () => notices)
  return (
    <div
      aria-live="polite"
      role="log"
      aria-label="Notices"
      className="pointer-events-none fixed inset-x-3 bottom-3 z-20 flex flex-col items-center gap-2 md:inset-x-auto md:right-4
        md:bottom-4 md:items-end"
    >
      {current.map(({ id, text }) => (
        <p key={id} className="panel any max-w-lg px-4 py-2 shadow-lg">
          {shown(text)}
        </p>
      ))}
    </div>
  )
}
