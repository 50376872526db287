// Async context of tool and host code. It attributes stray errors (thrown outside the awaited body) to their call, and
// lets ctx methods detect that they run inside a step.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '../tools/context/tool-context.ts'

export interface Scope {
  readonly tool: string
  readonly callId: string
  readonly call: string
  readonly session?: string
  readonly tenant?: string
  readonly logger: Logger
  /** Names the code in log lines. Default: 'A tool'. */
  readonly who?: string
  /** The id of the step whose function is running. Steps cannot nest, because the journal has no nested entries. */
  readonly step?: string
}

export const scope = new AsyncLocalStorage<Scope>()

/** How many runtimes contain stray errors now. */
let open = 0
/** The loggers of runtimes that contain errors. Every runtime has its own logger, so a logger identifies its runtime. */
const containing = new WeakSet<Logger>()
/** `process.emit` before it was wrapped; undefined while it is not wrapped. */
let original: typeof process.emit | undefined

/**
 * Logs stray errors of the tools of a runtime instead of ending the process. Node announces them with `process.emit`,
 * so that is wrapped: a listener would change what happens to the errors of the application, even if it did nothing.
 * Returns a function that releases the wrapper; it is removed when the last runtime releases it.
 */
export function containStrayErrors(logger: Logger): () => void {
  containing.add(logger)
  open++
  if (!isWrapped()) {
    original = process.emit
    process.emit = emit as typeof process.emit
  }
  let released = false
  return () => {
    if (released) return
    released = true
    // If someone wrapped our wrapper it stays, and passes everything on.
    if (--open > 0 || !original || process.emit !== (emit as typeof process.emit)) return
    process.emit = original
    original = undefined
  }
}

const probe = Symbol('pawl')
let wasReached = false

/** Whether an event still passes our wrapper: a library may have restored a `process.emit` that it saved before. */
function isWrapped(): boolean {
  wasReached = false
  process.emit(probe as never)
  return wasReached
}

function emit(this: unknown, event: string | symbol, ...args: unknown[]): boolean {
  if (event === probe) return (wasReached = true)
  if (open > 0 && (event === 'unhandledRejection' || event === 'uncaughtException') && containError(event, args))
    return true // as if a listener had handled it
  return Reflect.apply(original as (...given: unknown[]) => boolean, this, [event, ...args])
}

/** False if the error does not belong to a tool of a runtime that contains errors. */
function containError(event: 'unhandledRejection' | 'uncaughtException', [error, origin]: unknown[]): boolean {
  const own = scope.getStore()
  if (!own || !containing.has(own.logger)) return false
  // With --unhandled-rejections=strict a rejection is announced as an exception first and as a rejection after it.
  if (event === 'uncaughtException' && origin === 'unhandledRejection') return true
  const { tool, callId, call, logger, who = 'A tool' } = own
  const what = event === 'uncaughtException' ? 'threw outside its body' : 'left a rejection unhandled'
  logger.error(`${who} ${what}; its call and all others continue`, { tool, callId, call, error })
  return true
}
