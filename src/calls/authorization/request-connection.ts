// Connections to providers. A body reads a token with `ctx.connection` and returns connectionRequired(provider) if
// there is none; then the call waits until a person connects the provider, and the body runs again. Tokens are never
// recorded with a call: they are removed from results before settling.

import type { Driven, Execution, ToSettle, Wait } from '../../engine/engine.ts'
import { decisionOf } from '../../store/records/approval-request.ts'
import { isStoreOrLeaseLost } from '../../core/errors.ts'
import { failure, revealsSecrets, withoutReveals } from '../../core/outcome.ts'
import { encode } from '../../core/tool-value.ts'
import { combineTerms } from '../../policy/evaluate.ts'
import { approvalFingerprint } from '../../policy/approval-fingerprint.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { Connection } from '../../tools/context/tool-context.ts'
import type { Tool } from '../../tools/tool.ts'
import type { RequiredConnection } from '../../tools/result.ts'
import type { ValidatedInput } from '../admission/read-arguments.ts'
import type { StageContext } from '../run-host-callback.ts'
import { isPastDeadline, withinDeadline } from '../attempts/attempt-timeouts.ts'
import { notStarted } from '../attempts/outcome-when-stopped.ts'
import { buildInboxItem } from './inbox-item.ts'
import type { CallEnvironment } from '../context/call-environment.ts'
import { type UsedConnections, withoutUsedSecrets } from './used-connections.ts'
import { collections } from '../../store/collections.ts'
import type { CallOptions } from '../../store/records/call-record.ts'
import { movedId } from '../../store/records/task-record.ts'
import { waitNames } from '../../store/journal-keys.ts'

/** Time for a person to connect; the same as for approvals. */
const deadlineMs = 15 * 60_000
/** A second request is made if the first connection did not work. */
const maxRequests = 2

export async function connectionOf(
  { execution, host, connections }: CallEnvironment,
  provider: string,
): Promise<Connection | null> {
  const { position, principal } = execution.request
  const found = await host.approvals
    .connection({ tenant: position.tenant, principal }, provider)
    .catch((error: unknown) => {
      // The store or lease is lost: the body must not conclude that there is no connection. End this execution.
      if (isStoreOrLeaseLost(error)) execution.end(error)
      throw error
    })
  connections.seen.set(provider, found?.mark ?? '')
  if (!found) return null
  const { mark: _, ...connection } = found
  connections.tokens.push(connection.token)
  host.knownSecrets.learn(position, connection.token)
  return connection
}

/** The outcome without the tokens that the body received. */
export function withoutTokens(
  result: ToSettle,
  used: UsedConnections | null,
  { sensitive }: Pick<Tool, 'sensitive'>,
): ToSettle {
  // Secrets revealed on purpose may be recorded only by a sensitive tool, whose outcome is encrypted.
  if (revealsSecrets(result.settle) && sensitive) return result
  const settle = withoutUsedSecrets(withoutReveals(result.settle), used)
  return settle === result.settle ? result : { ...result, settle, text: encode(settle) }
}

/**
 * Opens a connection request and parks; 'again' if the provider has been connected by then; otherwise the outcome for
 * the model.
 */
export async function requestConnection(
  stage: StageContext,
  input: ValidatedInput,
  { provider, message }: RequiredConnection,
  seen: string,
): Promise<Driven | 'again'> {
  const { execution, tool, host } = stage
  const { request, options, approvals } = execution
  const { position, principal } = request
  let number = 1
  while (approvals.find(waitNames.connection(number))) number++
  if (options.unattended || execution.stopped || number > maxRequests) return unconnectedOutcome(execution, provider)
  const fingerprint = approvalFingerprint({
    tenant: position.tenant,
    call: request.uid,
    tool: tool.fingerprint,
    args: encode({ provider }),
  })
  const summary = message ?? `Connect ${provider}, so that '${tool.title ?? tool.name}' can go on.`
  const { item, terms } = await buildInboxItem(
    stage,
    input,
    { kind: 'connection', reason: summary, of: combineTerms([]), fingerprint },
    { provider, preview: { summary } },
    { provider },
  )
  const name = waitNames.connection(number)
  const wait: Wait = await execution.openWait({
    name,
    deadlineMs: withinDeadline(deadlineMs, options, host.clock.now()),
    terms,
    item,
  })
  // The connecting side writes the connection and then looks for waits. Here the wait is opened and then the connection
  // is read, so one of the two sides always sees the other.
  const current = await host.approvals.connection({ tenant: position.tenant, principal }, provider)
  if (current && current.mark !== seen && (await approvals.withdraw(name, 'It is connected'))) return 'again'
  return { park: wait }
}

/** Applies the decision on the last connection request. Null: continue. */
export function connectionDecision({ execution, host }: StageContext): MaybePromise<ToSettle | null> {
  const { approvals, request } = execution
  for (let number = maxRequests; number > 0; number--) {
    const wait = approvals.find(waitNames.connection(number))
    if (!wait?.resolution) continue
    const provider = wait.asks.provider ?? ''
    // The process that connected the provider may have died before it answered the wait, so read the connection again.
    if ('timeout' in wait.resolution) {
      const { position, principal } = request
      if (isPastDeadline(execution, host)) return notStarted('total')
      return host.approvals
        .connection({ tenant: position.tenant, principal }, provider)
        .then((found) => (found ? null : unconnectedOutcome(execution, provider)))
    }
    const decided = decisionOf(wait.resolution)
    return decided?.decision === 'deny' ? declinedOutcome(provider, decided.votes.at(-1)?.reason) : null
  }
  return null
}

/**
 * The outcome if no person connects the provider. A model reads it and goes on. A background run has no model to read
 * it: a success would report work as done that was not.
 */
export const connectionRequiredOutcome = (provider: string, { task, inTask }: CallOptions): ToSettle =>
  task || inTask !== undefined
    ? backgroundFailure(provider)
    : { settle: { status: 'success', value: { connection_required: provider } } }

/** The same for a call that may have been moved to the background, by this or another process. */
async function unconnectedOutcome({ options, request, attached }: Execution, provider: string): Promise<ToSettle> {
  const moved = await attached.read(collections.task.name(request.position, movedId(options.root ?? request.uid)))
  return moved === null ? connectionRequiredOutcome(provider, options) : backgroundFailure(provider)
}

const backgroundFailure = (provider: string): ToSettle => ({
  settle: failure({
    class: 'permission_denied',
    code: 'connection_required',
    message: `The tool needs a connection to ${provider}, and no person has connected it. Connect it, then start the task again.`,
    source: 'policy',
  }),
})

const declinedOutcome = (provider: string, reason: string | undefined): ToSettle => ({
  settle: failure({
    class: 'permission_denied',
    code: 'connection_declined',
    message: `A person declined to connect ${provider}${reason === undefined ? '' : `: ${reason}`}. Go on without it.`,
    source: 'policy',
  }),
})
