// One stream of events for all tabs of a person: a browser opens six connections to a server, and one per tab would use
// them up. The tab that holds a lock reads the stream and passes it on; when it closes, another tab gets the lock.

import type { StreamEvent } from 'pawl/client'
import { basePath, client } from './client.ts'
import { changeConnection, type Connection, connectionLost, onConnectionChange, readConnection } from './connection.ts'

type Message =
  | { readonly type: 'event'; readonly event: StreamEvent }
  | { readonly type: 'connection'; readonly connection: Connection }
  /** A new tab asks for the state of the connection. */
  | { readonly type: 'joined' }
  | { readonly type: 'reconnect' }

const pauseMs = 2_000
/** The tab that reads reports the state of the connection this often. A browser may suspend a hidden tab. */
const reportMs = 10_000
/** A visible tab that has heard nothing for this long reads the stream itself. */
const silenceMs = 30_000

let reconnect: () => void = () => {}
/** Connects at once, instead of after the pause between two attempts. */
export const reconnectNow = (): void => reconnect()

/** `owner`: the person and the tenant, who share a stream. Follows until the returned function is called. */
export function followStream(owner: string, onEvent: (event: StreamEvent) => void): () => void {
  const stop = new AbortController()
  const { signal } = stop
  // Pages without HTTPS have no locks.
  if (!('locks' in navigator)) {
    void readStream(signal, onEvent)
    return () => stop.abort()
  }
  const name = `pawl ${basePath} ${owner}`
  const channel = new BroadcastChannel(name)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no target
  const tell = (message: Message): void => channel.postMessage(message)
  const tellConnection = (): void => tell({ type: 'connection', connection: readConnection() })
  let isReader = false
  let heardAt = Date.now()
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    heardAt = Date.now()
    if (data.type === 'event') onEvent(data.event)
    else if (data.type === 'connection') changeConnection(data.connection)
    else if (isReader && data.type === 'joined') tellConnection()
    else if (isReader) reconnectNow()
  })
  reconnect = () => tell({ type: 'reconnect' })
  tell({ type: 'joined' })
  /** Reads while this tab has the lock. `steal`: takes it from a tab that is suspended. */
  const readWithLock = async (steal: boolean): Promise<void> => {
    const turn = new AbortController()
    const read = async (): Promise<void> => {
      isReader = true
      const stopTelling = onConnectionChange(tellConnection)
      const reports = setInterval(tellConnection, reportMs)
      await readStream(AbortSignal.any([signal, turn.signal]), (event) => {
        tell({ type: 'event', event })
        onEvent(event)
      })
      clearInterval(reports)
      stopTelling()
    }
    // Rejects if this tab closes before its turn, or if another tab takes the lock.
    await navigator.locks.request(name, steal ? { steal } : { signal }, read).catch(() => {})
    turn.abort()
    isReader = false
    if (!signal.aborted) void readWithLock(false)
  }
  void readWithLock(false)
  const watch = setInterval(() => {
    if (isReader || document.hidden || Date.now() - heardAt < silenceMs) return
    heardAt = Date.now()
    connectionLost()
    void readWithLock(true)
  }, reportMs)
  return () => {
    clearInterval(watch)
    stop.abort()
    channel.close()
  }
}

async function readStream(signal: AbortSignal, onEvent: (event: StreamEvent) => void): Promise<void> {
  let connection = new AbortController()
  reconnect = () => connection.abort()
  signal.addEventListener('abort', () => connection.abort())
  while (!signal.aborted) {
    connection = new AbortController()
    try {
      for await (const event of client.events.stream({ after: 'now' }, { signal: connection.signal })) onEvent(event)
    } catch {
      // Also without a login, until the page ends it: nothing is sent then.
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}
