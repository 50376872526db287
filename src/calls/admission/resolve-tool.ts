// Finds the tool of a call. Internal tools are visible to the host and to other tools only; for a model
// they do not exist. This stage waits only for a provider's tool whose contract has not been loaded yet.

import { isThenable } from '../../core/maybe-promise.ts'
import type { Execution, ToSettle } from '../../engine/engine.ts'
import { failure } from '../../core/outcome.ts'
import { ToolQuarantined } from '../../tools/pinned-definition.ts'
import { ProviderAway } from '../../tools/tool-provider.ts'
import type { Tool } from '../../tools/tool.ts'
import type { RemoteEntry } from '../../tools/toolset.ts'
import { notStarted } from '../attempts/outcome-when-stopped.ts'
import { similarNames } from '../../core/similar-names.ts'
import type { CallHost } from '../ports.ts'

export type ResolvedTool = { tool: Tool } | ToSettle

export function resolveTool(execution: Execution, host: CallHost): ResolvedTool | Promise<ResolvedTool> {
  const { request, options } = execution
  const { absent } = options
  // `absent`: the model used a name that matched no tool. It must not be looked up as a recorded key, because keys also
  // reach shadowed tools and tools of other sessions. Only this session's tools are suggested.
  const tools = host.toolsets.toolsetFor(absent ? { ...request, tool: '' } : request)
  const entry = absent ? undefined : tools.findByKey(request.tool)
  const byModel = options.root === undefined && !options.internal
  if (entry && !(entry.internal && byModel)) {
    const { tool, remote } = entry
    // A definition accepted since the batch began replaces the earlier one. A call that has started keeps its
    // definition.
    const started = execution.landed !== null || execution.interrupted !== null
    const now = tool ? ((started ? undefined : remote?.accepted()) ?? tool) : undefined
    if (now && !isThenable(now)) return { tool: now }
    if (remote)
      return loadRemoteTool(
        entry.name,
        remote,
        execution,
        host,
        tool ? async () => (await remote.accepted()) ?? tool : () => remote.load(),
      )
  }
  const name = options.name ?? request.tool
  const similar = similarNames(name, options.within ?? tools.offered)
  const hint = similar.length > 0 ? ` Did you mean ${similar.map((each) => `'${each}'`).join(' or ')}?` : ''
  const unreachable = host.registry.away
  const incomplete =
    unreachable.length > 0
      ? ` Not all tools are known now, as ${quotedList(unreachable)} cannot be reached: it may be there later.`
      : ''
  return { settle: unavailable(`There is no tool named '${name}'.${hint}${incomplete}`) }
}

/** The tool as this call runs it: for a task, its background variant. */
export function toolForRun(tool: Tool, { options }: Execution): Tool | ToSettle {
  if (!options.task) return tool
  return tool.background ?? { settle: unavailable(`Tool does not support background execution: ${tool.name}`) }
}

/** Interval at which an unreachable provider is asked again for a call that has already started. */
const reloadIntervalMs = 5_000

async function loadRemoteTool(
  name: string,
  remote: RemoteEntry,
  execution: Execution,
  host: CallHost,
  load: () => Promise<Tool>,
): Promise<ResolvedTool> {
  const { interrupted, landed } = execution
  for (;;) {
    const loaded = await untilStopped(execution, load())
    if ('value' in loaded) return { tool: loaded.value }
    const { stopped } = execution
    if (stopped) return notStarted(stopped, interrupted !== null)
    if (!interrupted && !landed) return remoteToolUnavailable(name, remote, execution, loaded.failed)
    // The body had begun or the answer has arrived: "unavailable" would wrongly say that nothing happened. So the call
    // waits until the provider is reachable or a person accepts the changed definition.
    await untilStopped(execution, new Promise<void>((resolve) => void host.clock.timer(reloadIntervalMs, resolve)))
  }
}

type LoadResult<T> = { readonly value: T } | { readonly failed: unknown }

/** The result of `work`, or `failed` if the call is stopped first. */
export function untilStopped<T>(execution: Execution, work: Promise<T>): Promise<LoadResult<T>> {
  return new Promise((resolve) => {
    const offStop = execution.onStop(() => resolve({ failed: undefined }))
    const failed = (error: unknown): void => resolve({ failed: error })
    void work.then((value) => resolve({ value }), failed).finally(offStop)
  })
}

/** Tells the model why a provider's tool was not run. */
export function remoteToolUnavailable(
  name: string,
  { provider }: RemoteEntry,
  { attempt }: Execution,
  error: unknown,
): ToSettle {
  const ran = attempt > 0 ? 'It was not run again: what it did before is not undone.' : 'It was not run.'
  const source = `The source of the tool '${name}', ${quotedList([provider])},`
  if (!(error instanceof ToolQuarantined)) {
    const why =
      error instanceof ProviderAway && error.message !== '' ? ` Its last error was ${quoted(error.message)}.` : ''
    return { settle: unavailable(`${source} cannot be reached now.${why} ${ran} It may be tried again later.`, 'safe') }
  }
  const message = `${source} has changed the definition of the tool, so it is in quarantine until a person accepts the change. ${ran} Asking again will not help before that. Go on without it, with another tool if there is one, or tell the user that an operator has to look at it.`
  return { settle: failure({ class: 'unavailable', code: 'tool_quarantined', message, source: 'policy' }) }
}

/** Errors may contain text of a remote server, which must not look like ours. */
const quoted = (text: string): string => JSON.stringify(text.replaceAll(/\s+/g, ' '))

const quotedList = (providers: readonly string[]): string => providers.map((each) => `'${each}'`).join(', ')

const unavailable = (message: string, again: 'never' | 'safe' = 'never'): ReturnType<typeof failure> =>
  failure({ class: 'unavailable', code: 'tool_unavailable', message, retry: { when: again } })
