// First stage: which tool is meant. Internal tools are the runtime's own: a model that names one hears that there is none.

import type { Invocation, ToSettle } from '../engine/engine.ts'
import { failure } from '../kernel/outcome.ts'
import type { Tool } from '../tool/tool.ts'
import { closeNames } from './close-names.ts'
import type { CallHost } from './host.ts'

export function resolveTool(invocation: Invocation, host: CallHost): { tool: Tool } | ToSettle {
  const { tool: name } = invocation.request
  const tool = host.tools.get(name)
  const nested = invocation.options.root !== undefined
  if (tool && (!tool.internal || nested)) return { tool }
  const close = closeNames(name, host.tools.offered)
  const hint = close.length > 0 ? ` Did you mean ${close.map((each) => `'${each}'`).join(' or ')}?` : ''
  return { settle: failure({ class: 'unavailable', code: 'tool_unavailable', message: `There is no tool named '${name}'.${hint}` }) }
}
