// The rules that people added with "From now on", each with a button that revokes it.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { client, queryClient } from '../../api/client.ts'
import { SubmitForm } from '../../forms/submit-form.tsx'
import { useMay } from '../../shell/me.tsx'
import { notify } from '../../ui/notices.tsx'
import { Command } from '../../ui/command.tsx'
import { Dialog, Failed, Section } from '../../ui/parts.tsx'
import { deepShown, shown } from '../../ui/shown.ts'
import { clockTime, Time } from '../../ui/time.tsx'
import { LongText } from '../../ui/values.tsx'
import { conditionText } from './condition-text.ts'

type Rule = Awaited<ReturnType<typeof client.rules.list>>[number]

export const rulesQuery = { queryKey: ['rules'], queryFn: () => client.rules.list() } as const

export function RememberedRules(): ReactNode {
  const mayDecide = useMay('decide')
  const [revoked, setRevoked] = useState<Rule | null>(null)
  const query = useQuery(rulesQuery)
  const { data: rules } = query
  if (query.error && !rules) return <Failed error={query.error} />
  return (
    <Section title="Rules that people added">
      {rules?.length === 0 && (
        <p className="text-soft">None. A rule is added with “From now on” when a person approves a call.</p>
      )}
      <ul className="divide-y divide-line">
        {rules?.map((rule) => (
          <li key={rule.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2">
            <span className="any flex-1">
              <RuleText rule={rule} />
              <span className="block text-sm text-soft">
                by {rule.votes.map(({ by }) => shown(by)).join(', ')}, until{' '}
                <Time at={rule.until}>{clockTime(rule.until)}</Time>
              </span>
            </span>
            {mayDecide && (
              <button type="button" className="button button-small" onClick={() => setRevoked(rule)}>
                Revoke
              </button>
            )}
          </li>
        ))}
      </ul>
      <div className="mt-2">
        <Command text="pawl rules" />
      </div>
      {revoked && <Revoke rule={revoked} onClose={() => setRevoked(null)} />}
    </Section>
  )
}

export function RuleText({ rule }: { readonly rule: Rule }): ReactNode {
  const { tool, then, session, principal } = deepShown(rule)
  const { when } = rule as { readonly when?: unknown }
  const whose = session !== null ? `in session ${session}` : principal !== null ? `of ${principal}` : 'of everyone'
  return (
    <>
      Calls of <code>{tool}</code> {whose}
      {typeof when === 'object' && when !== null && (
        <>
          {' with '}
          <code className="text-sm">
            <LongText text={conditionText(when)} label="the conditions" />
          </code>
        </>
      )}
      {then === 'approve' ? ' run without asking' : ' are denied without asking'}
    </>
  )
}

function Revoke({ rule, onClose }: { readonly rule: Rule; readonly onClose: () => void }): ReactNode {
  const revoke = async (): Promise<void> => {
    await client.rules.revoke({ rule: rule.id })
    notify('The rule is revoked.')
    void queryClient.invalidateQueries({ queryKey: ['rules'] })
  }
  return (
    <Dialog title="Revoke the rule" onClose={onClose}>
      <SubmitForm send={revoke} onDone={onClose} label="Revoke" tone="stop" onClose={onClose} close="Close" focusButton>
        <p className="any mb-3">
          <RuleText rule={rule} />.
        </p>
        <p className="mb-4 text-soft">From now on such calls ask again. Calls that have run stay as they are.</p>
      </SubmitForm>
    </Dialog>
  )
}
