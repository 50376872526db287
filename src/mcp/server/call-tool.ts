// tools/call: makes a durable call, and answers a call that waits in the way that the client declared (decision 0050).

import { type CallToolResult, type InputRequiredResult, ProtocolError } from '@modelcontextprotocol/server'
import type { CallOutcome, InboxItem, Json, OpenCall, ToolListing } from '../../index.ts'
import { sessionOf } from './caller-sessions.ts'
import { decidableItem, decideByForm, formKey, formOf } from './decision-form.ts'
import { escapeLine } from './escape-text.ts'
import { deliver, follow, type Followed, forget, holdCall, isSettled, recordedCall } from './follow-call.ts'
import { ProgressReporter } from './progress-reporter.ts'
import { type RequestState, signState } from './request-state.ts'
import type { ServerParts } from './server-parts.ts'
import { type CreatedTask, createdTask } from './tasks.ts'
import { cancelTool, findTool, invalidParams, isBuiltIn, waitTool } from './tool-list.ts'
import type { ToolRequest } from './tool-request.ts'
import { hasObjectOutput, textResult } from './tool-result.ts'

type ToolAnswer = CallToolResult | InputRequiredResult | CreatedTask

/** The field of `_meta` with the client's idempotency key. */
export const idempotencyKeyField = 'dev.pawl/idempotencyKey'

const maxKeyLength = 512
/** How long a client may take to answer `input_required`. */
const stateMs = 24 * 60 * 60_000

export async function callTool(parts: ServerParts, request: ToolRequest): Promise<ToolAnswer> {
  const { open, name, mcp } = request
  if (name === cancelTool) return cancelCall(parts, request)
  const state = mcp.requestState<RequestState>()
  const followed = name === waitTool ? await waitedFor(parts, request) : await requested(parts, request, state)
  if ('content' in followed) return followed
  if (state) {
    if (state.call !== followed.call.id) throw staleState()
    const given = mcp.inputResponses?.[state.key]
    // Checked again: the retry may come with a token of fewer rights, or after the policy changed.
    const item = await decidableItem(parts.runtime, open.caller, state.item)
    if (item) {
      const decided = await decideByForm(parts.runtime, open.caller, item, state.fingerprint, given)
      if (decided === 'dismissed') return pendingResult(followed, `It waits for ${waitsFor(item)}.`)
    }
  }
  return answerCall(parts, request, followed)
}

const staleState = (): ProtocolError =>
  new ProtocolError(invalidParams, 'Invalid or expired requestState', { reason: 'invalid_request_state' })

const unknownTool = (name: string): ProtocolError =>
  new ProtocolError(invalidParams, `Unknown tool: ${escapeLine(name.slice(0, 100))}`)

/** A tool of a provider that cannot be reached, or whose changed definition is not accepted yet. */
/** The tool by this name, if it is listed and cannot be called now. */
const awayTool = ({ runtime }: ServerParts, name: string): ToolListing | undefined =>
  runtime.tools.list().find((each) => each.name === name && !each.internal && !each.available)

function unavailable({ name, quarantined }: ToolListing): CallToolResult {
  const text = quarantined
    ? `The definition of the tool ${name} changed, so it does not run until a person accepts it: \`pawl mcp servers\` ` +
      'shows the change. Nothing was started. Tell the user, or go on without it.'
    : `The tool ${name} is not available now. Nothing was started. Try again later, or go on without it.`
  return textResult(text, true)
}

/** The call of a request for a tool of the runtime. */
async function requested(
  parts: ServerParts,
  { open, name, input, mcp }: ToolRequest,
  state: RequestState | undefined,
): Promise<Followed | CallToolResult> {
  const { caller } = open
  const session = sessionOf(parts.runtime, caller)
  const tool = isBuiltIn(name) ? undefined : await findTool(session, name)
  const away = tool ? undefined : awayTool(parts, name)
  if (away) return unavailable(away)
  if (!tool) throw unknownTool(name)
  const identity = state
    ? { id: state.call, content: await parts.secrets.digest(caller.tenant, name, input) }
    : await parts.identities.of(caller, tool, input, idempotencyKeyOf(mcp))
  if (state && state.content !== identity.content) throw staleState()
  const { id, content } = identity
  return { session, tool, call: { id, name, input, idempotencyKey: id, meta: { mcp: content } } }
}

function idempotencyKeyOf({ _meta }: ToolRequest['mcp']): string | undefined {
  const key: unknown = _meta?.[idempotencyKeyField]
  if (key === undefined) return undefined
  if (typeof key === 'string' && key !== '' && key.length <= maxKeyLength && key.isWellFormed()) return key
  throw new ProtocolError(
    invalidParams,
    `\`_meta["${idempotencyKeyField}"]\` must be a string of 1 to ${maxKeyLength} characters. Nothing was started.`,
  )
}

/** Only a key of the client can name a call with other content. */
const isConflict = (found: CallOutcome | OpenCall): boolean =>
  found.status === 'failure' && found.failure.source === 'runtime' && found.failure.code === 'call_conflict'

const keyInUse = (): CallToolResult =>
  textResult(
    `The idempotency key in \`_meta["${idempotencyKeyField}"]\` belongs to a call of another tool or with other arguments. Nothing was started. Use a new key for a new call.`,
    true,
  )

const noSuchCall = (): CallToolResult =>
  textResult('There is no call with this id. Use the id that the pending result named.', true)

/** The call that pawl_wait names. */
async function waitedFor(parts: ServerParts, { open, input }: ToolRequest): Promise<Followed | CallToolResult> {
  const id = (input as { call?: Json }).call
  return (await recordedCall(parts, open.caller, sessionOf(parts.runtime, open.caller), id)) ?? noSuchCall()
}

