// What a message keeps secret. Hidden arguments (tools/hidden-arguments.ts) are removed before it is shown to people or
// models; the stored message keeps them and is sealed if its calls are.

import { type Json, parseJson } from '../../core/tool-value.ts'
import { type AssistantPart, type Message, callsIn } from '../../models/message.ts'
import { mayHideFields, maskArgs } from '../../tools/hidden-arguments.ts'
import type { Toolset } from '../../tools/toolset.ts'
import { argumentLimits, type ReadArguments, readArguments } from '../../calls/admission/read-arguments.ts'
import { isSensitive } from '../../sessions/build-call-request.ts'
import type { History } from './history.ts'

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

const unreadArguments: ReadArguments = { ok: false, raw: '', problem: 'incomplete' }

/**
 * Whether the arguments of a tool may be shown while the model writes them. Incomplete arguments cannot be masked, so
 * those of sensitive tools, of tools that may have hidden fields and of unknown tools are not.
 */
export function mayShowPartialInput(name: string, tools: Toolset): boolean {
  const entry = tools.find(name)
  if (!entry?.tool || isSensitive(entry, unreadArguments, tools)) return false
  return !mayHideFields(entry.tool, () => tools)
}

/**
 * Whether a message is sealed: calls and results of a sensitive tool are sealed in the conversation as in the call
 * record, including the arguments of a task start.
 */
export function isSensitiveMessage(
  message: Message,
  tools: Toolset,
  history: Pick<History, 'isSecret' | 'last'>,
): boolean {
  switch (message.role) {
    case 'summary':
      return history.isSecret
    case 'assistant':
      return callsIn(message).some(({ name, input }) =>
        isSensitive(tools.find(name), readArguments(input, argumentLimits), tools),
      )
    case 'tool': {
      // A result of a task start does not name the started tool; the sealed request does.
      const { message: request, secret } = history.last ?? {}
      return (
        (request?.role === 'assistant' && secret === true) ||
        message.results.some(({ name }) => tools.find(name)?.sensitive === true)
      )
    }
    default:
      return false
  }
}
