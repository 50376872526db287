// The login and its rights. A button that the login does not allow is not shown; the server checks
// every action anyway.

import { useQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { client, isSignedOut, queryClient } from '../api/client.ts'
import { followEvents } from '../api/live.ts'
import { showDecidedOf } from '../screens/inbox/just-decided.tsx'
import { Failed, Loading } from '../ui/parts.tsx'
import { SignIn } from './sign-in.tsx'

export type Me = Awaited<ReturnType<typeof client.me.get>>

const MeContext = createContext<Me | null>(null)

export function useMe(): Me {
  const me = useContext(MeContext)
  if (!me) throw new Error('useMe() outside of <Identified>')
  return me
}

export const useMay = (permission: string): boolean => useMe().permissions.includes(permission)

export function Identified({ children }: { readonly children: ReactNode }): ReactNode {
  const query = useQuery({ queryKey: ['me'], queryFn: () => client.me.get(), staleTime: Infinity })
  const [hasExpired, setExpired] = useState(false)
  const isKnown = query.data !== undefined && !hasExpired
  const owner = query.data && JSON.stringify([query.data.tenant, query.data.principal])
  useEffect(() => {
    if (owner !== undefined) showDecidedOf(owner)
  }, [owner])
  useEffect(() => (isKnown ? followEvents(() => setExpired(true)) : undefined), [isKnown])
  useEffect(
    () =>
      queryClient.getQueryCache().subscribe((change) => {
        if (change.type === 'updated' && change.action.type === 'error' && isSignedOut(change.action.error))
          setExpired(true)
      }),
    [],
  )
  if (hasExpired || isSignedOut(query.error))
    return (
      <SignIn
        hasExpired={query.data !== undefined}
        onSignedIn={() => {
          // Another person may have signed in, so nothing that was read before is shown.
          void queryClient.resetQueries().then(() => setExpired(false))
        }}
      />
    )
  if (query.error)
    return (
      <main className="p-4">
        <Failed error={query.error} retry={() => void query.refetch()} />
      </main>
    )
  if (!query.data) return <Loading />
  return <MeContext value={query.data}>{children}</MeContext>
}
