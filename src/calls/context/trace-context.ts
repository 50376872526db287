// ctx.traceparent: the trace context for requests that a body sends to other services.

import { activeTraceparent } from '../../engine/trace-scope.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import type { CallEnvironment } from './call-environment.ts'

export const traceContext = ({ host, execution }: CallEnvironment): Pick<ToolContext, 'traceparent'> => ({
  get traceparent() {
    return host.observers.tracing?.active() ?? activeTraceparent() ?? execution.options.trace ?? null
  },
})
