// Progress of a call or task as a bar.

import { cyan, dim, type Piece } from './output/output.ts'

const width = 12

/** `████░░░░ 4 of 8 pages`. */
export function progressBar({
  current,
  total,
  unit,
  label,
}: {
  readonly current?: number
  readonly total?: number
  readonly unit?: string
  readonly label?: string
}): Piece {
  const rest = [unit, label].filter((each) => each !== undefined).join(' ')
  if (current === undefined) return rest
  if (total === undefined || total <= 0) return `${current} ${rest}`.trimEnd()
  const full = Math.round((width * Math.min(Math.max(current, 0), total)) / total)
  return [cyan('█'.repeat(full)), dim('░'.repeat(width - full)), ` ${current} of ${total} ${rest}`.trimEnd()]
}
