// One tool: what the model sees, a form to try it, what became of its last calls, and the policy that applies.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client, isMissing } from '../../api/client.ts'
import { useMay } from '../../shell/me.tsx'
import { Command } from '../../ui/command.tsx'
import { Badge, Failed, Loading, ScreenTitle, Section, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago } from '../../ui/time.tsx'
import { Json, LongText } from '../../ui/values.tsx'
import { statusWords } from '../calls/call-words.ts'
import { quoted } from '../calls/commands.ts'
import { Definition } from './definition.tsx'
import { ToolPolicy } from './tool-policy.tsx'
import { ToolStatistics } from './tool-statistics.tsx'
import { toolsQuery } from './catalogue.ts'
import { HintBadges } from './tools-screen.tsx'
import { TryIt } from './try-it.tsx'

type Tool = Awaited<ReturnType<typeof client.tools.get>>

export function ToolScreen({ name }: { readonly name: string }): ReactNode {
  usePageTitle(shown(name))
  const query = useQuery({ queryKey: ['tool', name], queryFn: () => client.tools.get({ tool: name }) })
  const { data: listings } = useQuery(toolsQuery)
  const listing = listings?.find((each) => each.name === name)
  // Models do not see a changed tool, so it has no definition to show, but its page says why.
  const isMissed = isMissing(query.error)
  if (isMissed && listings && !listing) return <ScreenTitle>There is no tool {shown(name)}</ScreenTitle>
  if (query.error && !isMissed && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  const tool = isMissed ? undefined : query.data
  if (!tool && !(isMissed && listing)) return <Loading />
  return (
    <>
      <ScreenTitle
        aside={
          <Link href="/tools" className="text text-sm">
            Tools
          </Link>
        }
      >
        <span className="font-mono">{shown(name)}</span>
      </ScreenTitle>
      <p className="mb-3 flex flex-wrap gap-2">
        <HintBadges hints={tool?.hints ?? listing?.hints ?? {}} />
        {tool?.available === false && <Badge tone="stop">Not available</Badge>}
      </p>
      {tool ? (
        <>
          <WhatModelsRead tool={tool} />
          <Try tool={tool} />
          <div className="mb-4">
            <Command text={`pawl tools ${quoted(tool.name)}`} />
          </div>
        </>
      ) : (
        <p className="mb-4">Models do not see this tool now, and it cannot be run.</p>
      )}
      <ToolStatistics tool={name} input={tool?.input} />
      <RecentCalls tool={name} />
      {listing && (
        <>
          <ToolPolicy tool={listing} />
          <Definition tool={listing} />
        </>
      )}
    </>
  )
}

function Try({ tool }: { readonly tool: Tool }): ReactNode {
  const mayCall = useMay('call')
  if (mayCall) return <TryIt tool={tool} />
  return <p className="mb-4 text-soft">Your login may look, but not run tools. It needs the role caller.</p>
}

/** As the tool is sent to a model. Its title, hints and output are for people and hosts. */
function WhatModelsRead({ tool }: { readonly tool: Tool }): ReactNode {
  return (
    <Section title="What the model reads">
      <dl className="flex flex-col gap-2">
        <div>
          <dt className="text-sm text-soft">Name</dt>
          <dd className="any font-mono">{shown(tool.name)}</dd>
        </div>
        <div>
          <dt className="text-sm text-soft">Description</dt>
          <dd>
            <LongText text={tool.description} label="the description" />
          </dd>
        </div>
      </dl>
      <details className="mt-2">
        <summary className="cursor-pointer text-sm text-soft">Schema of the input</summary>
        <Json value={tool.input} label="the schema of the input" />
      </details>
      {tool.output !== null && (
        <details className="mt-2">
          <summary className="cursor-pointer text-sm text-soft">Schema of the output, which hosts of MCP read</summary>
          <Json value={tool.output} label="the schema of the output" />
        </details>
      )}
    </Section>
  )
}

function RecentCalls({ tool }: { readonly tool: string }): ReactNode {
  const { data } = useQuery({
    queryKey: ['calls', 'of', tool],
    queryFn: () => client.calls.recent({ tool, limit: 5 }),
  })
  if (!data || data.calls.length === 0) return null
  return (
    <Section
      title="Last calls"
      aside={
        <Link href={`/calls?tool=${encodeURIComponent(tool)}`} className="text text-sm">
          All
        </Link>
      }
    >
      <ul className="divide-y divide-line">
        {data.calls.map(({ uid, state, status, code, session, createdAt }) => {
          const { text, tone } = statusWords(state, status, code)
          return (
            <li key={uid} className="flex flex-wrap items-center gap-x-3 py-1.5">
              <Badge tone={tone}>{text}</Badge>
              <Link href={`/calls/${uid}`} className="text any flex-1">
                in {shown(session)}
              </Link>
              <span className="text-sm text-soft">
                <Ago at={createdAt} />
              </span>
            </li>
          )
        })}
      </ul>
    </Section>
  )
}
