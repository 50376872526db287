// A message as it is shown, to models too: without what arguments of its calls nobody may read (hidden.ts). On record it stays whole, and is sealed where
// its calls are.

import { argumentLimits, readArguments } from '../call/arguments.ts'
import { hides, shownArgs } from '../call/hidden.ts'
import type { Json } from '../kernel/value.ts'
import { type AssistantPart, callsIn, type Message } from '../model/message.ts'
import { isSensitive, startedIn } from '../session/sensitive.ts'
import type { Toolset } from '../tool/toolset.ts'

export function shownMessage(message: Message, tools: Toolset): Message {
  if (message.role !== 'assistant') return message
  const parts = message.parts.map((part) => shownPart(part, tools))
  return parts.some((part, at) => part !== message.parts[at]) ? { ...message, parts } : message
}

function shownPart(part: AssistantPart, tools: Toolset): AssistantPart {
  if (part.type !== 'call') return part
  const { name, input } = part
  // Most tools hide nothing, and of those most calls need not be read.
  const mayHide = startedIn(name, { tool: name }) ? tools.tools.some(hides) : hidesOf(tools, name)
  if (!mayHide) return part
  let args: Json
  try {
    args = JSON.parse(input) as Json
  } catch {
    // What it was meant to be cannot be told.
    return { ...part, input: '{}' }
  }
  const shown = shownIn(name, args, tools)
  return shown === args ? part : { ...part, input: JSON.stringify(shown) }
}

const hidesOf = (tools: Toolset, name: string): boolean => {
  const tool = tools.get(name)
  return tool !== undefined && hides(tool)
}

/** What is to start in the background is hidden as if it were called. */
function shownIn(name: string, args: Json, tools: Toolset): Json {
  const started = startedIn(name, args)
  if (started) {
    const shown = shownIn(started.tool, started.args, tools)
    return shown === started.args ? args : { ...(args as { readonly [key: string]: Json }), args: shown }
  }
  const tool = tools.get(name)
  return tool ? shownArgs(tool, args) : args
}

/** Whether it is sealed on record: what a sensitive tool was asked, and gave (DUR-12). */
export function isSensitiveMessage(message: Message, tools: Toolset): boolean {
  if (message.role === 'tool') return message.results.some(({ name }) => tools.find(name)?.sensitive === true)
  if (message.role !== 'assistant') return false
  return callsIn(message).some(({ name, input }) => isSensitive(tools.find(name), readArguments(input, argumentLimits), tools))
}
