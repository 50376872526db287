// POLICY, approvals (POL-3): who may decide, and when enough people have. Pure; approvals/decide.ts asks before it writes, and calls/authorization/approval-request.ts
// asks again before anything runs, by the policy of that moment.

import type { AskedOf, AskItem, Vote } from '../store/records/approval-request.ts'
import { compileGlobs } from './rules.ts'
import { refuseAt } from './conditions.ts'

export type MayNot =
  /** Who asked for it. */
  | 'own_request'
  /** Who asked is not on record, and must be another. */
  | 'requester_unknown'
  | 'not_an_approver'
  | 'voted_already'

/**
 * Who is meant by a name, for questions of who is another: two names that people, or a directory, take for one are one person. What is compared
 * does not know case, width, normal forms, blanks around or what nobody sees. It only ever makes it stricter.
 */
const personOf = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .trim()
    .toUpperCase()
    .toLowerCase()

const isSame = (one: string, other: string): boolean => one === other || personOf(one) === personOf(other)

/** Why this person may not decide so; null if they may. Anybody who may decide may say no, to what they asked for themselves too. */
export function mayNot(
  item: Pick<AskItem, 'of' | 'principal' | 'votes'>,
  by: string,
  approves: boolean,
): MayNot | null {
  if (approves && item.of.separate && item.principal === null) return 'requester_unknown'
  if (approves && item.of.separate && item.principal !== null && isSame(item.principal, by)) return 'own_request'
  if (!isAmong(item.of, by)) return 'not_an_approver'
  if (approves && item.votes.some((vote) => isSame(vote.by, by))) return 'voted_already'
  return null
}

/** In words, for who tried. */
export const mayNotWords: Readonly<Record<MayNot, string>> = {
  own_request: 'Who asked for the call may not approve it. It still waits, for somebody else.',
  requester_unknown:
    'Somebody other than who asked must approve, and who asked is not on record: open the session with a principal. The call still waits.',
  not_an_approver: 'This person is not among those who may decide about the call. It still waits.',
  voted_already: 'This person has approved already; somebody else must too. The call still waits.',
}

const isAmong = ({ approvers }: AskedOf, by: string): boolean =>
  approvers.every((list) => compileGlobs(list, 'approvers', refuseAt('policy'))?.(by) ?? false)

/** Whether these votes are enough for what is asked now: it may have become stricter since they were given. */
export function isEnough(of: AskedOf, principal: string | null, votes: readonly Vote[]): boolean {
  const counting = votes.filter(({ by }) => mayNot({ of, principal, votes: [] }, by, true) === null)
  return new Set(counting.map(({ by }) => personOf(by))).size >= of.quorum
}
