// Parts that the handlers of the server share.

import type { Clock } from '../../core/clock.ts'
import type { CallAsk, Json, Logger, Runtime } from '../../index.ts'
import type { CallIdentities } from './call-identity.ts'
import type { ServerSecrets } from './caller-sessions.ts'
import type { ProgressFeed } from './progress-feed.ts'

export interface ServerParts {
  readonly runtime: Runtime
  readonly secrets: ServerSecrets
  readonly identities: CallIdentities
  readonly progress: ProgressFeed
  readonly openCalls: OpenCalls
  readonly clock: Clock
  readonly logger: Logger
  readonly patienceMs: number
  readonly heartbeatMs: number
  readonly taskAfterMs: number
}

/** A call as the server requests it from the session. */
export interface ServerCall extends CallAsk {
  readonly input: Json
  readonly meta: { readonly mcp: string }
}

interface OpenEntry {
  readonly call: ServerCall
  waiting: number
}

/** More requests are not remembered; the record has them too. */
const maxRemembered = 4_096

/** The calls of this process that were requested and not delivered, as they were requested. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenEntry>()

  remember(tenant: string, call: ServerCall): OpenEntry {
    const name = JSON.stringify([tenant, call.id])
    const entry = this.#calls.get(name) ?? { call, waiting: 0 }
    this.#calls.delete(name)
    this.#calls.set(name, entry)
    const oldest = this.#calls.size > maxRemembered ? this.#calls.keys().next().value : undefined
    if (oldest !== undefined) this.#calls.delete(oldest)
    return entry
  }

  get(tenant: string, id: string): ServerCall | undefined {
    return this.#calls.get(JSON.stringify([tenant, id]))?.call
  }

  forget(tenant: string, id: string): void {
    this.#calls.delete(JSON.stringify([tenant, id]))
  }
}
