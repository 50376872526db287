// The system screen: health, workers, rules that people added, tokens.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { useMay, useMe } from '../../shell/me.tsx'
import { Command } from '../../ui/command.tsx'
import { Badge, Failed, Loading, ScreenTitle, Section, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago, durationText } from '../../ui/time.tsx'
import { statusWords } from '../calls/call-words.ts'
import { RememberedRules } from '../policy/remembered-rules.tsx'
import { Audit } from './audit.tsx'
import { Charts } from './charts.tsx'
import { Tokens } from './tokens.tsx'

export function SystemScreen(): ReactNode {
  usePageTitle('System')
  const { allTenants } = useMe()
  const mayOperate = useMay('operate')
  const mayAdminister = useMay('admin')
  return (
    <>
      <ScreenTitle>System</ScreenTitle>
      {mayOperate && allTenants ? (
        <Health />
      ) : (
        <p className="mb-4 text-soft">
          Health and workers are about the whole store: they need the role operator, for all tenants.
        </p>
      )}
      <Charts />
      <RememberedRules />
      {mayOperate && <Audit />}
      {mayAdminister && <Tokens />}
    </>
  )
}

const units = ['bytes', 'kB', 'MB', 'GB'] as const
function sizeText(bytes: number): string {
  let [size, unit] = [bytes, 0]
  for (; size >= 1_000 && unit < units.length - 1; unit++) size /= 1_000
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`
}

function Health(): ReactNode {
  const query = useQuery({ queryKey: ['system'], queryFn: () => client.health.get(), refetchInterval: 10_000 })
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  const { findings, unlisted, open, oldest, store } = query.data
  const problems = [...findings.map(({ says, call }) => ({ says, uid: call?.uid })), ...store.problems.map((says) => ({ says, uid: undefined }))] // prettier-ignore
  return (
    <>
      <Section title="Health">
        {problems.length === 0 ? (
          <p>
            <Badge tone="go">Healthy</Badge> Every open call can continue, or waits for an answer.
          </p>
        ) : (
          <ul className="divide-y divide-line">
            {problems.map(({ says, uid }) => (
              <li key={`${uid} ${says}`} className="any py-1.5">
                {shown(says)}{' '}
                {uid !== undefined && (
                  <Link href={`/calls/${uid}`} className="text">
                    Open the call
                  </Link>
                )}
              </li>
            ))}
          </ul>
        )}
        {unlisted > 0 && <p className="text-soft">{unlisted} more are not listed.</p>}
        <div className="mt-2">
          <Command text="pawl health" />
        </div>
      </Section>
      <div className="grid gap-x-4 md:grid-cols-2">
        <Section title="Open calls">
          <dl className="grid grid-cols-[8rem_1fr] gap-y-1">
            {Object.entries(open).map(([state, count]) => (
              <div key={state} className="contents">
                <dt className="text-soft">{statusWords(state, null).text}</dt>
                <dd>{count}</dd>
              </div>
            ))}
          </dl>
          {oldest && (
            <p className="any mt-2">
              The oldest:{' '}
              <Link href={`/calls/${oldest.uid}`} className="text">
                {shown(oldest.tool)}
              </Link>
              , <Ago at={oldest.createdAt} />
            </p>
          )}
        </Section>
        <Section title="Store and workers">
          <p>
            {store.kind}, {sizeText(store.bytes)}, schema {store.schema}, {store.position.toLocaleString()} events
          </p>
          <ul className="mt-2 divide-y divide-line">
            {store.workers.map(({ id, leaseMs }) => (
              <li key={id} className="flex flex-wrap justify-between gap-x-4 py-1.5">
                <code className="any text-sm">{shown(id)}</code>
                <span className="text-sm text-soft">
                  {leaseMs > 0 ? `alive, lease for ${durationText(leaseMs)}` : 'stopped, its lease has expired'}
                </span>
              </li>
            ))}
          </ul>
          {store.workers.length === 0 && <p className="text-soft">No worker runs. Start one: pawl worker</p>}
        </Section>
      </div>
    </>
  )
}
