// All operations by name. The server runs them for HTTP requests, the CLI on a local store.

import type { OperationName } from '../endpoints.ts'
import { background } from './background.ts'
import { calls } from './calls.ts'
import { isInternalSession } from '../../mcp/server/caller-sessions.ts'
import { found, type OperationContext, sessionOf } from './context.ts'
import { data } from './data.ts'
import { people } from './people.ts'
import { sessions } from './sessions.ts'
import { store } from './store.ts'
import { turns } from './turns.ts'

/** The implementation of every operation. */
export const operations = { ...sessions, ...calls, ...turns, ...people, ...background, ...data, ...store }

type Result = Response | AsyncIterable<unknown> | object

/**
 * Runs an operation on validated input. The secrets of the session are redacted from a JSON result: values that tools
 * return to a program are not shown to a client as they are.
 */
export async function runOperation(name: OperationName, context: OperationContext, input: object): Promise<Result> {
  const run = operations[name] as (context: OperationContext, input: object) => Result | Promise<Result>
  const { session } = input as { session?: unknown }
  // It is missing, as a session of another tenant would be.
  if (typeof session === 'string' && isInternalSession(session)) found(null, 'session')
  const result = await run(context, input)
  if (typeof session !== 'string' || isStream(result)) return result
  return sessionOf(context, { session }).redact(result)
}

/** Streams are redacted where they are made; files are what a person put there. */
const isStream = (result: Result): boolean =>
  result instanceof Response || Symbol.asyncIterator in result || 'body' in result
