// The login. All tabs of a browser share it, so each one watches for its end and for another person.

import { basePath, type client, forgetTenant, isForbidden, loginClient, readTenant } from './client.ts'
import { nameCaller } from './server-fetch.ts'

export type Me = Awaited<ReturnType<(typeof client)['me']['get']>>

/** Tenant and principal that the page was opened for; null until they are known. */
let owner: string | null = null
const ownerOf = ({ tenant, principal }: Me): string => JSON.stringify([tenant, principal])

/** The principal that a tab has seen last. A change of it reaches the other tabs at once. */
const seenKey = `pawl.principal ${basePath}`

/** Removes everything that the last person read, typed and chose. */
function startAgain(): Promise<never> {
  forgetTenant()
  location.reload()
  return new Promise(() => {})
}

/** If it is another person than before, the page starts again. */
export async function readMe(): Promise<Me> {
  let me: Me
  try {
    me = await loginClient.me.get()
  } catch (error) {
    // The chosen tenant was that of the last person.
    return owner !== null && isForbidden(error) ? startAgain() : Promise.reject(error)
  }
  const now = ownerOf(me)
  if (owner !== null && owner !== now) return startAgain()
  owner = now
  nameCaller(me.tenant, me.principal)
  if (localStorage.getItem(seenKey) !== me.principal) localStorage.setItem(seenKey, me.principal)
  return me
}

/** Calls `check` when the login may be that of another person: after a sign-in elsewhere, and when the page is seen. */
export function watchLogin(check: () => void): () => void {
  const onStorage = ({ key }: StorageEvent): void => {
    if (key === seenKey) check()
  }
  const onVisible = (): void => {
    if (!document.hidden) check()
  }
  addEventListener('storage', onStorage)
  document.addEventListener('visibilitychange', onVisible)
  return () => {
    removeEventListener('storage', onStorage)
    document.removeEventListener('visibilitychange', onVisible)
  }
}

/** A token becomes a cookie that scripts cannot read. Null: it worked. */
export async function signIn(token: string): Promise<string | null> {
  if (!/^[\x21-\x7e]+$/.test(token)) return 'A token has no spaces and no letters outside ASCII.'
  const response = await fetch(`${basePath}/login`, { method: 'POST', headers: { authorization: `Bearer ${token}` } })
  if (response.status === 429) return 'Too many wrong tokens. Wait a minute, then try again.'
  if (response.status === 401) return 'The server does not know this token.'
  if (!response.ok) return `The server answered ${response.status}.`
  localStorage.removeItem(seenKey)
  // After an end of the login the same person goes on in the chosen tenant.
  return owner === null && readTenant() !== null ? startAgain() : null
}

/** Returns the problem if the sign-out failed. */
export async function signOut(): Promise<string> {
  const response = await fetch(`${basePath}/logout`, { method: 'POST' })
  if (!response.ok) return `You are not signed out: the server answered ${response.status}. Try again.`
  forgetTenant()
  localStorage.removeItem(seenKey)
  location.assign(`${basePath}/`)
  return new Promise(() => {})
}
