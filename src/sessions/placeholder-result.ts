// Placeholder results for calls that wait. Every call in a conversation needs exactly one result, and the user may
// send a message while a call waits: the model reads a placeholder now and the result later, in a runtime notice that
// is marked as such.

import { mergeParts, type ModelPart } from '../models/outcome-to-model-parts.ts'
import { endedCallHeader, escapeNoticePrefix } from '../core/runtime-notice.ts'
import type { AskKind } from '../store/records/approval-wait-terms.ts'
import type { CallOutcome } from './call-request.ts'

const reasons: Readonly<Record<AskKind | 'completion' | 'running', string>> = {
  approval: 'It waits for the approval of a person and has not run.',
  finding: 'It was interrupted, and a person is asked what became of it.',
  connection: 'It waits for a person to connect a provider.',
  question: 'It waits for the answer of a person.',
  client: 'It was handed to the client, whose result is not here yet.',
  completion: 'It waits for something outside.',
  running: 'It is on its way and has not ended.',
}

/** The placeholder result. */
export const placeholder = (why: AskKind | 'completion' | 'running'): readonly ModelPart[] => [
  {
    type: 'text',
    text: `[Tool call ${why === 'running' ? why : 'waiting'}]\n${reasons[why]} Continue without it and do not repeat the call: its result will arrive in a notice from the runtime.`,
  },
]

/** The later result of a call that has a placeholder: a notice for the model, not a user message. */
export const notice = ({ callId, name, parts }: Pick<CallOutcome, 'callId' | 'name' | 'parts'>): readonly ModelPart[] =>
  mergeParts([{ type: 'text', text: `${endedCallHeader(callId, name)}\n` }, ...parts.map(quotePart)])

/** Quotes tool output so that it cannot imitate a notice. */
const quotePart = (part: ModelPart): ModelPart =>
  part.type === 'text' ? { type: 'text', text: escapeNoticePrefix(part.text) } : part
