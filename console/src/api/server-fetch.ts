// Sends the requests of the client. They name the person that the page was opened for, and what the server answers about
// the login is passed on.

import { readServerDate } from './server-clock.ts'

let caller: string | null = null
/** The server refuses later requests if another person is signed in by then. */
export function nameCaller(tenant: string, principal: string): void {
  caller = [tenant, principal].map((part) => encodeURIComponent(part.toWellFormed())).join('/')
}

let hasLogin = true
/** Sends nothing without a login: each refused request counts as a wrong token. */
export const holdRequests = (isHeld: boolean): void => void (hasLogin = !isHeld)

let onDoubt = (): void => {}
/** Calls the listener when the server refuses a request because the login has ended or is that of another person. */
export function onLoginDoubt(listener: () => void): () => void {
  onDoubt = listener
  return () => void (onDoubt = () => {})
}

/** For requests that ask who is signed in. */
export async function plainFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init)
  readServerDate(response)
  return response
}

export async function serverFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  if (!hasLogin) return new Response(null, { status: 401 })
  const headers = new Headers(init?.headers)
  if (caller !== null) headers.set('x-pawl-caller', caller)
  const response = await plainFetch(input, { ...init, headers })
  if (response.status === 401 || response.status === 412) onDoubt()
  return response
}
