// The sessions of callers, and the secret that signs request states and digests of arguments (decision 0050).

import { createHash, createHmac, randomBytes } from 'node:crypto'
import { canonicalJson } from '../../core/canonical-json.ts'
import { lengthPrefixed, maxNameLength } from '../../core/ids.ts'
import { type Json, PawlError, type Runtime, type Session } from '../../index.ts'
import type { McpCaller } from './exchange.ts'

/** Sessions whose values are secrets and bookkeeping of the MCP server. Programs and people do not reach them by HTTP. */
const internalPrefix = 'pawl:'
export const isInternalSession = (name: string): boolean => name.startsWith(internalPrefix)

/** Principals may be as long as a session id. */
const nameOf = (prefix: string, principal: string, suffix = ''): string => {
  const name = `${prefix}${principal}${suffix}`
  if (name.length <= maxNameLength) return name
  return `${prefix}sha256-${createHash('sha256').update(principal).digest('base64url')}${suffix}`
}

/** One for each principal of a tenant, so that a re-issued request finds its call. */
export const sessionOf = (runtime: Runtime, { principal, tenant }: McpCaller): Session =>
  runtime.session(nameOf('mcp:', principal), { tenant, principal })

/** Sessions that hold the undelivered calls of a principal. Writes to the values of one session are serialized. */
const parts = 16

export function undeliveredSession(runtime: Runtime, { principal, tenant }: McpCaller, key: string): Session {
  const part = key.charCodeAt(0) % parts
  return runtime.session(nameOf(`${internalPrefix}mcp-undelivered:`, principal, `:${part}`), { tenant, principal })
}

export class ServerSecrets {
  readonly #runtime: Runtime
  readonly #secrets = new Map<string, Promise<Buffer>>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** The secret of a tenant. All servers on a store share it: a retry may reach another one. */
  of(tenant: string): Promise<Buffer> {
    const known = this.#secrets.get(tenant)
    if (known) return known
    const secret = this.#read(tenant)
    this.#secrets.set(tenant, secret)
    secret.catch(() => this.#secrets.delete(tenant))
    return secret
  }

  async #read(tenant: string): Promise<Buffer> {
    const { values } = this.#runtime.session(`${internalPrefix}mcp-server`, { tenant })
    for (let tries = 0; tries < 3; tries++) {
      const stored = await values.get('secret')
      if (stored) return Buffer.from(stored.value as string, 'base64url')
      const made = randomBytes(32)
      try {
        await values.set('secret', made.toString('base64url'), { ifRevision: null })
        return made
      } catch (error) {
        // Another server was first.
        if (!(error instanceof PawlError) || error.code !== 'value_changed') throw error
      }
    }
    throw new PawlError('internal', 'The secret of the MCP server could not be stored.')
  }

  /** Names a tool with its arguments. It is keyed, because arguments may be guessed from a plain hash. */
  async digest(tenant: string, name: string, input: Json): Promise<string> {
    const content = lengthPrefixed('call', name, canonicalJson(input))
    return createHmac('sha256', await this.of(tenant))
      .update(content)
      .digest('base64url')
  }

  /** The id of a call that the client identifies. */
  async callIdFor(caller: McpCaller, key: string): Promise<string> {
    const content = lengthPrefixed('key', key)
    const digest = createHmac('sha256', await this.of(caller.tenant))
      .update(content)
      .digest('base64url')
    return `call_${digest}`
  }
}
