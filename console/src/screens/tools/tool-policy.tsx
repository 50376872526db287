// The rules that can decide about calls of a tool: of the configuration, and those that people added.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { glob } from '../../../../src/policy/glob.ts'
import { useMay } from '../../shell/me.tsx'
import { Section } from '../../ui/parts.tsx'
import { RuleText, rulesQuery } from '../policy/remembered-rules.tsx'
import { type PolicyRule, policyQuery, RuleRow } from '../policy/rule-row.tsx'
import type { Listing } from './catalogue.ts'

export function ToolPolicy({ tool }: { readonly tool: Listing }): ReactNode {
  const mayOperate = useMay('operate')
  const { data: rules } = useQuery({ ...policyQuery, enabled: mayOperate })
  const { data: added = [] } = useQuery(rulesQuery)
  const own = rules?.filter((rule) => mayApply(rule, tool))
  const remembered = added.filter((rule) => rule.tool === tool.name)
  return (
    <Section
      title="Policy"
      aside={
        <Link href={`/policy?tool=${encodeURIComponent(tool.name)}`} className="text text-sm">
          Does it need approval?
        </Link>
      }
    >
      {!mayOperate && <p className="text-soft">The rules of the configuration are shown to operators.</p>}
      {own?.length === 0 && (
        <p className="text-soft">
          No rule of the configuration names this tool, so the default applies: tools that are destructive, reach the
          open world, or come from a server that is not trusted need approval; all others run.
        </p>
      )}
      {own !== undefined && own.length > 0 && (
        <>
          <ol className="divide-y divide-line">
            {own.map((rule) => (
              <RuleRow key={`${rule.layer} ${rule.index}`} rule={rule} />
            ))}
          </ol>
          <p className="mt-2 text-sm text-soft">
            These can match its calls; their conditions decide. Deny counts more than ask, and ask more than allow.
          </p>
        </>
      )}
      {remembered.length > 0 && (
        <ul className="mt-3 divide-y divide-line" aria-label="Rules that people added">
          {remembered.map((rule) => (
            <li key={rule.id} className="any py-2">
              <RuleText rule={rule} /> <span className="text-sm text-soft">(added by a person)</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

const listOf = <T,>(value: T | readonly T[]): readonly T[] => (Array.isArray(value) ? value : [value as T])

/** False only if the rule cannot match any call of the tool. The hints of a provider's tool do not rule a class out. */
function mayApply({ rule }: PolicyRule, { name, id, provider, hints = {} }: Listing): boolean {
  if (rule.tool !== undefined) {
    const patterns = listOf<string>(rule.tool).map(glob)
    if (!patterns.some((matches) => matches(name) || matches(id))) return false
  }
  if (rule.class === undefined || provider !== undefined) return true
  return listOf<string>(rule.class).some((one) => (hints as Readonly<Record<string, unknown>>)[one] === true)
}
