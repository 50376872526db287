// The end of a call: its result, its error, or why there is none.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { client } from '../../api/client.ts'
import { useMay } from '../../shell/me.tsx'
import { Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { exactTime } from '../../ui/time.tsx'
import { Json } from '../../ui/values.tsx'
import type { Call } from './call-words.ts'

export function Outcome({ call: { outcome, attempts, waits } }: { readonly call: Call }): ReactNode {
  if (!outcome)
    return (
      <Section title="Result">
        <p className="text-soft">There is none yet.</p>
      </Section>
    )
  if (outcome.status === 'success') {
    const given = attempts === 0 && waits.some(({ decision }) => decision?.verb === 'answer')
    return (
      <Section title={given ? 'Result, given by a person' : 'Result'}>
        <Json value={outcome.value} label="the result" />
      </Section>
    )
  }
  if (outcome.status === 'failure') {
    const { code, message, retry } = outcome.failure
    return (
      <Section title="What the model reads">
        <p className="wrap mb-2">{shown(message)}</p>
        <p className="any text-sm text-soft">
          <code>{code}</code>
          {retry.when === 'exhausted' && `, after ${retry.attempts} attempts`}
          {outcome.failure.mayStillRun === true && '. The tool did not stop in time and may still be running.'}
        </p>
      </Section>
    )
  }
  if (outcome.status === 'cancelled')
    return (
      <Section title="Cancelled">
        <p className="wrap">{shown(outcome.cancellation.message)}</p>
      </Section>
    )
  return (
    <Section title="Unknown outcome">
      <p className="wrap mb-2">{shown(outcome.unknown.message)}</p>
      <p className="text-sm text-soft">
        The attempt began at {exactTime(outcome.unknown.startedAt)}. Nothing says whether it took effect.
      </p>
    </Section>
  )
}

/** Models and callers never read it. */
export function InternalError({ call: { uid, outcome } }: { readonly call: Call }): ReactNode {
  const mayOperate = useMay('operate')
  const isFailed = outcome?.status === 'failure' || outcome?.status === 'unknown'
  const { data } = useQuery({
    queryKey: ['call', uid, 'diagnostics'],
    queryFn: () => client.calls.diagnostics({ call: uid }),
    enabled: mayOperate && isFailed,
  })
  if (!data) return null
  return (
    <Section title="Internal error, for operators">
      <p className="wrap mb-2">{shown(data.what)}</p>
      <pre className="wrap max-h-96 overflow-auto rounded-md bg-sunk p-3 text-sm" tabIndex={0} aria-label="The causes">
        {data.causes.map(shown).join('\n\n')}
      </pre>
    </Section>
  )
}
