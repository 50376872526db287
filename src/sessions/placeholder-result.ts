// What stands in the conversation for a call that waits (POL-7). The user may say something meanwhile, and every call of a conversation has
// exactly one result: so the model reads a placeholder now, and what came of the call later as a notice of the runtime, which is nobody's
// words and is marked so.

import { merged, type ModelPart } from '../models/model-parts.ts'
import { noticeMark, quotedInNotice } from '../core/notice-text.ts'
import type { AskKind } from '../store/records/approval-terms.ts'
import type { CallOutcome } from './call-request.ts'

const waitsFor: Readonly<Record<AskKind | 'completion' | 'running', string>> = {
  approval: 'It waits for the approval of a person and has not run.',
  finding: 'It was interrupted, and a person is asked what became of it.',
  connection: 'It waits for a person to connect a provider.',
  question: 'It waits for the answer of a person.',
  client: 'It was handed to the client, whose result is not here yet.',
  completion: 'It waits for something outside.',
  running: 'It is on its way and has not ended.',
}

/** In place of a result. */
export const placeholder = (why: AskKind | 'completion' | 'running'): readonly ModelPart[] => [
  {
    type: 'text',
    text: `[Tool call ${why === 'running' ? why : 'waiting'}]\n${waitsFor[why]} Go on without it and do not ask for it again: what comes of it will be told in a notice of the runtime.`,
  },
]

/** What came of a call for which a placeholder stands: a message for the model that is not the user's. */
export const notice = ({ callId, name, parts }: Pick<CallOutcome, 'callId' | 'name' | 'parts'>): readonly ModelPart[] =>
  merged([
    {
      type: 'text',
      text: `${noticeMark(`The call ${JSON.stringify(callId)} of '${name}' that was waiting has ended.`)}\n`,
    },
    ...parts.map(quoted),
  ])

/** What a tool gave cannot begin another notice, or say that it is one. */
const quoted = (part: ModelPart): ModelPart =>
  part.type === 'text' ? { type: 'text', text: quotedInNotice(part.text) } : part
