// Which of the claimed calls may have killed their worker. Called by the claim loop for each page of claimed calls.

import { lengthPrefixed } from '../../../core/ids.ts'
import type { MaybePromise } from '../../../core/maybe-promise.ts'
import { collections } from '../../../store/collections.ts'
import { stepKeys, turnBatch } from '../../../store/journal-keys.ts'
import { type CallRecord, parseCallOptions } from '../../../store/records/call-record.ts'
import { parseDeathMark } from '../../../store/records/death-mark.ts'
import type { Store } from '../../../store/store.ts'

/**
 * `alone`: no other code ran in the dead worker. `ancestor`: a call inside this one ran, and is the one to suspect.
 * `company`: others ran beside it.
 */
export type Blame = 'alone' | 'ancestor' | 'company'

/**
 * `isWhole`: the page holds all claimable calls. Calls of two dead workers look like company, which blames no call; a
 * worker that lacks a tool of the dead one may claim a part and see it alone.
 */
export function findCulprit(
  store: Store,
  records: readonly CallRecord[],
  isWhole: boolean,
): MaybePromise<(record: CallRecord) => Blame> {
  const suspects = records.filter(({ deaths }) => deaths > 0)
  const ancestors = new Set(suspects.flatMap((record) => ancestorsOf(record)))
  const innermost = suspects.filter((record) => !isAmong(ancestors, record))
  const blame =
    (culprits: readonly CallRecord[]) =>
    (record: CallRecord): Blame =>
      isWhole && culprits.length === 1 && record === culprits[0]
        ? 'alone'
        : isAmong(ancestors, record)
          ? 'ancestor'
          : 'company'
  if (!isWhole || innermost.length < 2 || innermost.length > maxReads) return blame(innermost)
  return withoutWaiting(store, suspects, innermost, ancestors).then(blame, () => blame(innermost))
}

/** If more calls than this ran, it is unlikely that all but one only waited, and not worth the reads. */
const maxReads = 32

/** Leaves out bodies that only waited, for an agent or for a task. The parents of agents are added to the ancestors. */
async function withoutWaiting(
  store: Store,
  suspects: readonly CallRecord[],
  innermost: readonly CallRecord[],
  ancestors: Set<string>,
): Promise<readonly CallRecord[]> {
  const turns = suspects.filter(({ position }) => position.batch === turnBatch)
  const parents = await Promise.all(turns.map(({ position }) => collections.sessionParent.read(store, position)))
  for (const parent of parents) if (parent) ancestors.add(parent.call)
  const culprits: CallRecord[] = []
  for (const record of innermost)
    if (!isAmong(ancestors, record) && !(await isWaitingForTask(store, record))) culprits.push(record)
  return culprits
}

/** A body that waits for a task has a mark, even if it never lost a worker before. */
async function isWaitingForTask(store: Store, { uid }: CallRecord): Promise<boolean> {
  const mark = (await store.steps(uid)).find(({ key }) => key === stepKeys.deaths)
  return mark !== undefined && parseDeathMark(mark).waitsForTask === true
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
