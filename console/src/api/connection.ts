// Whether the console hears of changes at once. The stream of events reports here; the banner shows it.

export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** No events since `since`, in milliseconds since 1970: what is shown may be out of date. */
  | { readonly state: 'lost'; readonly since: number }

let current: Connection = { state: 'connecting' }
const listeners = new Set<() => void>()

export const readConnection = (): Connection => current

export function onConnectionChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function change(next: Connection): void {
  if (next.state === current.state) return
  current = next
  for (const listener of listeners) listener()
}

export const connectionLive = (): void => change({ state: 'live' })
export const connectionLost = (): void => change({ state: 'lost', since: Date.now() })

/**
 * Sends the request of a stream of events and watches its body, because the client reconnects by itself without saying
 * so.
 */
export async function fetchEvents(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(input, init)
  } catch (error) {
    if (!init?.signal?.aborted) connectionLost()
    throw error
  }
  if (!response.ok || !response.body) {
    if (response.status !== 401) connectionLost()
    return response
  }
  connectionLive()
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        connectionLost()
        controller.close()
      } catch (error) {
        connectionLost()
        controller.error(error)
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
  return new Response(body, { status: response.status, headers: response.headers })
}
