// The fields by which log lines name a call. Never arguments, results or tokens.

import type { Execution } from '../engine/engine.ts'
import type { Tool } from '../tools/tool.ts'

export const logFieldsOf = ({ request, callId }: Execution, tool: Pick<Tool, 'name'>) => ({
  tool: tool.name,
  session: request.position.session,
  callId,
  call: request.uid,
})
