// The context of an operation: the runtime, and the caller. Operations know nothing of HTTP: the server runs them for
// requests, and the CLI runs them on a local store.

import type { Clock } from '../../core/clock.ts'
import { parseDuration } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import type { Runtime, Session, StartTurn } from '../../index.ts'
import type { OperationName } from '../endpoints.ts'
import type { Caller } from '../permissions.ts'
import type { Input, Output } from '../routes/routes.ts'

export interface OperationContext {
  readonly runtime: Runtime
  readonly caller: Caller
  /** Aborts when the client has left. What it started goes on. */
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Model, frame and instructions of turns whose request names none. */
  readonly turnDefaults: Pick<StartTurn, 'model' | 'frame' | 'instructions'>
}

/** Bytes to download. */
export interface Download {
  readonly mediaType: string
  /** File name for the person who saves it. */
  readonly name: string
  readonly etag?: string
  readonly body: Uint8Array | string | AsyncIterable<string>
}

/** The implementation of a JSON operation. */
export type Operation<N extends OperationName> = (
  context: OperationContext,
  input: Input<N>,
) => Promise<Output<N>> | Output<N>

/** The session of a request, opened for the caller. */
export const sessionOf = ({ runtime, caller }: OperationContext, { session }: { readonly session: string }): Session =>
  runtime.session(session, { tenant: caller.tenant, principal: caller.principal })

/** The options of an operation, without the fields that name its object. */
export function without<T extends object, K extends keyof T>(input: T, ...names: readonly K[]): Omit<T, K> {
  const rest: Partial<T> = { ...input }
  for (const name of names) delete rest[name]
  return rest as Omit<T, K>
}

/** Things of other tenants are missing too: both give this error, with the same text. */
export function found<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new PawlError('not_found', `There is no such ${what}.`)
  return value
}

/** The longest time that a request waits, so that a forgotten one ends. */
const maxWaitMs = 600_000

export const waitMs = (wait: unknown): number => Math.min(parseDuration(wait) ?? maxWaitMs, maxWaitMs)

/** Resolves with the result, or with null if it takes longer or the client has left. */
export async function within<T>(
  { clock, signal }: Pick<OperationContext, 'clock' | 'signal'>,
  ms: number,
  result: Promise<T>,
): Promise<T | null> {
  const { promise: over, resolve } = Promise.withResolvers<null>()
  const leave = (): void => resolve(null)
  const stopTimer = clock.timer(ms, leave)
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()
  try {
    return await Promise.race([result, over])
  } finally {
    stopTimer()
    signal.removeEventListener('abort', leave)
  }
}
