// session.turn(): a turn on record, or the one that is there (SESS-1).

import type { Asked, Engine } from '../engine/engine.ts'
import type { CallOptions, CallPosition } from '../store/records/call-record.ts'
import { isWoken, turnBatch, turnTool } from '../store/records/conversation.ts'
import { endName } from '../store/records/task-record.ts'
import { PawlError } from '../core/errors.ts'
import { type Ids, isName, longestName } from '../core/ids.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Sizes } from '../core/size-limits.ts'
import { decode, encode } from '../core/value.ts'
import { checkModel, type Model } from '../models/model.ts'
import type { Frame, StartTurn, Turn, TurnOutcome, TurnValue } from '../models/turn-interface.ts'
import { askingOf, type Place } from '../sessions/call-record.ts'
import { Cancel } from '../sessions/collect-outcomes.ts'
import type { Store } from '../store/store.ts'
import { hashOf } from './last-turn.ts'
import { requestOf, saidIn, type TurnRequest } from './turn-request.ts'

export interface StartHost {
  readonly engine: () => Engine
  readonly store: Store
  readonly ids: Ids
  readonly sizes: Sizes
  readonly sealAll: boolean
  /** The same, its words without secrets. */
  words(outcome: Outcome): Outcome
  model(name: string): Model | undefined
  frame(name: string): Frame | undefined
  /** It can be asked here from now on. */
  knows(model: Model): void
}

export function startTurn(
  host: StartHost,
  place: Place,
  given: StartTurn,
  first?: () => Promise<void> | undefined,
): Turn {
  const { request, model, content } = requestOf(given, host, host.sizes.arguments)
  const id = given.id ?? `turn_${host.ids.next()}`
  if (!isName(id))
    throw new PawlError(
      'turn_invalid',
      `The id is ${JSON.stringify(id)}; it must be a text of 1 to ${longestName} characters.`,
    )
  if (isWoken(id))
    throw new PawlError('turn_invalid', `The id is '${id}'; only turns that begin by themselves have ids like that.`)
  host.knows(model)
  const options = askingOf(place)
  const asked: Asked = {
    position: positionOf(place, id),
    principal: place.principal,
    tool: turnTool(model.name),
    input: encode(request),
    hash: hashOf(content),
    options: Object.keys(options).length > 0 ? options : null,
    line: null,
    ...(host.sealAll ? { sealed: true } : {}),
  }
  return handleOf(host, asked, given.signal, first)
}

/**
 * A turn that may be there already, and then goes on as it was asked for first: what a deploy has made of its instructions, tools or limits since is for those that
 * begin later (SESS-6). To be known again it must have been told the same.
 */
export async function sameTurn(
  host: StartHost,
  place: Place,
  given: StartTurn & { readonly id: string },
): Promise<Turn> {
  const record = await host.store.callAt(positionOf(place, given.id))
  if (!record) return startTurn(host, place, given)
  if (typeof given.model === 'object') host.knows(checkModel(given.model))
  const { message } = decode(record.input) as unknown as TurnRequest
  if (encode(message) !== encode(saidIn(given, host, host.sizes.arguments))) throw conflict(given.id)
  const { position, principal, tool, input, hash } = record
  const options = record.options === null ? null : (JSON.parse(record.options) as CallOptions)
  return handleOf(host, { position, principal, tool, input, hash, options, line: null }, given.signal)
}

const positionOf = ({ tenant, session }: Place, id: string): CallPosition => ({
  tenant,
  session,
  batch: turnBatch,
  id,
  occurrence: 0,
})

function handleOf(
  host: StartHost,
  asked: Asked,
  signal: AbortSignal | undefined,
  first: () => Promise<void> | undefined = () => undefined,
): Turn {
  const { id } = asked.position
  const started = begin(host, asked, first)
  const outcome = started.then(async ({ settled }): Promise<TurnOutcome> => {
    const { outcome: ended } = await settled
    return { ...(host.words(ended) as unknown as Outcome<TurnValue>), turn: id }
  })
  const cancel = async (reason: string, by?: string): Promise<boolean> =>
    host.engine().cancel((await started).uid, new Cancel(reason, by))
  outcome.catch(() => {}) // heard by whoever awaits it
  follow(signal, outcome, cancel)
  return { id, outcome, cancel: (reason = 'The turn was cancelled', by) => cancel(reason, by) }
}

async function begin(
  host: StartHost,
  asked: Asked,
  first: () => Promise<void> | undefined,
): Promise<{ uid: string; settled: Promise<{ outcome: Outcome }> }> {
  await first()
  // One that was asked for before its session ended is told all the same.
  if ((await host.store.document(endName(asked.position, ''))) && !(await host.store.callAt(asked.position)))
    throw new PawlError('session_ended')
  const started = await host.engine().start(asked)
  if (started.as === 'conflict') throw conflict(asked.position.id)
  return started
}

const conflict = (id: string): PawlError => new PawlError('turn_conflict', `The id is '${id}'.`)

/** The caller's signal cancels it. */
function follow(
  signal: AbortSignal | undefined,
  outcome: Promise<unknown>,
  cancel: (reason: string) => Promise<boolean>,
): void {
  if (!signal) return
  const aborted = (): void => void cancel('The turn was cancelled').catch(() => {})
  if (signal.aborted) return aborted()
  signal.addEventListener('abort', aborted, { once: true })
  const forget = (): void => signal.removeEventListener('abort', aborted)
  outcome.then(forget, forget)
}
