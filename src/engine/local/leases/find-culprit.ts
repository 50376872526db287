// Which of the claimed calls may have killed their worker. Called by the claim loop for each page of claimed calls.

import { lengthPrefixed } from '../../../core/ids.ts'
import { turnBatch } from '../../../store/journal-keys.ts'
import { type CallRecord, parseCallOptions } from '../../../store/records/call-record.ts'

/**
 * `alone`: no other code ran in the dead worker. `ancestor`: a call inside this one ran, and is the one to suspect.
 * `company`: others ran beside it.
 */
export type Blame = 'alone' | 'ancestor' | 'company'

/**
 * `isWhole`: the page holds all claimable calls. Calls of two dead workers look like company, which blames no call; a
 * worker that lacks a tool of the dead one may claim a part and see it alone.
 */
export function findCulprit(records: readonly CallRecord[], isWhole: boolean): (record: CallRecord) => Blame {
  const suspects = records.filter(({ deaths }) => deaths > 0)
  const ancestors = new Set(suspects.flatMap((record) => ancestorsOf(record)))
  const innermost = suspects.filter((record) => !isAmong(ancestors, record))
  const only = isWhole && innermost.length === 1 ? innermost[0] : null
  return (record) => (record === only ? 'alone' : isAmong(ancestors, record) ? 'ancestor' : 'company')
}

const turnKey = (tenant: string, session: string, turn: string): string => lengthPrefixed(tenant, session, turn)

/** The calls in whose bodies the call was made, and the turn that requested it. */
function ancestorsOf({ position: { tenant, session }, options }: CallRecord): string[] {
  const { root, above = [], turn } = parseCallOptions(options)
  return [
    ...(root === undefined ? [] : [root, ...above]),
    ...(turn === undefined ? [] : [turnKey(tenant, session, turn)]),
  ]
}

const isAmong = (ancestors: ReadonlySet<string>, { uid, position }: CallRecord): boolean =>
  ancestors.has(uid) ||
  (position.batch === turnBatch && ancestors.has(turnKey(position.tenant, position.session, position.id)))
