// session.turn(): records a new turn, or joins the existing one with the same id and content.

import { redactMessages } from '../calls/output/redact-outcome.ts'
import type { NewCall } from '../engine/engine.ts'
import { type CallPosition, parseCallOptions } from '../store/records/call-record.ts'
import { isWoken, turnTool } from '../store/records/conversation.ts'
import { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import { decode, encode } from '../core/tool-value.ts'
import { checkModel } from '../models/model.ts'
import type { StartTurn, Turn, TurnOutcome, TurnValue } from '../models/turn-interface.ts'
import { inheritedOptions, type Caller } from '../sessions/build-call-request.ts'
import { Cancel } from '../sessions/collect-outcomes.ts'
import { callRecorded } from '../sessions/run-handle.ts'
import type { CompiledSchema } from '../tools/schema.ts'
import type { TurnHost } from './ports.ts'
import { turnStreams } from './streams/turn-streams.ts'
import { withOutput } from './turn-output.ts'
import { parseTurn, messageRow, turnHash, type TurnRequest } from './turn-request.ts'
import { collections } from '../store/collections.ts'
import { turnBatch } from '../store/journal-keys.ts'

export function startTurn(
  host: TurnHost,
  caller: Caller,
  input: StartTurn,
  first?: () => Promise<void> | undefined,
): Turn {
  const { request, model, content, output } = parseTurn(input, host, host.sizes.arguments)
  const id = input.id ?? `turn_${host.ids.next()}`
  if (isWoken(id))
    throw new PawlError(
      'turn_invalid',
      `The turn id is '${id}'; this form is reserved for turns that the runtime starts.`,
    )
  host.models.set(model.name, model)
  const options = inheritedOptions(caller)
  const newCall: NewCall = {
    position: turnPosition(caller, id),
    principal: caller.principal,
    tool: turnTool(model.name),
    input: encode(request),
    hash: turnHash(content),
    options: Object.keys(options).length > 0 ? options : null,
    line: null,
    ...(host.seal.all ? { sealed: true } : {}),
  }
  return turnHandle(host, newCall, { signal: input.signal, output }, first)
}

/**
 * Joins a turn that may already exist, with its original request: changes a deploy made to its instructions, tools or
 * limits apply only to later turns. The message must be the same.
 */
export async function resumeTurn(
  host: TurnHost,
  caller: Caller,
  turn: StartTurn & { readonly id: string },
): Promise<Turn> {
  const record = await host.store.callAt(turnPosition(caller, turn.id))
  if (!record) return startTurn(host, caller, turn)
  if (typeof turn.model === 'object') {
    const model = checkModel(turn.model)
    host.models.set(model.name, model)
  }
  const { message } = decode(record.input) as unknown as TurnRequest
  if (encode(message) !== encode(messageRow(turn, host, host.sizes.arguments))) throw turnConflict(turn.id)
  const { position, principal, tool, input, hash } = record
  const options = record.options === null ? null : parseCallOptions(record.options)
  return turnHandle(
    host,
    { position, principal, tool, input, hash, options, line: null },
    { signal: turn.signal, output: null },
  )
}

const turnPosition = ({ tenant, session }: Caller, id: string): CallPosition => ({
  tenant,
  session,
  batch: turnBatch,
  id,
  occurrence: 0,
})

/** The handle of a turn: starts it, or joins it if it is recorded. */
export function turnHandle(
  host: TurnHost,
  newCall: NewCall,
  {
    signal,
    output = null,
  }: { readonly signal?: AbortSignal | undefined; readonly output?: CompiledSchema | null } = {},
  first: () => Promise<void> | undefined = () => undefined,
): Turn {
  const { id } = newCall.position
  const started = startOnEngine(host, newCall, first)
  const outcome = started.then(async ({ settled }): Promise<TurnOutcome> => {
    const { outcome: ended } = await settled
    await host.knownSecrets.refresh(newCall.position) // an agent on another worker may have set a secret
    const shown = await withOutput(ended as unknown as Outcome<TurnValue>, output)
    return { ...(redactMessages(shown as Outcome, host.redact) as unknown as Outcome<TurnValue>), turn: id }
  })
  const cancel = async (reason: string, by?: string): Promise<boolean> =>
    host.engine.cancel((await started).uid, new Cancel(reason, by))
  outcome.catch(() => {}) // prevents an unhandled rejection if the caller does not await it
  cancelOnAbort(signal, outcome, cancel)
  let accepted: Promise<void> | undefined
  const streams = turnStreams(host, newCall.position, started)
  return {
    id,
    outcome,
    get accepted() {
      return (accepted ??= started.then(() => callRecorded(host.engine, newCall.position)))
    },
    get textStream() {
      return streams.textStream
    },
    uiMessageStream: (options) => streams.uiMessageStream(options),
    cancel: (reason = 'The turn was cancelled', by) => cancel(reason, by),
  }
}

async function startOnEngine(
  host: TurnHost,
  newCall: NewCall,
  first: () => Promise<void> | undefined,
): Promise<{ uid: string; settled: Promise<{ outcome: Outcome }> }> {
  await first()
  // A turn recorded before its session ended can still be joined.
  if (
    (await host.store.document(collections.sessionEnd.name(newCall.position))) &&
    !(await host.store.callAt(newCall.position))
  )
    throw new PawlError('session_ended')
  const started = await host.engine.start(newCall)
  if (started.as === 'conflict') throw turnConflict(newCall.position.id)
  return started
}

const turnConflict = (id: string): PawlError => new PawlError('turn_conflict', `The id is '${id}'.`)

/** Cancels the turn when the caller's signal aborts. */
function cancelOnAbort(
  signal: AbortSignal | undefined,
  outcome: Promise<unknown>,
  cancel: (reason: string) => Promise<boolean>,
): void {
  if (!signal) return
  const onAbort = (): void => void cancel('The turn was cancelled').catch(() => {})
  if (signal.aborted) return onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  const removeListener = (): void => signal.removeEventListener('abort', onAbort)
  outcome.then(removeListener, removeListener)
}
