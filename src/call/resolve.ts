// First stage: which tool is meant. Internal tools are for the host and for other tools: a model that names one hears that there is none. A tool whose
// contract is here is given at once; only a provider's that nobody has called yet has to be waited for (TOOL-5).

import type { Invocation, ToSettle } from '../engine/engine.ts'
import { failure } from '../kernel/outcome.ts'
import type { Tool } from '../tool/tool.ts'
import type { RemoteEntry } from '../tool/toolset.ts'
import { notStarted } from './attempt.ts'
import { closeNames } from './close-names.ts'
import type { CallHost } from './host.ts'

type Resolved = { tool: Tool } | ToSettle

export function resolveTool(invocation: Invocation, host: CallHost): Resolved | Promise<Resolved> {
  const { request, options } = invocation
  const tools = host.toolsOf(request)
  const entry = tools.recorded(request.tool)
  const byModel = options.root === undefined && !options.internal
  if (entry && !(entry.internal && byModel)) {
    if (entry.tool) return { tool: entry.tool }
    if (entry.remote) return fetched(entry.name, entry.remote, invocation, host)
  }
  const name = options.name ?? request.tool
  const close = closeNames(name, tools.offered)
  const hint = close.length > 0 ? ` Did you mean ${close.map((each) => `'${each}'`).join(' or ')}?` : ''
  const away = host.away()
  const missing = away.length > 0 ? ` Not all tools are known now, as ${listed(away)} cannot be reached: it may be there later.` : ''
  return { settle: unavailable(`There is no tool named '${name}'.${hint}${missing}`) }
}

/** How soon a source is asked again on behalf of a call that must not end for its absence. */
const againMs = 5_000

async function fetched(name: string, remote: RemoteEntry, invocation: Invocation, host: CallHost): Promise<Resolved> {
  const { interrupted, landed } = invocation
  for (;;) {
    const got = await untilStopped(invocation, remote.load())
    if (got) return { tool: got }
    const { stopped } = invocation
    if (stopped) return notStarted(stopped, interrupted !== null)
    if (!interrupted && !landed) {
      const message = `The source of the tool '${name}', ${listed([remote.provider])}, cannot be reached now. It was not run. It may be tried again later.`
      return { settle: unavailable(message, 'safe') }
    }
    // Its body had begun, or its answer has come: "unavailable" would say that nothing happened. So it waits for its source.
    await untilStopped(invocation, new Promise<void>((resolve) => void host.clock.timer(againMs, resolve)))
  }
}

/** What it gives; undefined if it fails, or as soon as the call is no longer wanted. */
function untilStopped<T>(invocation: Invocation, work: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const forget = invocation.onStop(() => resolve(undefined))
    void work.then(resolve, () => resolve(undefined)).finally(forget)
  })
}

const listed = (providers: readonly string[]): string => providers.map((each) => `'${each}'`).join(', ')

const unavailable = (message: string, again: 'never' | 'safe' = 'never'): ReturnType<typeof failure> =>
  failure({ class: 'unavailable', code: 'tool_unavailable', message, retry: { when: again } })
