// What a person will see of a call that asks (POL-6): what would run, why they are asked, what it may do, and exactly which arguments.

import type { WaitSpec } from '../../engine/engine.ts'
import type { AskKind, AskTerms } from '../../store/records/approval-terms.ts'
import type { AskItem, Vote } from '../../store/records/approval-request.ts'
import type { WaitTerms } from '../../store/records/call-record.ts'
import type { AskedTogether } from '../../policy/evaluate.ts'
import { encode } from '../../core/value.ts'
import { shownArgs } from '../../tools/hidden-fields.ts'
import type { Tool } from '../../tools/tool.ts'
import type { ValidatedInput } from '../admission/validated-input.ts'
import type { Asking } from '../host-callback.ts'
import { previewOf } from './preview.ts'

interface About {
  readonly kind: AskKind
  readonly reason: string
  readonly of: AskedTogether
  readonly fingerprint: string
  readonly votes?: readonly Vote[]
}

type Extra = Partial<Pick<AskItem, 'question' | 'provider' | 'interrupted' | 'final' | 'preview'>>

/** The item, and the terms of the wait it lies beside. */
export async function itemOf(
  asking: Asking,
  accepted: ValidatedInput,
  { kind, reason, of: { quorum, separate, approvers }, fingerprint, votes = [] }: About,
  extra: Extra = {},
  terms: Omit<AskTerms, 'kind' | 'fingerprint'> = {},
): Promise<{ item: NonNullable<WaitSpec['item']>; terms: WaitTerms }> {
  const { execution, tool, host } = asking
  const { request, options, callId } = execution
  // On record as people read it: another process, which does not know these secrets, shows it too.
  const { redact } = host
  const clean = <T>(value: T): T => (redact.active ? redact.deep(value) : value)
  const item = {
    kind,
    call: request.uid,
    callId,
    under: options.root === undefined ? [] : [options.root, ...(options.above ?? [])],
    tool: tool.name,
    title: tool.title ?? tool.name,
    principal: request.principal,
    // Who runs it gets what it is; who only looks does not see what nobody may read.
    args:
      kind === 'client' ? accepted.text : encode(clean(shownArgs(tool, accepted.args, () => host.toolsOf(request)))),
    reason: clean(reason),
    effect: effectOf(tool),
    fingerprint,
    toolFingerprint: tool.fingerprint,
    toolId: tool.id,
    of: { quorum, separate, approvers },
    votes,
    ...extra,
    preview: clean(extra.preview ?? (await previewOf(asking, accepted))),
  }
  return { item, terms: { asks: { kind, fingerprint, ...terms } } }
}

function effectOf({ hints, remote }: Tool): string {
  const said = remote?.hints ?? hints
  const words = [
    said.destructive ? 'may destroy something that cannot be brought back' : null,
    said.openWorld ? "reaches beyond the host's own systems" : null,
    said.readOnly && !said.destructive ? 'only reads' : null,
    remote ? `comes from '${remote.provider}'${remote.trusted ? '' : ', which is not trusted'}` : null,
  ].filter((each) => each !== null)
  return words.length === 0 ? 'It changes something.' : `It ${words.join(', ')}.`
}
