// Async context of tool and host code. It attributes stray errors (thrown outside the awaited body) to their call, and
// lets ctx methods detect that they run inside a step.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '../tools/context/tool-context.ts'

export interface Scope {
  readonly tool: string
  readonly callId: string
  readonly call: string
  readonly logger: Logger
  /** Names the code in log lines. Default: 'A tool'. */
  readonly who?: string
  /** The id of the step whose function is running. Steps cannot nest, because the journal has no nested entries. */
  readonly step?: string
}

export const scope = new AsyncLocalStorage<Scope>()

let open = 0

/**
 * Installs process handlers that log stray errors of tools instead of ending the process. Other uncaught errors keep
 * Node's behaviour. Returns a function that releases the handlers; they are removed when the last runtime releases
 * them.
 */
export function containStrayErrors(): () => void {
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

function logStrayError(error: unknown, what: string): boolean {
  const own = scope.getStore()
  if (!own) return false
  const { tool, callId, call, logger, who = 'A tool' } = own
  try {
    logger.error(`${who} ${what}; its call and all others continue`, { tool, callId, call, error })
  } catch {
    // A logger that throws must not end the process either.
  }
  return true
}

function onException(error: Error): void {
  if (logStrayError(error, 'threw outside its body') || process.listenerCount('uncaughtException') > 1) return
  // The error belongs to no tool and there is no other listener: let Node end the process as it would without us.
  process.off('uncaughtException', onException)
  process.nextTick(() => {
    throw error
  })
}

function onRejection(reason: unknown): void {
  if (logStrayError(reason, 'left a rejection unhandled') || process.listenerCount('unhandledRejection') > 1) return
  process.nextTick(() => {
    throw reason
  })
}
