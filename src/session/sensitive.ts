// Whether a call is sealed at rest because of its tool (DUR-12): of the tool that is called, and of the one that it is to start.

import { spawnName } from '../background/task-tools.ts'
import type { ReadArguments } from '../call/arguments.ts'
import { decode, type Json } from '../kernel/value.ts'
import type { Entry, Toolset } from '../tool/toolset.ts'

/** What a start in the background gives to which tool; null for another call. */
export function startedIn(name: string, input: Json): { readonly tool: string; readonly args: Json } | null {
  if (name !== spawnName || typeof input !== 'object' || input === null) return null
  const { tool, args = null } = input as { readonly [key: string]: Json }
  return typeof tool === 'string' ? { tool: tool.trim(), args } : null
}

export function isSensitive(entry: Entry | undefined, read: ReadArguments, tools: Toolset): boolean {
  if (!entry || entry.sensitive) return entry !== undefined
  if (entry.name !== spawnName) return false
  // Whose arguments these are cannot be told.
  if (!read.ok) return tools.entries.some(({ sensitive }) => sensitive)
  const started = startedIn(entry.name, decode(read.wire))
  return started !== null && tools.find(started.tool)?.sensitive === true
}
