// How far a task is, as a bar if it says how much there is in all.

import type { ReactNode } from 'react'
import { shown } from '../../ui/shown.ts'
import { progressText } from './task-words.ts'

interface ProgressProps {
  readonly progress: object | null
  readonly title: string
}

export function Progress({ progress, title }: ProgressProps): ReactNode {
  const text = progressText(progress)
  const { current, total } = (progress ?? {}) as { readonly current?: unknown; readonly total?: unknown }
  if (text === null) return null
  return (
    <div className="text-sm text-soft">
      <span className="any">{shown(text)}</span>
      {typeof current === 'number' && typeof total === 'number' && total > 0 && (
        <progress
          className="mt-1 block w-full"
          value={current}
          max={total}
          aria-label={`${shown(title)}: ${current} of ${total}`}
        />
      )}
    </div>
  )
}
