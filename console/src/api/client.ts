// The client of the server that this page comes from, and the cache of what it has read.

import { QueryClient } from '@tanstack/react-query'
import { type Client, createClient, PawlHttpError } from 'pawl/client'
import { fetchEvents } from './connection.ts'
import { plainFetch, serverFetch } from './server-fetch.ts'

/** The path under which the server is mounted, without a slash at its end: this file is in `<base>/assets/`. */
export const basePath: string = new URL(/* @vite-ignore */ '..', import.meta.url).pathname.replace(/\/$/, '')

const tenantKey = 'pawl.tenant'
/** Longer ones are refused by the client, which every page needs. */
export const maxTenantLength = 512
export function readTenant(): string | null {
  const stored = localStorage.getItem(tenantKey) ?? ''
  return stored === '' || stored.length > maxTenantLength ? null : stored
}
export const forgetTenant = (): void => localStorage.removeItem(tenantKey)
export function chooseTenant(tenant: string): void {
  if (tenant === '') forgetTenant()
  else localStorage.setItem(tenantKey, tenant)
  location.reload()
}

const tenant = readTenant()
const server = { url: `${location.origin}${basePath}`, ...(tenant === null ? {} : { tenant }) }

export const client: Client = createClient({
  ...server,
  fetch: (input, init) =>
    new Headers(init?.headers).get('accept') === 'text/event-stream'
      ? fetchEvents(input, init)
      : serverFetch(input, init),
})

/** For streams beside the one of the whole tenant: their end says nothing about the connection. */
export const sideClient: Client = createClient({ ...server, fetch: serverFetch })

/** Asks who is signed in, so it does not name the caller. */
export const loginClient: Client = createClient({ ...server, fetch: plainFetch })

export const isSignedOut = (error: unknown): boolean => error instanceof PawlHttpError && error.status === 401
export const isForbidden = (error: unknown): boolean => error instanceof PawlHttpError && error.status === 403
export const isMissing = (error: unknown): boolean => error instanceof PawlHttpError && error.status === 404

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Reads are repeated by the client itself, and by the events that announce a change. */
export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: false, networkMode: 'always', staleTime: 10_000 }, mutations: { retry: false } },
})

/** A provider that changes its tools causes no event of a tenant, so queries about tools are polled. */
const toolsIntervalMs = 5_000
for (const key of ['tool', 'tools', 'providers', 'quarantine'])
  queryClient.setQueryDefaults([key], { refetchInterval: toolsIntervalMs })
