// When nobody knows what an interrupted attempt did, and its tool says `onUnknown: 'ask'` (DUR-3): a person looks, and says what happened
// (answer), that it may be run again (approve), or that it stays unknown (deny). Silence leaves it unknown too.

import type { AskedWait, Driven, Execution, ToSettle } from '../../engine/engine.ts'
import type { AskTerms } from '../../store/records/approval-terms.ts'
import { type Decided, decidedOf } from '../../store/records/approval-request.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { type AskedTogether, together } from '../../policy/evaluate.ts'
import { fingerprintOf } from '../../policy/approval-fingerprint.ts'
import type { ValidatedInput } from '../admission/validated-input.ts'
import type { Asking } from '../host-callback.ts'
import { finish } from '../attempts/complete.ts'
import { itemOf } from './inbox-item.ts'
import { policyOn } from './check-policy.ts'
import { previewOf } from './preview.ts'

/** People look into such things when they can. */
const deadlineMs = 7 * 24 * 60 * 60_000

/** One for each attempt whose end nobody saw. */
const nameOf = (attempt: number): string => `pawl:finding:${attempt}`

type Unknown = Extract<Outcome, { status: 'unknown' }>

/** Whether a person is asked about such an end. */
export const asksWhenUnknown = ({ execution, tool }: Asking, { settle }: ToSettle): boolean =>
  settle.status === 'unknown' && tool.onUnknown === 'ask' && !execution.options.unattended && !execution.stopped

/** How it ends, or the wait for whoever finds out. */
export const orAsked = (asking: Asking, accepted: ValidatedInput, given: ToSettle): MaybePromise<Driven> =>
  asksWhenUnknown(asking, given) ? askedAbout(asking, accepted, given.settle as Unknown) : given

async function askedAbout(asking: Asking, accepted: ValidatedInput, { unknown }: Unknown): Promise<Driven> {
  const { execution, tool } = asking
  const { request, attempt } = execution
  const { message, startedAt, evidence } = unknown
  const fingerprint = fingerprintOf({
    tenant: request.position.tenant,
    call: request.uid,
    tool: tool.fingerprint,
    args: accepted.text,
  })
  // A step that must run once stays begun, however often the body is.
  const final = typeof evidence === 'object' && evidence !== null && 'step' in evidence ? { final: true as const } : {}
  const preview = await previewOf(asking, accepted)
  const { item, terms } = await itemOf(
    asking,
    accepted,
    { kind: 'finding', reason: message, of: await decidersOf(asking, accepted), fingerprint },
    {
      interrupted: { attempt, startedAt },
      preview: { ...preview, summary: `Find out whether this took effect: ${preview.summary}` },
      ...final,
    },
    { ...final, unknown: JSON.stringify(unknown) },
  )
  return { park: await execution.wait({ name: nameOf(attempt), deadlineMs, terms, item }) }
}

/** Who says that it may run again decides no less than who let it run: as many, and the same people. */
async function decidersOf(asking: Asking, accepted: ValidatedInput): Promise<AskedTogether> {
  const decision = await policyOn(asking, accepted.anew().args)
  return ('effect' in decision ? decision.asking : undefined) ?? together([])
}

/** It was cancelled while somebody was asked what an attempt had done: that nobody knows is the stronger word. */
export function unlessUnknown({ asks, attempt }: Execution, end: ToSettle): ToSettle {
  const asked = attempt > 0 && asks.any ? asks.found(nameOf(attempt)) : null
  if (!asked || decidedOf(asked.resolution)?.decision === 'answer') return end
  return { settle: { status: 'unknown', unknown: JSON.parse(asked.asks.unknown as string) as Unknown['unknown'] } }
}

/** What was found out about the last attempt. Null: nothing was asked, or it may run again. */
export function foundOut(asking: Asking, accepted: ValidatedInput): MaybePromise<Driven | null> {
  const { execution } = asking
  const asked = execution.asks.found(nameOf(execution.attempt))
  return asked ? heard(asking, accepted, asked) : null
}

async function heard(
  asking: Asking,
  accepted: ValidatedInput,
  { asks, resolution }: AskedWait,
): Promise<Driven | null> {
  const { execution } = asking
  // The worker died between asking and parking.
  if (resolution === null)
    return { park: await execution.wait({ name: nameOf(execution.attempt), deadlineMs, terms: {} }) }
  const decided = decidedOf(resolution)
  if (decided?.decision === 'approve') return null
  if (decided?.decision === 'answer')
    return finish(asking, accepted, { settle: { status: 'success', value: decided.value } })
  return staysUnknown(asks, decided)
}

function staysUnknown({ unknown: kept }: AskTerms, decided: Decided | null): ToSettle {
  const unknown = JSON.parse(kept as string) as Unknown['unknown']
  const { by, reason } = decided?.votes.at(-1) ?? {}
  if (by === undefined) return { settle: { status: 'unknown', unknown } }
  const message = `${unknown.message} A person looked and could not tell${reason === undefined ? '.' : `: ${reason}`}`
  return { settle: { status: 'unknown', unknown: { ...unknown, message } } }
}

/** Nobody could tell, whatever has become of the tool since. Null: somebody did, or nobody was asked. */
export function nobodyCouldTell({ asks, attempt }: Execution): ToSettle | null {
  const asked = attempt > 0 ? asks.found(nameOf(attempt)) : null
  if (!asked?.resolution || 'cancelled' in asked.resolution) return null
  const decided = decidedOf(asked.resolution)
  return decided === null || decided.decision === 'deny' ? staysUnknown(asked.asks, decided) : null
}
