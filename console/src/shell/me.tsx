// The login and its rights. A button that the login does not allow is not shown; the server checks
// every action anyway.

import { useQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { chooseTenant, isSignedOut, queryClient, readTenant } from '../api/client.ts'
import { followEvents, refreshAll } from '../api/live.ts'
import { type Me, readMe, watchLogin } from '../api/login.ts'
import { holdRequests, onLoginDoubt } from '../api/server-fetch.ts'
import { showDecidedOf } from '../screens/inbox/just-decided.tsx'
import { Failed, Loading, ScreenTitle } from '../ui/parts.tsx'
import { SignIn } from './sign-in.tsx'
import { SignOut } from './sign-out.tsx'

const MeContext = createContext<Me | null>(null)

export function useMe(): Me {
  const me = useContext(MeContext)
  if (!me) throw new Error('useMe() outside of <Identified>')
  return me
}

export const useMay = (permission: string): boolean => useMe().permissions.includes(permission)

const meQuery = {
  queryKey: ['me'],
  queryFn: async (): Promise<Me> => {
    const me = await readMe()
    showDecidedOf(JSON.stringify([me.tenant, me.principal]))
    return me
  },
  staleTime: Infinity,
} as const

/** After the end of a login the screen stays, hidden, with what was typed: the same person goes on there. */
export function Identified({ children }: { readonly children: ReactNode }): ReactNode {
  const query = useQuery(meQuery)
  const [hasExpired, setExpired] = useState(false)
  const isKnown = query.data !== undefined
  const owner = query.data && JSON.stringify([query.data.tenant, query.data.principal])

  function end(): void {
    holdRequests(true)
    setExpired(true)
  }
  /** Rejects if the server does not say who is signed in. */
  async function check(): Promise<void> {
    await queryClient.fetchQuery({ ...meQuery, staleTime: 0 })
    holdRequests(false)
    setExpired(false)
  }
  useEffect(() => {
    if (!isKnown) return
    const look = (): void => void check().catch((error) => isSignedOut(error) && end())
    const stops = [watchLogin(look), onLoginDoubt(look)]
    return () => stops.forEach((stop) => stop())
  }, [isKnown])
  useEffect(() => {
    if (owner === undefined) return
    // The page shows data from before the end of the login.
    return hasExpired ? refreshAll : followEvents(owner)
  }, [owner, hasExpired])

  if (!query.data) {
    if (isSignedOut(query.error)) return <SignIn hasExpired={false} onSignedIn={check} />
    return query.error ? <Unreadable error={query.error} retry={() => void query.refetch()} /> : <Loading />
  }
  return (
    <MeContext value={query.data}>
      <div className={hasExpired ? 'invisible contents' : 'contents'} inert={hasExpired}>
        {children}
      </div>
      {hasExpired && <SignIn hasExpired onSignedIn={check} />}
    </MeContext>
  )
}

/** The chosen tenant may be one that the login is not for. */
function Unreadable({ error, retry }: { readonly error: unknown; readonly retry: () => void }): ReactNode {
  const tenant = readTenant()
  return (
    <main className="mx-auto max-w-2xl p-4">
      <ScreenTitle>Your login cannot be read</ScreenTitle>
      <Failed error={error} retry={retry} />
      {tenant !== null && <p className="any my-3">The page works in the tenant {tenant.slice(0, 100)}.</p>}
      <div className="mt-3 flex flex-wrap items-center gap-2">
        {tenant !== null && (
          <button type="button" className="button" onClick={() => chooseTenant('')}>
            Use your own tenant
          </button>
        )}
        <SignOut />
      </div>
    </main>
  )
}
