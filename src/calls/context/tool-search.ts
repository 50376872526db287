// tool_search, seen from its body (SESS-8): it looks through the tools of its turn, on whatever worker it runs, and what it finds is revealed to the
// session in the write that settles the call.

import { revealedName } from '../../store/records/conversation.ts'
import { PawlError } from '../../core/errors.ts'
import type { Json } from '../../core/value.ts'
import { findTools, foundTools, toolSearchTool } from '../../tools/tool-search.ts'
import { only } from '../../tools/toolset.ts'
import type { Around } from './call-environment.ts'

export async function searchTools(around: Pick<Around, 'execution' | 'host' | 'over'>, query: string): Promise<Json> {
  const { execution, host } = around
  const { request, options } = execution
  const all = host.toolsOf(request)
  const set = options.within ? only(all, options.within) : all
  // A worker that takes it up may have fetched none of them yet. Who is away has said so in the log.
  await Promise.allSettled(set.entries.flatMap(({ tool, remote }) => (tool || !remote ? [] : [remote.load()])))
  if (around.over) throw new PawlError('attempt_over')
  const tools = set.tools.filter((each) => each !== toolSearchTool)
  const found = findTools(tools, query)
  const rows = found
    .filter(({ defer }) => defer !== 'never')
    .map(({ id }) => ({ ...revealedName(request.position, id), value: '1' }))
  if (rows.length > 0) execution.attached.keep(...rows)
  return foundTools(tools, found, query)
}
