// Whether the console hears of changes at once. The stream of events reports here; the banner shows it.

import { serverNow } from './server-clock.ts'
import { serverFetch } from './server-fetch.ts'

export type Connection =
  | { readonly state: 'connecting' }
  /** `stream`: another one may have begun after a gap, so everything is read again. */
  | { readonly state: 'live'; readonly stream: string }
  /** No events since `since`, in milliseconds since 1970: what is shown may be out of date. */
  | { readonly state: 'lost'; readonly since: number }

let current: Connection = { state: 'connecting' }
const listeners = new Set<() => void>()

export const readConnection = (): Connection => current

export function onConnectionChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The state of the stream that this tab, or another tab for all of them, reads. */
export function changeConnection(next: Connection): void {
  const isSame =
    next.state === 'live' && current.state === 'live' ? next.stream === current.stream : next.state === current.state
  if (isSame) return
  current = next
  for (const listener of listeners) listener()
}

const connectionLive = (): void => changeConnection({ state: 'live', stream: randomId() })
export const connectionLost = (): void => changeConnection({ state: 'lost', since: serverNow() })

/** crypto.randomUUID() needs HTTPS. */
const randomId = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')

/**
 * Sends the request of a stream of events and watches its body, because the client reconnects by itself without saying
 * so.
 */
export async function fetchEvents(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await serverFetch(input, init)
  } catch (error) {
    if (!init?.signal?.aborted) connectionLost()
    throw error
  }
  if (!response.ok || !response.body) {
    if (response.status !== 401 && response.status !== 412) connectionLost()
    return response
  }
  connectionLive()
  const reader = response.body.getReader()
  // A stream that this page ends is not lost.
  const lost = (): void => {
    if (!init?.signal?.aborted) connectionLost()
  }
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        lost()
        controller.close()
      } catch (error) {
        lost()
        controller.error(error)
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
  return new Response(body, { status: response.status, headers: response.headers })
}
