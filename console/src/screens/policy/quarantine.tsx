// Tools of providers whose definition has changed since it was accepted: the difference, and a button that accepts it.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { client, queryClient } from '../../api/client.ts'
import { useMay, useMe } from '../../shell/me.tsx'
import { notify } from '../../ui/notices.tsx'
import { Confirm } from '../../forms/confirm.tsx'
import { Command } from '../../ui/command.tsx'
import { Failed, Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago } from '../../ui/time.tsx'
import { quoted } from '../calls/commands.ts'

type Changed = Awaited<ReturnType<typeof client.quarantine.list>>[number]

export const quarantineQuery = { queryKey: ['quarantine'], queryFn: () => client.quarantine.list() } as const

/** Null for a login that may not see it: a provider serves all tenants. */
export function Quarantine(): ReactNode {
  const { allTenants } = useMe()
  const isAllowed = useMay('operate') && allTenants
  const [accepted, accept] = useState<Changed | null>(null)
  const { data: changed, error } = useQuery({ ...quarantineQuery, enabled: isAllowed })
  if (!isAllowed) return null
  if (error && !changed) return <Failed error={error} />
  return (
    <Section title="Changed tools">
      {changed?.length === 0 && (
        <p className="text-soft">
          None. A tool of an MCP server whose definition changes is stopped until a person has read the change.
        </p>
      )}
      <ul className="divide-y divide-line">
        {changed?.map((each) => (
          <li key={`${each.provider} ${each.tool}`} className="py-3">
            <p className="mb-2 flex flex-wrap items-center justify-between gap-2">
              <span className="any">
                <code>{shown(each.tool)}</code> of {shown(each.provider)}, since <Ago at={each.since} />. Its calls
                fail, and models do not see it.
              </span>
              <button type="button" className="button" onClick={() => accept(each)}>
                Accept the change
              </button>
            </p>
            <Difference text={each.difference} />
            <div className="mt-2">
              <Command text={`pawl mcp accept ${quoted(each.provider)} ${quoted(each.tool)}`} />
            </div>
          </li>
        ))}
      </ul>
      {accepted && (
        <Confirm
          title={`Accept ${shown(accepted.tool)} as it is now`}
          consequence={
            'Models read the new definition from now on, and its calls run as the policy allows. Accept it only if you ' +
            'have read the difference and expect it from this server.'
          }
          action="Accept"
          tone="go"
          run={async () => {
            const { provider, tool, now } = accepted
            await client.quarantine.accept({ provider, tool, fingerprint: now })
            notify('The change is accepted.')
            for (const first of ['quarantine', 'tools', 'providers'])
              void queryClient.invalidateQueries({ queryKey: [first] })
          }}
          onClose={() => accept(null)}
        />
      )}
    </Section>
  )
}

const lineTone = (line: string): string =>
  line.startsWith('+') ? 'text-go' : line.startsWith('-') ? 'text-stop' : 'text-soft'

export const Difference = ({ text }: { readonly text: string }): ReactNode => (
  <pre className="wrap max-h-96 overflow-auto rounded-md bg-panel p-3 text-sm" tabIndex={0} aria-label="the difference">
    {text.split('\n').map((line, index) => (
      <span key={`${index} ${line}`} className={`block ${lineTone(line)}`}>
        {shown(line)}
      </span>
    ))}
  </pre>
)
