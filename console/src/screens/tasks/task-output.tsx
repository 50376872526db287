// The output of a task as it is written. Its worker writes the log twice a second, each time with an event, which makes
// the page read the log again: the text has no gaps.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import { client, isMissing } from '../../api/client.ts'
import { Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'

interface TaskOutputProps {
  readonly session: string
  readonly id: string
  readonly path: string
  readonly isOpen: boolean
}

const maxShown = 20_000

export function TaskOutput({ session, id, path, isOpen }: TaskOutputProps): ReactNode {
  const box = useRef<HTMLPreElement>(null)
  const { data = '' } = useQuery({
    queryKey: ['task', session, id, 'log'],
    queryFn: async () => {
      try {
        return await (await client.files.read({ session, path: path.replace(/^\//, '') })).text()
      } catch (error) {
        if (isMissing(error)) return ''
        throw error
      }
    },
  })
  useEffect(() => {
    const { current } = box
    if (current) current.scrollTop = current.scrollHeight
  }, [data])
  if (data === '' && !isOpen) return null
  return (
    <Section title="Output">
      {data === '' ? (
        <p className="text-soft">It has written nothing yet.</p>
      ) : (
        <pre
          ref={box}
          className="wrap max-h-96 overflow-auto rounded-md bg-sunk p-3 text-sm"
          tabIndex={0}
          aria-label="the output"
        >
          {data.length > maxShown &&
            `… the first ${(data.length - maxShown).toLocaleString()} characters are in ${path}\n`}
          {shown(data.slice(-maxShown))}
        </pre>
      )}
    </Section>
  )
}
