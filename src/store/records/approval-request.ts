// JOURNAL: what is asked of people (POL-2 to POL-6) and of clients (SESS-7). A call that needs a word of somebody waits like any other; the
// terms of its wait say what is asked. Beside it lies an item, kept by name until the wait has its answer: what a person sees, and who has
// approved so far. A decision answers the wait; until then it is a vote on the item. Pure.

import type { Json } from '../../core/value.ts'
import type { AskKind, AskTerms } from './approval-terms.ts'
import type { CallPosition, Resolution, WaitRecord } from './call-record.ts'

export interface Vote {
  readonly by: string
  /** Through which door it came: 'library', 'http', 'cli' … */
  readonly door: string
  readonly at: number
  readonly reason?: string
}

/** Who may decide, and how many of them it takes. */
export interface AskedOf {
  readonly quorum: number
  /** Who asked may not approve. */
  readonly separate: boolean
  /** Lists of patterns; who decides must be in each of them. */
  readonly approvers: readonly (readonly string[])[]
}

export interface Preview {
  /** What will happen, in a plain sentence. */
  readonly summary: string
  /** More of it: a difference, or a rendered view. */
  readonly details?: string
  /** How to show the details. */
  readonly format?: 'text' | 'markdown' | 'diff'
}

export type QuestionShape =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'secret'; readonly text: string }
  | { readonly kind: 'choice'; readonly text: string; readonly choices: readonly string[]; readonly several: boolean }

/** What is kept of it while it waits. */
export interface AskItem {
  readonly kind: AskKind
  readonly call: string
  readonly callId: string
  /** Calls above it, outermost first: what a body or an agent was doing when it asked. */
  readonly under: readonly string[]
  readonly tool: string
  readonly title: string
  readonly principal: string | null
  /** Final arguments, recorded form. */
  readonly args: string
  /** Why somebody is asked. */
  readonly reason: string
  /** What it may do, in words. */
  readonly effect: string
  readonly preview: Preview
  readonly fingerprint: string
  readonly toolFingerprint: string
  readonly toolId: string
  readonly of: AskedOf
  readonly votes: readonly Vote[]
  readonly createdAt: number
  readonly deadline: number
  readonly question?: QuestionShape & { readonly default?: Json }
  readonly provider?: string
  /** For a finding: the attempt whose end nobody saw. */
  readonly interrupted?: { readonly attempt: number; readonly startedAt: number }
  readonly final?: true
}

/** The value with which a decision answers a wait. */
export type Decided = { readonly at: number; readonly votes: readonly Vote[] } & (
  | { readonly decision: 'approve' }
  | { readonly decision: 'deny' }
  /** Other arguments, as the person wrote them; the fingerprint is of what they become. */
  | { readonly decision: 'edit'; readonly input: Json; readonly fingerprint: string }
  | { readonly decision: 'answer'; readonly value: Json }
)

const collectionOf = (kind: AskKind): string => (kind === 'client' ? 'client' : 'inbox')

/** Where an item is kept. */
export const itemName = (
  kind: AskKind,
  { tenant, session }: Pick<CallPosition, 'tenant' | 'session'>,
  wait: string,
) => ({
  of: collectionOf(kind),
  tenant,
  session,
  key: wait,
})

/** The decision a wait was answered with; null if it ended otherwise, or is open. */
export const decidedOf = (resolution: Resolution | null): Decided | null =>
  resolution !== null && 'value' in resolution ? (resolution.value as Decided) : null

/** What the body that asked a question gets. */
export interface Answered {
  readonly status: 'answered' | 'declined' | 'timed_out'
  /** The text, the choice, or the choices; null if there is none. A default stands in for silence. */
  readonly answer: Json
  /** Who answered; null for the clock. */
  readonly by: string | null
}

export function answeredOf(resolution: Resolution, asks: AskTerms): Answered {
  const decided = decidedOf(resolution)
  const by = decided?.votes.at(-1)?.by ?? null
  if (decided?.decision === 'answer') return { status: 'answered', answer: decided.value, by }
  if (decided) return { status: 'declined', answer: null, by }
  return {
    status: 'timed_out',
    answer: asks.default === undefined ? null : (JSON.parse(asks.default) as Json),
    by: null,
  }
}

/** What a question comes to when the clock was first. */
export const isUnanswered = (resolution: Resolution): boolean =>
  'value' in resolution && (resolution.value as Partial<Answered> | null)?.status === 'timed_out'

/** A word with which the call goes on; answers to questions and results of clients are results. */
export const isWord = (kind: AskKind): boolean => kind === 'approval' || kind === 'finding' || kind === 'connection'

/** When it was over; what is open is not over yet. What was called off says so itself. */
function answeredAt(
  wait: Pick<WaitRecord, 'createdAt' | 'deadline'>,
  resolution: Resolution | null,
  now: number,
): number {
  if (resolution === null) return now
  if ('cancelled' in resolution) return resolution.at ?? wait.createdAt
  return decidedOf(resolution)?.at ?? wait.deadline
}

/** How long people have been deciding, with what is asked at this moment: a total deadline does not count it (TIME-2). */
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
    .map(({ wait, resolution }) => [wait.createdAt, answeredAt(wait, resolution, now)] as const)
    .toSorted(([a], [b]) => a - b)
  let ms = 0
  let until = 0
  // What overlaps is the same time.
  for (const [from, to] of spans) {
    ms += Math.max(0, Math.min(to, now) - Math.max(from, until))
    until = Math.max(until, to)
  }
  return ms
}
