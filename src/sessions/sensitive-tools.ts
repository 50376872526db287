// Whether a call is sealed at rest because of its tool (DUR-12): of the tool that is called, and of the one that it is to start, or to tell something.

import type { ReadArguments } from '../calls/admission/read-arguments.ts'
import { messageTaskName, spawnName } from '../core/task-state.ts'
import { decode } from '../core/value.ts'
import type { Entry, Toolset } from '../tools/toolset.ts'

export function isSensitive(entry: Entry | undefined, read: ReadArguments, tools: Toolset): boolean {
  if (!entry || entry.sensitive) return entry !== undefined
  // Which task is meant, and of which tool it is, cannot be told from a call.
  if (entry.name === messageTaskName) return tools.entries.some(({ sensitive, tool }) => sensitive && tool?.background)
  if (entry.name !== spawnName) return false
  // Whose arguments these are cannot be told.
  if (!read.ok) return tools.entries.some(({ sensitive }) => sensitive)
  const input = decode(read.wire)
  const { tool } = (typeof input === 'object' && input !== null ? input : {}) as { readonly tool?: unknown }
  return typeof tool === 'string' && tools.find(tool.trim())?.sensitive === true
}
