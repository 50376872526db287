// The client of the server that this page comes from, and the cache of what it has read.

import { QueryClient } from '@tanstack/react-query'
import { type Client, createClient, PawlHttpError } from 'pawl/client'
import { fetchEvents } from './connection.ts'

/** The path under which the server is mounted, without a slash at its end: this file is in `<base>/assets/`. */
export const basePath: string = new URL(/* @vite-ignore */ '..', import.meta.url).pathname.replace(/\/$/, '')

const tenantKey = 'pawl.tenant'
export const readTenant = (): string | null => localStorage.getItem(tenantKey)
export function chooseTenant(tenant: string): void {
  if (tenant === '') localStorage.removeItem(tenantKey)
  else localStorage.setItem(tenantKey, tenant)
  location.reload()
}

const tenant = readTenant()

export const client: Client = createClient({
  url: `${location.origin}${basePath}`,
  ...(tenant === null ? {} : { tenant }),
  fetch: (input, init) =>
    new Headers(init?.headers).get('accept') === 'text/event-stream' ? fetchEvents(input, init) : fetch(input, init),
})

/** For streams beside the one of the whole tenant: their end says nothing about the connection. */
export const sideClient: Client = createClient({
  url: `${location.origin}${basePath}`,
  ...(tenant === null ? {} : { tenant }),
})

export const isSignedOut = (error: unknown): boolean => error instanceof PawlHttpError && error.status === 401
export const isMissing = (error: unknown): boolean => error instanceof PawlHttpError && error.status === 404

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Reads are repeated by the client itself, and by the events that announce a change. */
export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: false, networkMode: 'always', staleTime: 10_000 }, mutations: { retry: false } },
})

/** A token becomes a cookie that scripts cannot read. Null: it worked. */
export async function signIn(token: string): Promise<string | null> {
  if (!/^[\x21-\x7e]+$/.test(token)) return 'A token has no spaces and no letters outside ASCII.'
  const response = await fetch(`${basePath}/login`, { method: 'POST', headers: { authorization: `Bearer ${token}` } })
  if (response.ok) return null
  if (response.status === 429) return 'Too many wrong tokens. Wait a minute, then try again.'
  return response.status === 401 ? 'The server does not know this token.' : `The server answered ${response.status}.`
}

export async function signOut(): Promise<void> {
  await fetch(`${basePath}/logout`, { method: 'POST' })
  location.assign(`${basePath}/`)
}
