// Says that the page does not hear of changes, since when, and what that means.

import { type ReactNode, useSyncExternalStore } from 'react'
import { onConnectionChange, readConnection } from '../api/connection.ts'
import { reconnectNow } from '../api/shared-stream.ts'
import { clockTime, durationText, useNow } from '../ui/time.tsx'

export function Banner(): ReactNode {
  const connection = useSyncExternalStore(onConnectionChange, readConnection)
  if (connection.state !== 'lost') return null
  return <LostBanner since={connection.since} />
}

function LostBanner({ since }: { readonly since: number }): ReactNode {
  const now = useNow()
  return (
    <div role="alert" className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-sunk px-4 py-2">
      <span className="text-wait" aria-hidden="true">
        ●
      </span>
      <p className="flex-1">
        <strong>Reconnecting.</strong> No contact with the server since {clockTime(since)} (
        {durationText(Math.floor((now - since) / 1_000) * 1_000)}). What you see may be out of date.
      </p>
      <button type="button" className="button button-small" onClick={reconnectNow}>
        Try now
      </button>
    </div>
  )
}
