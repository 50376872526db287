// A tool that needs a provider to be connected (POL-5). It asks for the token when it runs (`ctx.connection`), and without one returns
// connectionRequired(provider): then the call waits for a person who connects it, and runs again. Tokens are on no record of a call: what a
// result holds of them is taken out before it is settled.

import type { Driven, ToSettle, Wait } from '../../engine/engine.ts'
import { decidedOf } from '../../store/records/approval-request.ts'
import { isLoss } from '../../core/errors.ts'
import { failure, isRevealing, notRevealing } from '../../core/outcome.ts'
import { encode } from '../../core/value.ts'
import { together } from '../../policy/evaluate.ts'
import { fingerprintOf } from '../../policy/approval-fingerprint.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { Connection } from '../../tools/context/context.ts'
import type { Tool } from '../../tools/tool.ts'
import type { RequiredConnection } from '../../tools/result.ts'
import type { ValidatedInput } from '../admission/validated-input.ts'
import type { Asking } from '../host-callback.ts'
import { isPast, withinDeadline } from '../attempts/timeouts.ts'
import { notStarted } from '../attempts/stop-outcome.ts'
import { itemOf } from './inbox-item.ts'
import type { Around } from '../context/call-environment.ts'
import { type Connections, untold } from './known-connections.ts'

/** How long a person has to connect, as for approvals. */
const deadlineMs = 15 * 60_000
/** It asks, and once more if what was connected did not do. */
const mostAsked = 2

const nameOf = (number: number): string => `pawl:connection:${number}`

export async function connectionOf(
  { execution, host, connections }: Around,
  provider: string,
): Promise<Connection | null> {
  const { position, principal } = execution.request
  const found = await host.connection({ tenant: position.tenant, principal }, provider).catch((error: unknown) => {
    // Whether there is one nobody knows: that is no finding of the tool, and the call is taken up again.
    if (isLoss(error)) execution.end(error)
    throw error
  })
  connections.seen.set(provider, found?.mark ?? '')
  if (!found) return null
  const { mark: _, ...connection } = found
  connections.tokens.push(connection.token)
  host.redact.learn(connection.token)
  return connection
}

/** The same outcome without tokens that its body was given. */
export function withoutTokens(
  given: ToSettle,
  told: Connections | null,
  { sensitive }: Pick<Tool, 'sensitive'>,
): ToSettle {
  // What it shows on purpose goes on record: only where that is sealed.
  if (isRevealing(given.settle) && sensitive) return given
  const settle = untold(notRevealing(given.settle), told)
  return settle === given.settle ? given : { ...given, settle, text: encode(settle) }
}

/** What a body that lacks a connection comes to: the wait for whoever connects it, leave to run again at once, or what the model reads. */
export async function connecting(
  asking: Asking,
  accepted: ValidatedInput,
  { provider, message }: RequiredConnection,
  seen: string,
): Promise<Driven | 'again'> {
  const { execution, tool, host } = asking
  const { request, options, asks } = execution
  const { position, principal } = request
  let number = 1
  while (asks.found(nameOf(number))) number++
  if (options.unattended || execution.stopped || number > mostAsked) return required(provider)
  const fingerprint = fingerprintOf({
    tenant: position.tenant,
    call: request.uid,
    tool: tool.fingerprint,
    args: encode({ provider }),
  })
  const summary = message ?? `Connect ${provider}, so that '${tool.title ?? tool.name}' can go on.`
  const { item, terms } = await itemOf(
    asking,
    accepted,
    { kind: 'connection', reason: summary, of: together([]), fingerprint },
    { provider, preview: { summary } },
    { provider },
  )
  const name = nameOf(number)
  const wait: Wait = await execution.wait({
    name,
    deadlineMs: withinDeadline(deadlineMs, options, host.clock.now()),
    terms,
    item,
  })
  // Who connects writes first and looks for waits second; here it is the other way round, so nobody is missed.
  const now = await host.connection({ tenant: position.tenant, principal }, provider)
  if (now && now.mark !== seen && (await asks.callOff(name, 'It is connected'))) return 'again'
  return { park: wait }
}

/** What the last one who was asked to connect has said. Null: go on. */
export function connectionHeard({ execution, host }: Asking): MaybePromise<ToSettle | null> {
  const { asks, request } = execution
  for (let number = mostAsked; number > 0; number--) {
    const asked = asks.found(nameOf(number))
    if (!asked?.resolution) continue
    const provider = asked.asks.provider ?? ''
    // Who connected may have died before saying so: then it is connected all the same.
    if ('timeout' in asked.resolution) {
      const { position, principal } = request
      if (isPast(execution, host)) return notStarted('total')
      return host
        .connection({ tenant: position.tenant, principal }, provider)
        .then((found) => (found ? null : required(provider)))
    }
    const decided = decidedOf(asked.resolution)
    return decided?.decision === 'deny' ? declined(provider, decided.votes.at(-1)?.reason) : null
  }
  return null
}

/** What the model reads where nobody can connect. */
export const required = (provider: string): ToSettle => ({
  settle: { status: 'success', value: { connection_required: provider } },
})

const declined = (provider: string, reason: string | undefined): ToSettle => ({
  settle: failure({
    class: 'permission_denied',
    code: 'connection_declined',
    message: `A person declined to connect ${provider}${reason === undefined ? '' : `: ${reason}`}. Go on without it.`,
    source: 'policy',
  }),
})
