// First stage: which tool is meant.

import type { Invocation, ToSettle } from '../engine/engine.ts'
import { failure } from '../kernel/outcome.ts'
import type { Tool } from '../tool/tool.ts'
import type { CallHost } from './host.ts'

export function resolveTool(invocation: Invocation, host: CallHost): { tool: Tool } | ToSettle {
  const { tool: name } = invocation.request
  const tool = host.tools.get(name)
  if (tool) return { tool }
  const known = host.tools.names
  const message = known.length > 0 ? `There is no tool named '${name}'. Available: ${known.join(', ')}` : `There is no tool named '${name}'`
  return { settle: failure({ class: 'unavailable', code: 'tool_unavailable', message }) }
}
