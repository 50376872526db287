// Live events of one session: pieces of an answer and output of tasks, which are sent but not recorded. A hidden page
// does not hear them: each stream takes one of the few connections that a browser opens to a server.

import type { StreamEvent } from 'pawl/client'
import { useEffect, useRef, useSyncExternalStore } from 'react'
import { sideClient } from './client.ts'

const reconnectMs = 2_000

function onVisibilityChange(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

/**
 * `onEvent` hears every event of the session from now on, recorded ones included, while `isOn`. `onJoin` is called before
 * the first one, also after a gap.
 */
export function useLiveSession(
  session: string,
  isOn: boolean,
  onEvent: (event: StreamEvent) => void,
  onJoin: () => void = () => {},
): void {
  const listener = useRef({ onEvent, onJoin })
  listener.current = { onEvent, onJoin }
  const isHidden = useSyncExternalStore(onVisibilityChange, () => document.hidden)
  useEffect(() => {
    if (!isOn || isHidden) return
    const stop = new AbortController()
    const { signal } = stop
    const follow = async (): Promise<void> => {
      while (!signal.aborted) {
        listener.current.onJoin()
        try {
          for await (const event of sideClient.sessions.events({ session, after: 'now', live: true }, { signal }))
            listener.current.onEvent(event)
        } catch {
          // The screen shows what is recorded. The banner reports a lost connection.
        }
        if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, reconnectMs))
      }
    }
    void follow()
    return () => stop.abort()
  }, [session, isOn, isHidden])
}
