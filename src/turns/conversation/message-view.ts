// A message as it is shown, to models too: without what arguments of its calls nobody may read (hidden.ts). On record it stays whole, and is sealed where
// its calls are.

import type { Json } from '../../core/value.ts'
import type { AssistantPart, Message } from '../../models/message.ts'
import { hides, shownArgs } from '../../tools/hidden-fields.ts'
import type { Toolset } from '../../tools/toolset.ts'

export function shownMessage(message: Message, tools: Toolset): Message {
  if (message.role !== 'assistant') return message
  const parts = message.parts.map((part) => shownPart(part, tools))
  return parts.some((part, at) => part !== message.parts[at]) ? { ...message, parts } : message
}

function shownPart(part: AssistantPart, tools: Toolset): AssistantPart {
  const tool = part.type === 'call' ? tools.get(part.name) : undefined
  if (part.type !== 'call' || !tool || !hides(tool, () => tools)) return part
  let args: Json
  try {
    args = JSON.parse(part.input) as Json
  } catch {
    // What it was meant to be cannot be told.
    return { ...part, input: '{}' }
  }
  // All of it written as one text: as little of it can be shown.
  if (typeof args === 'string') return { ...part, input: '{}' }
  const shown = shownArgs(tool, args, () => tools)
  return shown === args ? part : { ...part, input: JSON.stringify(shown) }
}
