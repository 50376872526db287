// A message as it is shown, to models too: without what arguments of its calls nobody may read (hidden.ts). On record it stays whole, and sealed.

import type { Json } from '../kernel/value.ts'
import { type AssistantPart, callsIn, type Message } from '../model/message.ts'
import { hides, shownArgs } from '../tool/hidden.ts'
import type { Toolset } from '../tool/toolset.ts'
import type { KeptMessage } from './history.ts'

export function shownMessage({ message, untold = [] }: Pick<KeptMessage, 'message' | 'untold'>, tools: Toolset): Message {
  if (message.role !== 'assistant') return message
  const parts = message.parts.map((part) => shownPart(part, tools, untold))
  return parts.some((part, at) => part !== message.parts[at]) ? { ...message, parts } : message
}

/** What is kept with a message for those who do not know its tools. */
export function untoldIn(message: Message, tools: Toolset): Pick<KeptMessage, 'untold'> {
  const calls = message.role === 'assistant' ? callsIn(message) : []
  const untold = calls.filter(({ name }) => {
    const tool = tools.get(name)
    return tool !== undefined && hides(tool, () => tools)
  })
  return untold.length === 0 ? {} : { untold: untold.map(({ id }) => id) }
}

function shownPart(part: AssistantPart, tools: Toolset, untold: readonly string[]): AssistantPart {
  const tool = part.type === 'call' ? tools.get(part.name) : undefined
  if (part.type === 'call' && !tool && untold.includes(part.id)) return { ...part, input: '{}' }
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
