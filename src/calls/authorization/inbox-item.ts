// Builds the inbox item that a person sees for a waiting call: the tool, the reason, the possible effect and the exact
// arguments.

import type { WaitSpec } from '../../engine/engine.ts'
import type { AskKind, AskTerms } from '../../store/records/approval-wait-terms.ts'
import type { AskItem, Vote } from '../../store/records/approval-request.ts'
import type { WaitTerms } from '../../store/records/call-record.ts'
import type { CombinedApprovalTerms } from '../../policy/evaluate.ts'
import { encode } from '../../core/tool-value.ts'
import { maskArgs } from '../../tools/hidden-arguments.ts'
import type { Tool } from '../../tools/tool.ts'
import type { ValidatedInput } from '../admission/read-arguments.ts'
import type { StageContext } from '../run-host-callback.ts'
import { previewOf } from './approval-preview.ts'

interface ItemSubject {
  readonly kind: AskKind
  readonly reason: string
  readonly of: CombinedApprovalTerms
  readonly fingerprint: string
  readonly votes?: readonly Vote[]
}

type Extra = Partial<Pick<AskItem, 'question' | 'provider' | 'interrupted' | 'final' | 'preview'>>

/** The item and the terms of its wait. */
export async function buildInboxItem(
  stage: StageContext,
  input: ValidatedInput,
  { kind, reason, of: { quorum, separate, approvers }, fingerprint, votes = [] }: ItemSubject,
  extra: Extra = {},
  terms: Omit<AskTerms, 'kind' | 'fingerprint'> = {},
): Promise<{ item: NonNullable<WaitSpec['item']>; terms: WaitTerms }> {
  const { execution, tool, host } = stage
  const { request, options, callId } = execution
  // Redacted before it is stored: another process that shows the item may not know these secrets.
  const { redact } = host
  const redacted = <T>(value: T): T => (redact.active ? redact.deep(value) : value)
  const item = {
    kind,
    call: request.uid,
    callId,
    under: options.root === undefined ? [] : [options.root, ...(options.above ?? [])],
    tool: tool.name,
    title: tool.title ?? tool.name,
    principal: request.principal,
    // A client runs the tool and needs the real arguments; for people hidden fields are masked.
    args:
      kind === 'client'
        ? input.text
        : encode(redacted(maskArgs(tool, input.args, () => host.toolsets.toolsetFor(request)))),
    reason: redacted(reason),
    effect: effectOf(tool),
    fingerprint,
    toolFingerprint: tool.fingerprint,
    toolId: tool.id,
    of: { quorum, separate, approvers },
    votes,
    ...extra,
    preview: redacted(extra.preview ?? (await previewOf(stage, input))),
  }
  return { item, terms: { asks: { kind, fingerprint, ...terms } } }
}

function effectOf({ hints, remote }: Tool): string {
  const effects = remote?.hints ?? hints
  const parts = [
    effects.destructive ? 'can have effects that cannot be undone' : null,
    effects.openWorld ? "reaches beyond the host's own systems" : null,
    // The claim of a source that is not trusted must not look like our own finding.
    effects.readOnly && !effects.destructive && (remote?.trusted ?? true) ? 'only reads' : null,
    remote ? `comes from '${remote.provider}'${remote.trusted ? '' : ', which is not trusted'}` : null,
  ].filter((each) => each !== null)
  const last = parts.pop()
  if (last === undefined) return 'It changes something.'
  return `It ${parts.length === 0 ? last : `${parts.join(', ')} and ${last}`}.`
}
