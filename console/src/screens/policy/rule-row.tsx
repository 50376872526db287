// A rule of the configuration as people read it: on the screens of the policy, of a tool and of a request.

import type { ReactNode } from 'react'
import { client } from '../../api/client.ts'
import { Badge, type Tone } from '../../ui/parts.tsx'
import { deepShown, shown } from '../../ui/shown.ts'

export type PolicyRule = Awaited<ReturnType<typeof client.policy.rules>>[number]

export const policyQuery = { queryKey: ['policy'], queryFn: () => client.policy.rules() } as const

const effects: Readonly<Record<string, readonly [string, Tone]>> = {
  allow: ['allow', 'go'],
  ask: ['ask', 'wait'],
  deny: ['deny', 'stop'],
}

export function RuleRow({ rule: { layer, index, rule } }: { readonly rule: PolicyRule }): ReactNode {
  const [text, tone] = effects[rule.then] ?? [shown(rule.then), 'neutral']
  return (
    <li className="flex flex-wrap items-center gap-x-3 py-2">
      <span className="text-sm text-soft">
        {layer}.{index}
      </span>
      <Badge tone={tone}>{text}</Badge>
      <span className="any min-w-0 flex-1">
        <RuleTerms rule={rule} />
      </span>
    </li>
  )
}

interface RuleTermsProps {
  readonly rule: PolicyRule['rule']
  /** False where a vote of the rule shows its reason already. */
  readonly withReason?: boolean
}

/** The terms of a rule without its effect, which is shown before them. */
export function RuleTerms({ rule, withReason = true }: RuleTermsProps): ReactNode {
  const { then: _, reason, ...terms } = deepShown(rule)
  return (
    <>
      {Object.entries(terms).map(([name, value]) => (
        <span key={name} className="mr-3 inline-block">
          <span className="text-sm text-soft">{name}</span>{' '}
          <code className="any text-sm">{typeof value === 'string' ? value : JSON.stringify(value)}</code>
        </span>
      ))}
      {withReason && typeof reason === 'string' && <span className="block text-sm">{reason}</span>}
    </>
  )
}
