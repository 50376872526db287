// What a model reads of a call that has settled, read from its record: as parts of a message, or in words alone.

import type { HookFacts } from '../calls/admission/hook.ts'
import type { ModelPart } from '../models/model-parts.ts'
import type { Show } from '../calls/output/project-outcome.ts'
import type { CallOptions, CallRecord } from '../store/records/call-record.ts'
import type { Outcome } from '../core/outcome.ts'
import { decode } from '../core/value.ts'
import { readOutputName } from '../tools/read-output-tool.ts'
import type { Toolset } from '../tools/toolset.ts'

export interface ShownCall {
  /** `reads`: the model can read on in what it is shown a part of. */
  parts(call: CallRecord, reads: boolean): Promise<readonly ModelPart[]>
  words(call: CallRecord): Promise<string>
}

export function shownCall(show: Show, tools: (tenant: string, session: string) => Toolset): ShownCall {
  const toolsOf = ({ position }: CallRecord): Toolset => tools(position.tenant, position.session)
  const parts: ShownCall['parts'] = async (call, reads) => {
    const text = call.outcome ?? 'null'
    return show({ outcome: decode(text) as unknown as Outcome, text }, call.uid, reads, () =>
      factsOf(call, toolsOf(call)),
    )
  }
  return {
    parts,
    words: async (call) => (await parts(call, toolsOf(call).get(readOutputName) !== undefined)).map(inWords).join(''),
  }
}

/** Of a file only which it is. */
function inWords(part: ModelPart): string {
  if (part.type === 'text') return part.text
  const { id, name = id, mediaType, bytes } = part.attachment.ref
  return `[attachment ${JSON.stringify(name)}: ${mediaType}, ${bytes} bytes]`
}

const factsOf = (
  { position: { tenant, session, id }, principal, tool, options, input }: CallRecord,
  tools: Toolset,
): HookFacts => {
  const { callId = id, name = tool.split('@')[0] ?? tool } =
    options === null ? {} : (JSON.parse(options) as CallOptions)
  return { tenant, session, principal, callId, tool: tools.recorded(tool)?.name ?? name, input: decode(input) }
}
