// Renders a settled call for a model from its record: as message parts, or as text only.

import type { HookFacts } from '../admission/hook-definition.ts'
import type { ModelPart } from '../../models/outcome-to-model-parts.ts'
import type { Foundation } from '../../engine/foundation.ts'
import type { ProjectOutcome } from './outcome-for-model.ts'
import { type CallRecord, parseCallOptions } from '../../store/records/call-record.ts'
import type { Outcome } from '../../core/outcome.ts'
import { decode } from '../../core/tool-value.ts'
import { readOutputName } from '../../tools/read-output-tool.ts'
import type { Toolset } from '../../tools/toolset.ts'

export interface CallRenderer {
  /** `canReadOn`: the model has a tool to read the rest of truncated output. */
  parts(call: CallRecord, canReadOn: boolean): Promise<readonly ModelPart[]>
  text(call: CallRecord): Promise<string>
}

export function callRenderer(
  show: ProjectOutcome,
  { registry, knownSecrets }: Pick<Foundation, 'registry' | 'knownSecrets'>,
): CallRenderer {
  const toolsOf = ({ position }: CallRecord): Toolset => registry.toolsetFor(position.tenant, position.session)
  const parts: CallRenderer['parts'] = async (call, canReadOn) => {
    await knownSecrets.ensure(call.position)
    const text = call.outcome ?? 'null'
    return show({ outcome: decode(text) as unknown as Outcome, text }, call.uid, canReadOn, () =>
      factsOf(call, toolsOf(call)),
    )
  }
  return {
    parts,
    text: async (call) => (await parts(call, toolsOf(call).get(readOutputName) !== undefined)).map(partText).join(''),
  }
}

/** A file is rendered as its name, type and size. */
function partText(part: ModelPart): string {
  if (part.type === 'text') return part.text
  const { id, name = id, mediaType, bytes } = part.attachment.ref
  return `[attachment ${JSON.stringify(name)}: ${mediaType}, ${bytes} bytes]`
}

const factsOf = (
  { position: { tenant, session, id }, principal, tool, options, input }: CallRecord,
  tools: Toolset,
): HookFacts => {
  const { callId = id, name = tool.split('@')[0] ?? tool } = parseCallOptions(options)
  return { tenant, session, principal, callId, tool: tools.findByKey(tool)?.name ?? name, input: decode(input) }
}
