// First stage: which tool is meant. Internal tools are for the host and for other tools: a model that names one hears that there is none. A tool whose
// contract is here is given at once; only a provider's that nobody has called yet has to be waited for (TOOL-5).

import type { Execution, ToSettle } from '../../engine/engine.ts'
import { failure } from '../../core/outcome.ts'
import { ToolQuarantined } from '../../tools/definition-pin.ts'
import type { Tool } from '../../tools/tool.ts'
import type { RemoteEntry } from '../../tools/toolset.ts'
import { notStarted } from '../attempts/stop-outcome.ts'
import { closeNames } from '../../core/similar-names.ts'
import type { CallHost } from '../ports.ts'

type Resolved = { tool: Tool } | ToSettle

export function resolveTool(execution: Execution, host: CallHost): Resolved | Promise<Resolved> {
  const { request, options } = execution
  const { absent } = options
  // What a model said is not what a record says: keys name shadowed tools too, and those that only other sessions still have. So a name that
  // nothing went by is looked up nowhere, and only this session's own tools are named instead.
  const tools = host.toolsOf(absent ? { ...request, tool: '' } : request)
  const entry = absent ? undefined : tools.recorded(request.tool)
  const byModel = options.root === undefined && !options.internal
  if (entry && !(entry.internal && byModel)) {
    const { tool, remote } = entry
    // What was accepted since stands for what the batch began with: nobody vouches for that any more. What has begun ends as it began.
    const begun = execution.landed !== null || execution.interrupted !== null
    const now = tool ? ((begun ? undefined : remote?.accepted()) ?? tool) : undefined
    if (now && !(now instanceof Promise)) return { tool: now }
    if (remote)
      return fetched(
        entry.name,
        remote,
        execution,
        host,
        tool ? async () => (await remote.accepted()) ?? tool : () => remote.load(),
      )
  }
  const name = options.name ?? request.tool
  const close = closeNames(name, options.within ?? tools.offered)
  const hint = close.length > 0 ? ` Did you mean ${close.map((each) => `'${each}'`).join(' or ')}?` : ''
  const away = host.away()
  const missing =
    away.length > 0 ? ` Not all tools are known now, as ${listed(away)} cannot be reached: it may be there later.` : ''
  return { settle: unavailable(`There is no tool named '${name}'.${hint}${missing}`) }
}

/** The tool as this call runs it: of a task, as it is in the background now. */
export function inItsForm(tool: Tool, { options }: Execution): Tool | ToSettle {
  if (!options.task) return tool
  return tool.background ?? { settle: unavailable(`Tool does not support background execution: ${tool.name}`) }
}

/** How soon a source is asked again on behalf of a call that must not end for its absence. */
const againMs = 5_000

async function fetched(
  name: string,
  remote: RemoteEntry,
  execution: Execution,
  host: CallHost,
  load: () => Promise<Tool>,
): Promise<Resolved> {
  const { interrupted, landed } = execution
  for (;;) {
    const got = await untilStopped(execution, load())
    if ('given' in got) return { tool: got.given }
    const { stopped } = execution
    if (stopped) return notStarted(stopped, interrupted !== null)
    if (!interrupted && !landed) return notGiven(name, remote, execution, got.failed)
    // Its body had begun, or its answer has come: "unavailable" would say that nothing happened. So it waits for its source, or for whoever
    // accepts what has become of it.
    await untilStopped(execution, new Promise<void>((resolve) => void host.clock.timer(againMs, resolve)))
  }
}

type Given<T> = { readonly given: T } | { readonly failed: unknown }

/** What it gives; failed, too, as soon as the call is no longer wanted. */
export function untilStopped<T>(execution: Execution, work: Promise<T>): Promise<Given<T>> {
  return new Promise((resolve) => {
    const forget = execution.onStop(() => resolve({ failed: undefined }))
    const failed = (error: unknown): void => resolve({ failed: error })
    void work.then((given) => resolve({ given }), failed).finally(forget)
  })
}

/** Why a provider's tool does not run, for the model. */
export function notGiven(name: string, { provider }: RemoteEntry, { attempt }: Execution, error: unknown): ToSettle {
  const ran = attempt > 0 ? 'It was not run again: what it did before is not undone.' : 'It was not run.'
  const source = `The source of the tool '${name}', ${listed([provider])},`
  if (!(error instanceof ToolQuarantined))
    return { settle: unavailable(`${source} cannot be reached now. ${ran} It may be tried again later.`, 'safe') }
  const message = `${source} has changed the definition of the tool, so it is in quarantine until a person accepts the change. ${ran} Asking again will not help before that. Go on without it, with another tool if there is one, or tell the user that an operator has to look at it.`
  return { settle: failure({ class: 'unavailable', code: 'tool_quarantined', message, source: 'policy' }) }
}

const listed = (providers: readonly string[]): string => providers.map((each) => `'${each}'`).join(', ')

const unavailable = (message: string, again: 'never' | 'safe' = 'never'): ReturnType<typeof failure> =>
  failure({ class: 'unavailable', code: 'tool_unavailable', message, retry: { when: again } })
