// Which call a request is (MCP-3). A client that lost its connection sends the request again under another JSON-RPC id.
// With an idempotency key the call is found by it. Without one the request joins an equal call of the same principal
// whose result was never delivered. The store keeps these calls until their delivery, so that they survive a restart.

import { type Json, type Logger, PawlError, type Runtime, type Tool } from '../../index.ts'
import { type ServerSecrets, undeliveredSession } from './caller-sessions.ts'
import type { McpCaller } from './exchange.ts'

/** The call of a request. */
export interface CallIdentity {
  /** Its idempotency key in the session, and the id that clients see. */
  readonly id: string
  /** Digest of tool and arguments; stored with the call, so that any server finds the entry of a delivered call. */
  readonly content: string
  /** The stored entry may still be on its way; the call must not end before it is there. */
  readonly stored?: Promise<void>
}

/** The entry of a call whose result was not delivered, or whose tool declares `dedupe`. */
interface Entry {
  readonly call: string
  readonly at: number
}

/** An equal request that comes later is a new call. */
const undeliveredMs = 24 * 60 * 60_000

export class CallIdentities {
  readonly #runtime: Runtime
  readonly #secrets: ServerSecrets
  readonly #now: () => number
  readonly #logger: Pick<Logger, 'error'>
  /** Requests whose entry is being written: equal ones join them. Later ones read the store, as other servers do. */
  readonly #known = new Map<string, Promise<CallIdentity>>()
  /** Ids of delivered calls whose entries are not removed yet. */
  readonly #delivered = new Map<string, string>()

  constructor(runtime: Runtime, secrets: ServerSecrets, now: () => number, logger: Pick<Logger, 'error'>) {
    this.#runtime = runtime
    this.#secrets = secrets
    this.#now = now
    this.#logger = logger
  }

  async of(caller: McpCaller, tool: Tool, input: Json, key: string | undefined): Promise<CallIdentity> {
    const content = await this.#secrets.digest(caller.tenant, tool.name, input)
    if (key !== undefined) return { id: await this.#secrets.callIdFor(caller, key), content }
    const name = nameOf(caller, content)
    const known = this.#known.get(name)
    if (known) return known
    const made = this.#findOrCreate(caller, tool, content)
    this.#known.set(name, made)
    const done = (): void => void this.#known.delete(name)
    made.then(({ stored }) => stored).then(done, done)
    return made
  }

  async #findOrCreate(caller: McpCaller, tool: Tool, content: string): Promise<CallIdentity> {
    const windowMs = tool.dedupeMs ?? undeliveredMs
    const { values } = undeliveredSession(this.#runtime, caller, content)
    for (let tries = 0; ; tries++) {
      const stored = await values.get(content)
      const entry = stored?.value as Entry | undefined
      const isDelivered = entry !== undefined && this.#delivered.get(nameOf(caller, content)) === entry.call
      if (entry && !isDelivered && this.#now() - entry.at < windowMs) return { id: entry.call, content }
      const made: Entry = { call: `call_${crypto.randomUUID()}`, at: this.#now() }
      const write = async (): Promise<void> =>
        void (await this.#withRoom(caller, content, () =>
          values.set(content, made, { ifRevision: stored?.revision ?? null }),
        ))
      // Running it twice does no harm, so the entry need not be there before the call.
      if (tool.hints.readOnly) return { id: made.call, content, stored: ignoring(write(), 'value_changed') }
      try {
        await write()
        return { id: made.call, content }
      } catch (error) {
        // Another server was first with an equal request.
        if (!(error instanceof PawlError) || error.code !== 'value_changed' || tries >= 3) throw error
      }
    }
  }

  /** Removes expired entries if the quota of values is reached. */
  async #withRoom<T>(caller: McpCaller, content: string, write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== 'values_full') throw error
      const { values } = undeliveredSession(this.#runtime, caller, content)
      const { entries } = await values.list({ limit: 1_000 })
      for (const { key, updatedAt } of entries)
        if (this.#now() - updatedAt >= undeliveredMs) await values.delete(key).catch(() => false)
      return write()
    }
  }

  /** The result was delivered, or the call was cancelled: an equal request is a new call from now on. */
  forget(caller: McpCaller, tool: Tool | undefined, { id, content }: Pick<CallIdentity, 'id' | 'content'>): void {
    if (tool?.dedupeMs !== undefined) return
    const name = nameOf(caller, content)
    this.#delivered.set(name, id)
    this.#remove(caller, { id, content }).then(
      () => this.#delivered.get(name) === id && this.#delivered.delete(name),
      (error: unknown) => this.#logger.error('The delivery of a result was not recorded', { call: id, error }),
    )
  }

  async #remove(caller: McpCaller, { id, content }: Pick<CallIdentity, 'id' | 'content'>): Promise<void> {
    const { values } = undeliveredSession(this.#runtime, caller, content)
    const stored = await values.get(content)
    // Otherwise an equal request has replaced it.
    if (stored && (stored.value as unknown as Entry).call === id)
      await ignoring(values.delete(content, { ifRevision: stored.revision }), 'value_changed')
  }
}

const nameOf = ({ tenant, principal }: McpCaller, content: string): string =>
  JSON.stringify([tenant, principal, content])

/** Waits for the work; an error with this code counts as done. */
async function ignoring(work: Promise<unknown>, code: string): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof PawlError) || error.code !== code) throw error
  }
}
