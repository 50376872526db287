// The last calls of a tool in numbers. They come from one bounded read, and the screen says what they cover.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { exampleText } from '../../forms/example.ts'
import { Command } from '../../ui/command.tsx'
import { Failed, Section } from '../../ui/parts.tsx'
import { durationText, exactTime } from '../../ui/time.tsx'
import { callCommand } from './example-call.ts'
import { statisticsOf } from './statistics.ts'

const maxCalls = 200
/** The calls of all tools that one read of the server looks at. */
const maxScanned = 5_000

/** Read a few times a minute, not with every event, because it is a large page. */
export const useLastCalls = (tool: string) =>
  useQuery({
    queryKey: ['lastCalls', tool],
    queryFn: () => client.calls.recent({ tool, limit: maxCalls }),
    refetchInterval: 10_000,
  })

interface StatisticsProps {
  readonly tool: string
  /** The schema of its input; undefined if models do not see the tool. */
  readonly input: unknown
}

export function ToolStatistics({ tool, input }: StatisticsProps): ReactNode {
  const { data, error, refetch } = useLastCalls(tool)
  if (error && !data) return <Failed error={error} retry={() => void refetch()} />
  if (!data) return null
  const { calls, succeeded, failed, denied, unknown, cancelled, open, since, p50, p95 } = statisticsOf(data.calls)
  const isWhole = data.next === null
  if (since === null)
    return (
      <Section title="Statistics">
        <p className="mb-2 text-soft">
          {isWhole ? 'It has no calls yet.' : `None of the last ${maxScanned.toLocaleString()} calls was of this tool.`}{' '}
          {input !== undefined && 'This makes one:'}
        </p>
        {input !== undefined && <Command text={callCommand({ name: tool, input: exampleText(input) })} />}
      </Section>
    )
  const facts: readonly (readonly [string, string])[] = [
    ['Calls', String(calls)],
    ['Succeeded', String(succeeded)],
    ['Failed', failed === 0 ? '0' : `${failed} (${Math.round((100 * failed) / calls)} %)`],
    ...(denied > 0 ? [['Denied', String(denied)] as const] : []),
    ...(unknown > 0 ? [['Unknown outcome', String(unknown)] as const] : []),
    ...(cancelled > 0 ? [['Cancelled', String(cancelled)] as const] : []),
    ['Open', String(open)],
    ['Median duration', p50 === null ? 'none' : durationText(p50)],
    ['95th percentile', p95 === null ? 'none' : durationText(p95)],
  ]
  return (
    <Section
      title="Statistics"
      aside={
        failed > 0 && (
          <Link href={`/calls?tool=${encodeURIComponent(tool)}&status=failure`} className="text text-sm">
            Failed calls
          </Link>
        )
      }
    >
      <dl className="grid grid-cols-2 gap-x-6 gap-y-2 sm:grid-cols-4">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt className="text-sm text-soft">{name}</dt>
            <dd className="font-medium">{value}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-2 text-sm text-soft">
        {isWhole
          ? calls === 1
            ? 'Its only call'
            : `All ${calls} of its calls`
          : calls === maxCalls
            ? `Its last ${maxCalls} calls`
            : `Its calls among the last ${maxScanned.toLocaleString()} of all`}
        , since {exactTime(since)}. Durations include the time in which a call waits for people.
      </p>
    </Section>
  )
}
