// tool_search, seen from its body (SESS-8): it looks through the tools of its turn, on whatever worker it runs, and what it finds is revealed to the
// session in the write that settles the call.

import { revealedName } from '../journal/message.ts'
import { PawlError } from '../kernel/errors.ts'
import type { Json } from '../kernel/value.ts'
import { findTools, foundTools, toolSearchTool } from '../tool/tool-search.ts'
import { only } from '../tool/toolset.ts'
import type { Around } from './around.ts'

export function searchTools({ invocation, host, over }: Pick<Around, 'invocation' | 'host' | 'over'>, query: string): Json {
  if (over) throw new PawlError('attempt_over')
  const { request, options } = invocation
  const set = host.toolsOf(request)
  const tools = (options.within ? only(set, options.within) : set).tools.filter((each) => each !== toolSearchTool)
  const found = findTools(tools, query)
  const rows = found.filter(({ defer }) => defer !== 'never').map(({ id }) => ({ ...revealedName(request.position, id), value: '1' }))
  if (rows.length > 0) invocation.beside.keep(...rows)
  return foundTools(tools, found, query)
}
