// A session: the scope of a conversation. Here calls are asked for, in batches or one by one, and here the feed is read.

import { createHash } from 'node:crypto'
import { project, type ModelPart } from '../call/project.ts'
import type { Asked, Engine, Settled } from '../engine/engine.ts'
import { cursorOf, type Feed, type FeedEvent } from '../feed/feed.ts'
import { PawlError } from '../kernel/errors.ts'
import type { Ids } from '../kernel/id.ts'
import { failure, type Outcome } from '../kernel/outcome.ts'
import { encode, type Json } from '../kernel/value.ts'
import canonicalize from 'canonicalize'
import type { Tool } from '../tool/tool.ts'

export interface CallAsk {
  /** The model's id of the call. */
  readonly id: string
  readonly name: string
  /** An object, or the model's JSON text. Left out or empty it means {}. */
  readonly input?: unknown
}

/** How a call ended, with what the model reads of it. */
export type CallOutcome<T = Json> = Outcome<T> & {
  readonly callId: string
  readonly name: string
  /** How many times the body was begun. */
  readonly attempts: number
  /** What the model reads. */
  readonly parts: readonly ModelPart[]
}

export interface RunOptions {
  /** Names the model message the calls come from; without it, ids must be unique in the session. */
  readonly batch?: string
}

export interface CallHandle<T> {
  readonly id: string
  readonly outcome: Promise<CallOutcome<T>>
}

export interface Session {
  readonly id: string
  readonly tenant: string
  /** Starts the calls now, in order; resolves with one outcome each, in that order. Asked again, it joins. */
  run(calls: readonly CallAsk[], options?: RunOptions): Promise<CallOutcome[]>
  /** One call, typed by its tool. */
  call<Ask, Output>(tool: Tool<Ask, Output>, input: Ask, options?: { id?: string; batch?: string }): CallHandle<Output>
  /** The facts of this session: those on record after the cursor, then the new ones as they come. */
  events(options?: { after?: string; signal?: AbortSignal }): AsyncIterable<FeedEvent>
}

export interface SessionOptions {
  readonly tenant?: string
  readonly principal?: string
}

interface SessionHost {
  readonly engine: Engine
  readonly feed: Feed
  readonly ids: Ids
}

export function openSession(host: SessionHost, id: string, options: SessionOptions = {}): Session {
  const tenant = options.tenant ?? 'default'
  const principal = options.principal ?? null
  for (const [what, value] of [
    ['session id', id],
    ['tenant', tenant],
  ] as const) {
    if (typeof value !== 'string' || value === '' || !value.isWellFormed()) {
      throw new PawlError('config_invalid', `The ${what} is ${JSON.stringify(value)}; it must be a non-empty string.`)
    }
  }

  const ask = async (call: CallAsk, batch: string, occurrence: number): Promise<CallOutcome> => {
    const asked = askedOf(call, { tenant, session: id, batch, id: call.id, occurrence }, principal)
    if ('refused' in asked) return shown(call, 0, asked.refused)
    const started = await host.engine.start(asked)
    if (started.as === 'conflict') return shown(call, 0, conflict(call, started.recorded))
    const settled: Settled = await started.settled
    return shown(call, settled.attempts, settled.outcome)
  }

  return {
    id,
    tenant,
    async run(calls, { batch = '' } = {}) {
      const seen = new Map<string, number>()
      for (const call of calls) checkAsk(call)
      const outcomes = calls.map((call) => {
        const occurrence = seen.get(call.id) ?? 0
        seen.set(call.id, occurrence + 1)
        return ask(call, batch, occurrence)
      })
      // One that cannot be known (the store or the runtime is gone) rejects the batch; the others are still waited for,
      // so that when the caller hears of it nothing of the batch is still moving.
      const results = await Promise.allSettled(outcomes)
      const lost = results.find((result) => result.status === 'rejected')
      if (lost) throw lost.reason
      return results.map((result) => (result as PromiseFulfilledResult<CallOutcome>).value)
    },
    call<Ask, Output>(tool: Tool<Ask, Output>, input: Ask, how: { id?: string; batch?: string } = {}): CallHandle<Output> {
      const call = { id: how.id ?? host.ids.next(), name: tool.name, input }
      checkAsk(call)
      const outcome = ask(call, how.batch ?? '', 0) as Promise<CallOutcome<Output>>
      outcome.catch(() => {}) // heard by whoever awaits it
      return { id: call.id, outcome }
    },
    events({ after, signal } = {}) {
      return host.feed.read({ of: { tenant, session: id }, after: cursorOf(after), ...(signal ? { signal } : {}) })
    },
  }
}

function checkAsk(call: CallAsk): void {
  const wrong = (why: string): never => {
    throw new PawlError('call_invalid', `${why}.`)
  }
  if (typeof call !== 'object' || call === null) wrong(`It is ${JSON.stringify(call)}`)
  if (typeof call.id !== 'string' || call.id === '') wrong(`Its id is ${JSON.stringify(call.id)}`)
  if (typeof call.name !== 'string' || call.name === '') wrong(`Its name is ${JSON.stringify(call.name)}`)
  if (!call.id.isWellFormed() || !call.name.isWellFormed()) wrong('Its id or name holds a lone surrogate')
}

/** The call as it goes on record: verbatim input, and the hash by which it is known again. */
function askedOf(call: CallAsk, position: Asked['position'], principal: string | null): Asked | { refused: Outcome } {
  let input: string
  try {
    input =
      call.input === undefined || call.input === ''
        ? '{}'
        : typeof call.input === 'string'
          ? encode(JSON.parse(call.input))
          : encode(call.input)
  } catch (error) {
    const why = error instanceof SyntaxError ? `The arguments are not valid JSON (${error.message})` : (error as Error).message
    return {
      refused: failure({ class: 'invalid_request', code: 'invalid_arguments', message: `${why}. Fix the arguments and call again.` }),
    }
  }
  return { position, principal, tool: call.name, input, hash: contentHash(call.name, input) }
}

/** Of the content, not of the text: the same arguments in another order of keys are the same call. */
const contentHash = (tool: string, input: string): string =>
  createHash('sha256')
    .update(canonicalize([tool, JSON.parse(input)]) as string)
    .digest('base64url')

function conflict(call: CallAsk, recorded: { tool: string; input: string }): Outcome {
  const message = `A call with id '${call.id}' is on record with other content (tool '${recorded.tool}'). It was not run. Use a new id for a new call.`
  return failure({ class: 'invalid_request', code: 'call_conflict', message })
}

function shown(call: CallAsk, attempts: number, outcome: Outcome): CallOutcome {
  return { ...outcome, callId: call.id, name: call.name, attempts, parts: project(outcome) }
}
