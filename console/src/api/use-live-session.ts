// Live events of one session: pieces of an answer and output of tasks, which are sent but not recorded.

import type { StreamEvent } from 'pawl/client'
import { useEffect, useRef } from 'react'
import { sideClient } from './client.ts'

const reconnectMs = 2_000

/** `onEvent` hears every event of the session from now on, recorded ones included, while `isOn`. */
export function useLiveSession(session: string, isOn: boolean, onEvent: (event: StreamEvent) => void): void {
  const listener = useRef(onEvent)
  listener.current = onEvent
  useEffect(() => {
    if (!isOn) return
    const stop = new AbortController()
    const { signal } = stop
    const follow = async (): Promise<void> => {
      while (!signal.aborted) {
        try {
          for await (const event of sideClient.sessions.events({ session, after: 'now', live: true }, { signal }))
            listener.current(event)
        } catch {
          // The screen shows what is recorded. The banner reports a lost connection.
        }
        if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, reconnectMs))
      }
    }
    void follow()
    return () => stop.abort()
  }, [session, isOn])
}
