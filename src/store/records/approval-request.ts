// Records of requests to people and to clients. A call that needs a decision or an answer opens an ordinary wait
// whose terms say what is asked (approval-wait-terms.ts). An inbox item, stored as a document until the wait is answered,
// holds what a person sees and the votes so far. A decision answers the wait; as long as the quorum is not reached it
// is only a vote on the item. Pure functions.

import { type Json, parseJson } from '../../core/tool-value.ts'
import type { AskKind, AskTerms } from './approval-wait-terms.ts'
import type { Resolution, WaitRecord } from './call-record.ts'
import { type Unknown } from '../../core/outcome.ts'

/** The decision of one person. */
export interface Vote {
  /** Who decided. */
  readonly by: string
  /** The channel the vote came through: 'library', 'http', 'cli' … */
  readonly door: string
  /** When, in milliseconds since 1970. */
  readonly at: number
  /** Why, if they said so. */
  readonly reason?: string
}

/** Which people may decide, and how many of them are needed. */
export interface QuorumTerms {
  readonly quorum: number
  /** The requester may not approve. */
  readonly separate: boolean
  /** Lists of name patterns; the decider must match each list. */
  readonly approvers: readonly (readonly string[])[]
}

/** What a call will do, for the person who decides. */
export interface Preview {
  /** One plain sentence: what will happen. */
  readonly summary: string
  /** More detail: a diff or a rendered view. */
  readonly details?: string
  /** How to render `details`. */
  readonly format?: 'text' | 'markdown' | 'diff'
}

export type QuestionShape =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'secret'; readonly text: string }
  | { readonly kind: 'choice'; readonly text: string; readonly choices: readonly string[]; readonly several: boolean }

/** The inbox item, stored while the wait is open. */
export interface AskItem {
  readonly kind: AskKind
  readonly call: string
  readonly callId: string
  /** The calls above it, outermost first: what the body or agent was doing when it asked. */
  readonly under: readonly string[]
  readonly tool: string
  readonly title: string
  readonly principal: string | null
  /** Final arguments, in recorded form. */
  readonly args: string
  /** Why a decision is needed. */
  readonly reason: string
  /** Possible effects of the call, in words. */
  readonly effect: string
  readonly preview: Preview
  readonly fingerprint: string
  readonly toolFingerprint: string
  readonly toolId: string
  readonly of: QuorumTerms
  readonly votes: readonly Vote[]
  readonly createdAt: number
  readonly deadline: number
  readonly question?: QuestionShape & { readonly default?: Json }
  readonly provider?: string
  /** For kind `finding`: the attempt whose outcome is unknown. */
  readonly interrupted?: { readonly attempt: number; readonly startedAt: number }
  readonly final?: true
}

/** The value with which a decision answers a wait. */
export type DecisionRecord = { readonly at: number; readonly votes: readonly Vote[] } & (
  | { readonly decision: 'approve' }
  | { readonly decision: 'deny' }
  /** New arguments as the person entered them. The fingerprint is of the validated arguments they become. */
  | { readonly decision: 'edit'; readonly input: Json; readonly fingerprint: string }
  | { readonly decision: 'answer'; readonly value: Json }
)

/** The decision that answered a wait; null if the wait is open or ended otherwise. */
export const decisionOf = (resolution: Resolution | null): DecisionRecord | null =>
  resolution !== null && 'value' in resolution ? (resolution.value as DecisionRecord) : null

/** Result of a question, as returned to the body that asked. */
export interface QuestionAnswer {
  /** Whether it was answered, declined, or nobody answered in time. */
  readonly status: 'answered' | 'declined' | 'timed_out'
  /** The text, the choice, or the choices; the question's default after a timeout; null if there is none. */
  readonly answer: Json
  /** The person who answered; null after a timeout. */
  readonly by: string | null
}

export function questionAnswerOf(resolution: Resolution, terms: AskTerms): QuestionAnswer {
  const decision = decisionOf(resolution)
  const by = decision?.votes.at(-1)?.by ?? null
  if (decision?.decision === 'answer') return { status: 'answered', answer: decision.value, by }
  if (decision) return { status: 'declined', answer: null, by }
  return {
    status: 'timed_out',
    answer: terms.default === undefined ? null : parseJson(terms.default),
    by: null,
  }
}

/** The outcome to settle with if a finding is not resolved. */
export const unknownOf = ({ unknown }: AskTerms): Unknown => JSON.parse(unknown as string) as Unknown

/** Whether a question timed out. */
export const isUnanswered = (resolution: Resolution): boolean =>
  'value' in resolution && (resolution.value as Partial<QuestionAnswer> | null)?.status === 'timed_out'

/** Kinds whose answer is a decision that lets the call continue. Answers to the other kinds are results. */
export const isDecisionKind = (kind: AskKind): boolean =>
  kind === 'approval' || kind === 'finding' || kind === 'connection'

/** When the wait ended; `now` while it is open. A cancelled wait may record its own time. */
function endedAt(wait: Pick<WaitRecord, 'createdAt' | 'deadline'>, resolution: Resolution | null, now: number): number {
  if (resolution === null) return now
  if ('cancelled' in resolution) return resolution.at ?? wait.createdAt
  return decisionOf(resolution)?.at ?? wait.deadline
}

/** How long people have been deciding, including requests still open. The total timeout of a call does not count it. */
export function decidingMs(
  waits: readonly {
    readonly wait: Pick<WaitRecord, 'createdAt' | 'deadline'>
    readonly asks: AskTerms
    readonly resolution: Resolution | null
  }[],
  now: number,
): number {
  const spans = waits
    .filter(({ asks }) => asks.kind !== 'client')
    .map(({ wait, resolution }) => [wait.createdAt, endedAt(wait, resolution, now)] as const)
    .toSorted(([a], [b]) => a - b)
  let ms = 0
  let until = 0
  // Overlapping waits are counted once.
  for (const [from, to] of spans) {
    ms += Math.max(0, Math.min(to, now) - Math.max(from, until))
    until = Math.max(until, to)
  }
  return ms
}
