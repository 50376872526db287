// Decides whether a call is sealed at rest because a tool is sensitive: the called tool itself, or the tool of the
// task that the call starts or messages.

import type { ReadArguments } from '../calls/admission/read-arguments.ts'
import { messageTaskName, spawnName } from '../core/task-state.ts'
import { decode } from '../core/tool-value.ts'
import type { Entry, Toolset } from '../tools/toolset.ts'

export function isSensitive(entry: Entry | undefined, read: ReadArguments, tools: Toolset): boolean {
  if (!entry || entry.sensitive) return entry !== undefined
  // The arguments do not say which tool the task runs: assume any sensitive background tool.
  if (entry.name === messageTaskName) return tools.entries.some(({ sensitive, tool }) => sensitive && tool?.background)
  if (entry.name !== spawnName) return false
  // The arguments are unreadable, so the tool is unknown: assume any sensitive tool.
  if (!read.ok) return tools.entries.some(({ sensitive }) => sensitive)
  const input = decode(read.wire)
  const { tool } = (typeof input === 'object' && input !== null ? input : {}) as { readonly tool?: unknown }
  return typeof tool === 'string' && tools.find(tool.trim())?.sensitive === true
}
