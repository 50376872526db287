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
  /** The stored entry may still be on its way. It is removed only after it was written. */
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
  readonly #delivered = new Set<string>()
  /** Entries on their way to the store, by the id of their call. */
  readonly #writing = new Map<string, Promise<void>>()

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
    if (known && !this.#delivered.has((await known).id)) return known
    // Another equal request may have come first while this one looked.
    const latest = this.#known.get(name)
    if (latest && latest !== known) return latest
    const made = this.#findOrCreate(caller, tool, content)
    this.#known.set(name, made)
    const done = (): void => void (this.#known.get(name) === made && this.#known.delete(name))
    made.then(({ stored }) => stored).then(done, done)
    return made
  }

  async #findOrCreate(caller: McpCaller, tool: Tool, content: string): Promise<CallIdentity> {
    const windowMs = tool.dedupeMs ?? undeliveredMs
    const { values } = undeliveredSession(this.#runtime, caller, content)
    for (let tries = 0; ; tries++) {
      const stored = await values.get(content)
      const entry = stored?.value as Entry | undefined
      if (entry && !this.#delivered.has(entry.call) && this.#now() - entry.at < windowMs)
        return { id: entry.call, content }
      const made: Entry = { call: `call_${crypto.randomUUID()}`, at: this.#now() }
      const write = async (): Promise<void> =>
        void (await this.#withRoom(caller, content, () =>
          values.set(content, made, { ifRevision: stored?.revision ?? null }),
        ))
      // Running it twice does no harm, so the entry need not be there before the call.
      if (tool.hints.readOnly) return { id: made.call, content, stored: this.#written(made.call, write()) }
      try {
        await write()
        return { id: made.call, content }
      } catch (error) {
        // Another server was first with an equal request.
        if (!(error instanceof PawlError) || error.code !== 'value_changed' || tries >= 3) throw error
      }
    }
  }

  #written(call: string, write: Promise<void>): Promise<void> {
    const stored = ignoring(write, 'value_changed')
    this.#writing.set(call, stored)
    const done = (): void => void this.#writing.delete(call)
    stored.then(done, done)
    return stored
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

  /** The result was delivered. With `dedupe`, an equal request still joins this call. */
  delivered(caller: McpCaller, tool: Tool | undefined, identity: Pick<CallIdentity, 'id' | 'content'>): void {
    if (tool?.dedupeMs === undefined) this.forget(caller, identity)
  }

  /** An equal request is a new call from now on. */
  forget(caller: McpCaller, { id, content }: Pick<CallIdentity, 'id' | 'content'>): void {
    this.#delivered.add(id)
    this.#remove(caller, { id, content }).then(
      () => this.#delivered.delete(id),
      (error: unknown) => this.#logger.error('The delivery of a result was not recorded', { call: id, error }),
    )
  }

  async #remove(caller: McpCaller, { id, content }: Pick<CallIdentity, 'id' | 'content'>): Promise<void> {
    // A short call can be delivered before its entry is written, which would then stay and be joined.
    await this.#writing.get(id)?.catch(() => {})
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
