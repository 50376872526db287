// Removes hidden arguments (tools/hidden-arguments.ts) from a message before it is shown to people or models. The
// stored message keeps them and is sealed if its calls are.

import { type Json, parseJson } from '../../core/tool-value.ts'
import type { AssistantPart, Message } from '../../models/message.ts'
import { mayHideFields, maskArgs } from '../../tools/hidden-arguments.ts'
import type { Toolset } from '../../tools/toolset.ts'

export function shownMessage(message: Message, tools: Toolset): Message {
  if (message.role !== 'assistant') return message
  const parts = message.parts.map((part) => shownPart(part, tools))
  return parts.some((part, at) => part !== message.parts[at]) ? { ...message, parts } : message
}

function shownPart(part: AssistantPart, tools: Toolset): AssistantPart {
  const tool = part.type === 'call' ? tools.get(part.name) : undefined
  if (part.type !== 'call' || !tool || !mayHideFields(tool, () => tools)) return part
  let args: Json
  try {
    args = parseJson(part.input)
  } catch {
    // Unparseable, so hidden fields cannot be found: show nothing.
    return { ...part, input: '{}' }
  }
  // A JSON string in place of an object may contain hidden fields as well.
  if (typeof args === 'string') return { ...part, input: '{}' }
  const shown = maskArgs(tool, args, () => tools)
  return shown === args ? part : { ...part, input: JSON.stringify(shown) }
}
