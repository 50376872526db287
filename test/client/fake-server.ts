// A `fetch` whose answers a test scripts, and a client that uses it with a manual clock. Shared by the tests of the
// client that need no server.

import type { Client, ClientOptions } from 'pawl/client'
import { buildClient } from '../../src/client/build-client.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'

export interface Sent {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: string | Uint8Array | undefined
  readonly init: RequestInit
}

export type Answer = (sent: Sent, index: number) => Response | Promise<Response>

export interface Faked {
  readonly client: Client
  readonly sent: Sent[]
  readonly clock: ManualClock
}

export const secretToken = 'pawl_secret-token-0123456789'

export function fakeServer(answer: Answer, options: Partial<ClientOptions> = {}): Faked {
  const sent: Sent[] = []
  const clock = manualClock()
  const fake: typeof fetch = async (input, init = {}) => {
    init.signal?.throwIfAborted()
    const request: Sent = {
      method: init.method ?? 'GET',
      url: new URL(input instanceof Request ? input.url : input),
      headers: new Headers(init.headers),
      body: init.body as string | Uint8Array | undefined,
      init,
    }
    sent.push(request)
    return answer(request, sent.length - 1)
  }
  const all: ClientOptions = { url: 'http://pawl.test/base/', token: secretToken, fetch: fake, ...options }
  return { client: buildClient(all, { clock, random: () => 0 }), sent, clock }
}

export const json = (value: unknown, status = 200): Response => Response.json(value, { status })

export const problem = (status: number, members: object, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify({ type: 'urn:pawl:error', title: 'A title', status, ...members }), {
    status,
    headers: { 'content-type': 'application/problem+json; charset=utf-8', ...headers },
  })

/** What a promise rejects with. */
export const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => Promise.reject(new Error(`It resolved with ${JSON.stringify(value)}`)),
    (error: unknown) => error,
  )
