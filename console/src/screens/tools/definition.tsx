// The definition of a tool: its fingerprint, and whether a provider has changed it since a person accepted it.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useMay, useMe } from '../../shell/me.tsx'
import { Badge, Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago } from '../../ui/time.tsx'
import { Difference, quarantineQuery } from '../policy/quarantine.tsx'
import { useLastCalls } from './tool-statistics.tsx'
import type { Listing } from './catalogue.ts'

export function Definition({ tool }: { readonly tool: Listing }): ReactNode {
  const { provider, fingerprint, quarantined, available } = tool
  return (
    <Section title="Definition">
      <p className="any">
        {provider === undefined ? 'A tool of this server.' : `From ${shown(provider)}.`}
        {fingerprint !== undefined && (
          <>
            {' '}
            Fingerprint <code className="text-sm">{fingerprint}</code>
          </>
        )}
      </p>
      {quarantined ? (
        <Drift tool={tool} />
      ) : (
        <p className="mt-1 text-soft">
          {provider === undefined
            ? 'It changes only when the server is started with another definition. An approval is valid only for the ' +
              'definition that it was requested with.'
            : available
              ? 'It is the accepted definition. If the provider changes it, calls fail until a person accepts the change.'
              : 'Its provider does not answer, so it is not known whether the definition has changed.'}
        </p>
      )}
    </Section>
  )
}

function Drift({ tool: { name, id, provider } }: { readonly tool: Listing }): ReactNode {
  const { allTenants } = useMe()
  const isAllowed = useMay('operate') && allTenants
  const { data } = useQuery({ ...quarantineQuery, enabled: isAllowed })
  const { data: last } = useLastCalls(name)
  const change = data?.find((each) => each.provider === provider && (each.tool === id || each.tool === name))
  const after = change && last?.calls.filter(({ createdAt }) => createdAt >= change.since).length
  return (
    <div className="mt-2">
      <p className="mb-2">
        <Badge tone="stop">Changed, not accepted</Badge> Its definition differs from the accepted one. Its calls fail,
        and models do not see it.
      </p>
      {change && (
        <>
          <p className="any mb-2 text-sm text-soft">
            Since <Ago at={change.since} />, from fingerprint <code>{change.was}</code> to <code>{change.now}</code>.{' '}
            {after === 0
              ? 'None of its last calls was made after the change.'
              : after !== undefined && `${after} of its last calls were made after the change.`}
          </p>
          <Difference text={change.difference} />
        </>
      )}
      <Link href="/policy" className="text">
        {isAllowed ? 'Read and accept the change' : 'An operator of all tenants can accept it'}
      </Link>
    </div>
  )
}
