// Progress and output of a call while it runs. They are sent to readers and not recorded.

import { type ReactNode, useState } from 'react'
import { useLiveSession } from '../../api/use-live-session.ts'
import { Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Progress } from '../tasks/progress.tsx'
import type { Call } from './call-words.ts'

const maxShown = 20_000

export function LiveOutput({ call }: { readonly call: Call }): ReactNode {
  const isOpen = call.settledAt === null
  const [progress, setProgress] = useState<object | null>(null)
  const [output, setOutput] = useState('')
  useLiveSession(call.session, isOpen, (event) => {
    if (event.type === 'reset' || event.call !== call.uid) return
    if (event.type === 'call.progress') setProgress(event.body)
    if (event.type === 'call.output') setOutput((text) => `${text}${event.body.text}`.slice(-maxShown))
  })
  if (progress === null && output === '') return null
  return (
    <Section title="Output while this page was open">
      <Progress progress={progress} title={call.name} />
      {output !== '' && (
        <pre
          className="wrap mt-2 max-h-96 overflow-auto rounded-md bg-sunk p-3 text-sm"
          tabIndex={0}
          aria-label="the output"
        >
          {shown(output)}
        </pre>
      )}
    </Section>
  )
}
