// "Why would this ask?": what the policy decides about a call, with every vote. Nothing runs.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { client, messageOf } from '../../api/client.ts'
import { initialValue } from '../../forms/schema.ts'
import { Problem } from '../../forms/submit-form.tsx'
import { useSchemaForm } from '../../forms/use-schema-form.tsx'
import { useQueryFields } from '../../ui/address.ts'
import { Badge, Section, type Tone } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { toolsQuery } from '../tools/catalogue.ts'
import { type PolicyRule, RuleTerms } from './rule-row.tsx'

type Tool = Awaited<ReturnType<typeof client.tools.get>>
export type Explained = Awaited<ReturnType<typeof client.policy.explain>>

export function Explain(): ReactNode {
  const [search, setSearch] = useQueryFields()
  const name = search.get('tool') ?? ''
  const { data: tools = [] } = useQuery(toolsQuery)
  const { data: tool } = useQuery({
    queryKey: ['tool', name],
    queryFn: () => client.tools.get({ tool: name }),
    enabled: name !== '',
  })
  return (
    <Section title="Why would this ask?">
      <p className="mb-3 text-soft">Shows what the policy decides about a call of yours. It runs nothing.</p>
      <label className="mb-3 block max-w-sm">
        <span className="mb-1 block font-medium">Tool</span>
        <select
          className="field"
          value={name}
          onChange={({ target: { value } }) => setSearch(new URLSearchParams(value === '' ? {} : { tool: value }))}
        >
          <option value="">Choose a tool</option>
          {tools
            .filter(({ internal }) => !internal)
            .map((each) => (
              <option key={each.id} value={each.name}>
                {shown(each.name)}
              </option>
            ))}
        </select>
      </label>
      {tool && <Form key={tool.name} tool={tool} />}
    </Section>
  )
}

function Form({ tool }: { readonly tool: Tool }): ReactNode {
  const { value, fields, check } = useSchemaForm(tool.input, initialValue(tool.input))
  const [session, setSession] = useState('console')
  const [problem, setProblem] = useState<string | null>(null)
  const [explained, setExplained] = useState<Explained | null>(null)
  const explain = async (): Promise<void> => {
    setExplained(null)
    const found = check()
    setProblem(found)
    if (found !== null) return
    try {
      setExplained(await client.policy.explain({ session, tool: tool.name, input: (value ?? {}) as never }))
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void explain()
        }}
      >
        {fields}
        <label className="mb-3 block max-w-sm">
          <span className="mb-1 block font-medium">Session</span>
          <input className="field" value={session} onChange={({ target }) => setSession(target.value)} />
          <span className="text-sm text-soft">Its tools apply, and the rules that people added for it.</span>
        </label>
        <Problem text={problem} />
        <button type="submit" className="button" disabled={session === ''}>
          Explain
        </button>
      </form>
      <div aria-live="polite" className="mt-3">
        {explained && <Explanation explained={explained} />}
      </div>
    </>
  )
}

const tones: Readonly<Record<string, Tone>> = { allow: 'go', ask: 'wait', deny: 'stop' }

const wouldWords: Readonly<Record<Explained['would'], string>> = {
  run: 'It would run without approval.',
  ask: 'It would need approval.',
  'be denied': 'It would be denied.',
  'be refused': 'It would be refused.',
}

interface ExplanationProps {
  readonly explained: Explained
  /** Rules of the configuration, to show the text of those that voted. */
  readonly rules?: readonly PolicyRule[]
}

export function Explanation({ explained, rules = [] }: ExplanationProps): ReactNode {
  const { would, why, votes, remembered } = explained
  const ruleOf = ({ layer, rule }: Explained['votes'][number]): PolicyRule | undefined =>
    rule === undefined ? undefined : rules.find((each) => each.layer === (layer ?? 0) && each.index === rule)
  return (
    <div className="rounded-md bg-sunk p-3">
      <p className="wrap">
        {remembered
          ? `A rule that a person added would ${remembered.then === 'deny' ? 'deny it' : 'let it run'} without asking. Without that rule it would ask.`
          : wouldWords[would]}{' '}
        {shown(why)}
      </p>
      {votes.length > 0 && (
        <ul className="mt-2 divide-y divide-line">
          {votes.map((vote, index) => (
            <VoteRow key={`${index} ${vote.reason}`} vote={vote} rule={ruleOf(vote)} />
          ))}
        </ul>
      )}
    </div>
  )
}

interface VoteRowProps {
  readonly vote: Explained['votes'][number]
  readonly rule: PolicyRule | undefined
}

function VoteRow({ vote, rule: configured }: VoteRowProps): ReactNode {
  const { effect, by, layer, rule, reason, certain } = vote
  return (
    <li className="flex flex-wrap items-center gap-x-3 py-1.5">
      <Badge tone={tones[effect] ?? 'neutral'}>{effect}</Badge>
      <span className="text-sm text-soft">
        {by}
        {rule !== undefined && ` ${layer ?? 0}.${rule}`}
      </span>
      <span className="any">{shown(reason)}</span>
      {!certain && <span className="text-sm text-soft">It is not certain that it matches.</span>}
      {configured && (
        <span className="any w-full">
          <RuleTerms rule={configured.rule} withReason={false} />
        </span>
      )}
    </li>
  )
}
