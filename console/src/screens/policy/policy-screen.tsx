// Policy: the rules of the configuration, the rules that people added, what would happen to a call, changed tools.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useMay } from '../../shell/me.tsx'
import { Failed, ScreenTitle, Section, usePageTitle } from '../../ui/parts.tsx'
import { Explain } from './explain.tsx'
import { Quarantine } from './quarantine.tsx'
import { RememberedRules } from './remembered-rules.tsx'
import { policyQuery, RuleRow } from './rule-row.tsx'

export function PolicyScreen(): ReactNode {
  usePageTitle('Policy')
  const mayOperate = useMay('operate')
  return (
    <>
      <ScreenTitle>Policy</ScreenTitle>
      <Explain />
      <Quarantine />
      <RememberedRules />
      {mayOperate ? (
        <ConfiguredRules />
      ) : (
        <p className="text-soft">The rules of the configuration are shown to operators.</p>
      )}
    </>
  )
}

function ConfiguredRules(): ReactNode {
  const { data: rules, error } = useQuery(policyQuery)
  if (error && !rules) return <Failed error={error} />
  return (
    <Section title="Rules of the configuration">
      {rules?.length === 0 && (
        <p className="text-soft">
          None, so the defaults apply: tools that are destructive, reach the open world, or come from a server that is
          not trusted need approval; all others run. Rules are in <code>policy</code> of pawl.config.ts.
        </p>
      )}
      <ol className="divide-y divide-line">
        {rules?.map((rule) => (
          <RuleRow key={`${rule.layer} ${rule.index}`} rule={rule} />
        ))}
      </ol>
      {rules !== undefined && rules.length > 0 && (
        <p className="mt-2 text-sm text-soft">
          Of all rules that match, deny counts more than ask, and ask more than allow. They are changed in
          pawl.config.ts.
        </p>
      )}
    </Section>
  )
}
