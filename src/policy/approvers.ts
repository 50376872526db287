// Decides which person may vote on an approval request and when the quorum is reached. Pure. approvals/decide.ts checks
// before it writes a vote; calls/authorization/approval-request.ts checks again, under the current policy, before the
// call runs.

import type { QuorumTerms, AskItem, Vote } from '../store/records/approval-request.ts'
import { compileGlobs } from './rules.ts'
import { refuseAt } from './conditions.ts'

export type VoteRefusal =
  /** The voter is the requester. */
  | 'own_request'
  /** The voter must not be the requester, and the requester is not recorded. */
  | 'requester_unknown'
  | 'not_an_approver'
  | 'voted_already'

/**
 * The form in which names of people are compared. Names that a person or a directory would treat as equal count as one
 * person: case, width, normal form, surrounding blanks and invisible characters are ignored. This only makes the
 * separation of requester and approver stricter.
 */
const normalizedName = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .trim()
    .toUpperCase()
    .toLowerCase()

const isSamePerson = (one: string, other: string): boolean =>
  one === other || normalizedName(one) === normalizedName(other)

/** Why this person may not cast this vote; null if they may. Any approver may deny, including the requester. */
export function voteRefusal(
  item: Pick<AskItem, 'of' | 'principal' | 'votes'>,
  by: string,
  approves: boolean,
): VoteRefusal | null {
  if (approves && item.of.separate && item.principal === null) return 'requester_unknown'
  if (approves && item.of.separate && item.principal !== null && isSamePerson(item.principal, by)) return 'own_request'
  if (!isApprover(item.of, by)) return 'not_an_approver'
  if (approves && item.votes.some((vote) => isSamePerson(vote.by, by))) return 'voted_already'
  return null
}

/** The message for the person whose vote was refused. */
export const voteRefusalText: Readonly<Record<VoteRefusal, string>> = {
  own_request: 'The requester of a call may not approve it. The call still waits for another approver.',
  requester_unknown:
    'A person other than the requester must approve, but the requester is not recorded. Open the session with a principal. The call still waits.',
  not_an_approver: 'This person is not an approver of the call. The call still waits.',
  voted_already: 'This person has already approved; another approver is needed. The call still waits.',
}

const isApprover = ({ approvers }: QuorumTerms, by: string): boolean =>
  approvers.every((list) => compileGlobs(list, 'approvers', refuseAt('policy'))?.(by) ?? false)

/** Whether the votes reach the quorum under the current terms, which may be stricter than when the votes were cast. */
export function hasQuorum(of: QuorumTerms, principal: string | null, votes: readonly Vote[]): boolean {
  const counting = votes.filter(({ by }) => voteRefusal({ of, principal, votes: [] }, by, true) === null)
  return new Set(counting.map(({ by }) => normalizedName(by))).size >= of.quorum
}
