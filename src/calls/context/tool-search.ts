// The body of tool_search. It searches the tools of its turn; the tools it finds are revealed to the session in the
// same commit that settles the call.

import { PawlError } from '../../core/errors.ts'
import type { Json } from '../../core/tool-value.ts'
import { findTools, searchResult, toolSearchTool } from '../../tools/tool-search.ts'
import { restrictToolset } from '../../tools/toolset.ts'
import type { CallEnvironment } from './call-environment.ts'
import { collections } from '../../store/collections.ts'

export async function searchTools(
  environment: Pick<CallEnvironment, 'execution' | 'host' | 'ended'>,
  query: string,
): Promise<Json> {
  const { execution, host } = environment
  const { request, options } = execution
  const all = host.toolsets.toolsetFor(request)
  const set = options.within ? restrictToolset(all, options.within) : all
  // This worker may not have loaded all providers yet. If a provider fails to load, that has already been logged.
  await Promise.allSettled(set.entries.flatMap(({ tool, remote }) => (tool || !remote ? [] : [remote.load()])))
  if (environment.ended) throw new PawlError('attempt_over')
  const tools = set.tools.filter((each) => each !== toolSearchTool)
  const found = findTools(tools, query)
  const rows = found
    .filter(({ defer }) => defer !== 'never')
    .map(({ id }) => ({ ...collections.toolRevealed.name(request.position, id), value: '1' }))
  if (rows.length > 0) execution.attached.writeDocuments(...rows)
  return searchResult(tools, found, query)
}
