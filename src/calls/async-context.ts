// Whose work this is: an async context that follows a body wherever it goes, so that what it throws astray is its own (CALL-11) and
// a step knows that it is one.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '../tools/context/context.ts'

export interface Scope {
  readonly tool: string
  readonly callId: string
  readonly call: string
  readonly logger: Logger
  /** Whose code it is, where it is not the body's. */
  readonly who?: string
  /** Inside a step's function: the step's id. Steps are leaves on every engine, because an ordinal journal cannot nest them. */
  readonly step?: string
}

export const scope = new AsyncLocalStorage<Scope>()

let open = 0

/** While a runtime is open, what tools throw astray is contained. What is not a tool's keeps its usual fate. */
export function containStrays(): () => void {
  if (open++ === 0) {
    process.on('uncaughtException', onException)
    process.on('unhandledRejection', onRejection)
  }
  let released = false
  return () => {
    if (released) return
    released = true
    if (--open > 0) return
    process.off('uncaughtException', onException)
    process.off('unhandledRejection', onRejection)
  }
}

function contained(error: unknown, what: string): boolean {
  const own = scope.getStore()
  if (!own) return false
  const { tool, callId, call, logger, who = 'A tool' } = own
  try {
    logger.error(`${who} ${what}; its call and all others go on`, { tool, callId, call, error })
  } catch {
    // a logger that throws must not undo the containment
  }
  return true
}

function onException(error: Error): void {
  if (contained(error, 'threw outside its body') || process.listenerCount('uncaughtException') > 1) return
  // Not a tool's, and nobody else listens: what Node would have done without us.
  process.off('uncaughtException', onException)
  process.nextTick(() => {
    throw error
  })
}

function onRejection(reason: unknown): void {
  if (contained(reason, 'left a rejection unhandled') || process.listenerCount('unhandledRejection') > 1) return
  process.nextTick(() => {
    throw reason
  })
}
