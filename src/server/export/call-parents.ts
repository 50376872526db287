// Finds the call or turn that made a call, from the name of the batch that the runtime gave it. Called by
// read-export.ts.

import { lengthPrefixed } from '../../core/ids.ts'
import type { CallSummary, Session } from '../../index.ts'

interface Position {
  readonly batch: string
  readonly id: string
  readonly occurrence: number
}

/** Batches of nested calls, of the calls in a model's answer, and of turns. They are persisted. */
const nestedPrefix = 'pawl:under:'
const answerPrefix = 'pawl:step:'
const turnBatch = 'pawl:turn'

export const isTurn = ({ batch }: Pick<CallSummary, 'batch'>): boolean => batch === turnBatch

/** Parents that are remembered, so that the calls under them need no further read. */
const maxParents = 1_000

/** Returns a function that gives the uid of a call's parent. */
export function callParents(
  session: Pick<Session, 'calls'>,
): (call: Pick<CallSummary, 'batch'>) => Promise<string | null> {
  const known = new Map<string, string | null>()
  return async ({ batch }) => {
    const position = parentPosition(batch)
    if (!position) return null
    const { id, ...at } = position
    const key = lengthPrefixed(at.batch, id, at.occurrence)
    const found = known.get(key)
    if (found !== undefined) return found
    const parent = (await session.calls.get(id, at))?.uid ?? null
    known.set(key, parent)
    const oldest = known.size > maxParents ? known.keys().next().value : undefined
    if (oldest !== undefined) known.delete(oldest)
    return parent
  }
}

function parentPosition(name: string): Position | null {
  if (name.startsWith(nestedPrefix)) {
    const [batch, id, occurrence] = partsOf(name.slice(nestedPrefix.length))
    return batch === undefined || !id ? null : { batch, id, occurrence: Number(occurrence) }
  }
  if (!name.startsWith(answerPrefix)) return null
  const [turn] = partsOf(name.slice(answerPrefix.length))
  return turn ? { batch: turnBatch, id: turn, occurrence: 0 } : null
}

/** The inverse of lengthPrefixed(). Empty if the text is not of that form. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  for (let at = 0; at < text.length;) {
    const colon = text.indexOf(':', at)
    const length = Number(text.slice(at, colon))
    const end = colon + 1 + length
    if (colon === -1 || !Number.isInteger(length) || text[end] !== ',') return []
    parts.push(text.slice(colon + 1, end))
    at = end + 1
  }
  return parts
}