async function cancelCall(parts: ServerParts, { open, input }: ToolRequest): Promise<CallToolResult> {
  const { caller } = open
  const session = sessionOf(parts.runtime, caller)
  const followed = await recordedCall(parts, caller, session, (input as { call?: Json }).call)
  if (!followed) return noSuchCall()
  const { answer } = await session.calls.cancel({ idempotencyKey: followed.call.id }, { by: caller.principal })
  if (answer !== 'already_settled') open.onDelivered(() => forget(parts, caller, followed))
  return textResult(
    answer === 'already_settled'
      ? `The call has already ended. ${waitTool} returns its result.`
      : `The cancellation is recorded. The call ends soon; ${waitTool} returns how.`,
  )
}

/** Waits for the call and answers the request. */
async function answerCall(parts: ServerParts, request: ToolRequest, followed: Followed): Promise<ToolAnswer> {
  const { open, client, mcp } = request
  const { session, call } = followed
  const token = mcp._meta?.progressToken
  const reporter =
    token === undefined ? null : open.reporter(() => new ProgressReporter(mcp, token, parts.clock, parts.heartbeatMs))
  const unfollow = reporter ? parts.progress.follow(session, call.id, (progress) => reporter.tool(progress)) : null
  const patience = new Patience(parts, mcp.signal, client.tasks ? parts.taskAfterMs : parts.patienceMs)
  const hold = holdCall(parts, open, followed)
  try {
    let found = await patience.until(follow(parts, followed, hold.stop, 'waiting'))
    if (found?.status === 'waiting' && !client.tasks) {
      const item = client.forms ? await decidableItem(parts.runtime, open.caller, found.waitId) : undefined
      if (item) return await askUser(parts, request, followed, item)
      if (reporter) {
        reporter.waitingFor(`Waiting for ${waitingText(found)}`)
        found = await patience.until(follow(parts, followed, hold.stop, 'settled'))
      }
    }
    if (found && isConflict(found)) return keyInUse()
    if (found && isSettled(found)) return await deliver(parts, open, followed, found)
    if (client.tasks) return await createdTask(parts, followed)
    return pendingResult(followed, found ? `It waits for ${waitingText(found)}.` : 'It is still running.')
  } finally {
    patience.end()
    hold.release()
    unfollow?.()
  }
}

/** Ends the waiting of a request before its call ends. */
class Patience {
  readonly #over: Promise<null>
  readonly #stop: () => void

  constructor({ clock }: Pick<ServerParts, 'clock'>, connection: AbortSignal, ms: number) {
    const { promise, resolve } = Promise.withResolvers<null>()
    const end = (): void => resolve(null)
    const stopTimer = clock.timer(ms, end)
    connection.addEventListener('abort', end, { once: true })
    this.#over = promise
    this.#stop = () => {
      stopTimer()
      connection.removeEventListener('abort', end)
    }
  }

  /** Null: the time is over, or the connection is closed. */
  async until<T>(work: Promise<T>): Promise<T | null> {
    work.catch(() => {}) // the race below reports it, unless the time is over
    return Promise.race([work, this.#over])
  }

  end(): void {
    this.#stop()
  }
}

/** Older clients are asked while their request stays open: its cancellation cancels the call. */
async function askUser(
  parts: ServerParts,
  { open: { caller, cancelled } }: ToolRequest,
  followed: Followed,
  item: InboxItem,
): Promise<InputRequiredResult> {
  const { session, call } = followed
  const cancel = (): void => {
    forget(parts, caller, followed)
    session.calls.cancel({ idempotencyKey: call.id }, { by: caller.principal }).catch((error: unknown) => {
      parts.logger.error('A call could not be cancelled', { call: call.id, error })
    })
  }
  if (cancelled.aborted) cancel()
  else cancelled.addEventListener('abort', cancel, { once: true })
  const recorded = await session.calls.get({ idempotencyKey: call.id })
  const key = formKey(item.id, recorded?.waits ?? [])
  const state: RequestState = {
    call: call.id,
    item: item.id,
    key,
    fingerprint: item.fingerprint,
    content: call.meta.mcp,
    expires: parts.clock.now() + stateMs,
  }
  return {
    resultType: 'input_required',
    inputRequests: { [key]: { method: 'elicitation/create', params: formOf(item) } },
    requestState: signState(await parts.secrets.of(caller.tenant), caller, state),
  } as InputRequiredResult
}

const waitsFor = ({ kind }: InboxItem): string => textFor[kind]

const textFor: Readonly<Record<Extract<OpenCall, { status: 'waiting' }>['for'], string>> = {
  approval: 'a person to approve it in the inbox of Pawl',
  question: 'a person to answer its question in the inbox of Pawl',
  connection: 'a person to connect an account',
  finding: 'a person to say what an interrupted attempt did',
  client: 'the client of its session',
  completion: 'an external system',
}

const waitingText = (found: CallOutcome | OpenCall): string =>
  found.status === 'waiting' ? textFor[found.for] : 'its result'

/** A client that checks structured output accepts a result without it only as an error. */
function pendingResult({ tool, call }: Followed, why: string): CallToolResult {
  const text = [
    `[Pending] The call ${call.id} has no result yet. ${why} It continues without this request.`,
    `Call ${waitTool} with {"call":"${call.id}"} to get its result, or ${cancelTool} to cancel it.`,
  ].join('\n')
  return textResult(text, tool !== undefined && hasObjectOutput(tool))
}
