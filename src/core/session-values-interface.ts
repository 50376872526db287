// The interfaces of session values (readable by any caller) and session secrets (readable only by tool bodies).

import type { Json } from './tool-value.ts'

/** Facts about a value. */
export interface ValueStat {
  /** The key. */
  readonly key: string
  /** Unique per write in the session; never reused, even after the key was deleted. */
  readonly revision: number
  /** Size of the key plus the value as JSON. */
  readonly bytes: number
  /** When it was last set, in milliseconds since 1970. */
  readonly updatedAt: number
}

/** A value with its key and version. */
export interface ValueEntry extends ValueStat {
  /** The value. */
  readonly value: Json
}

/** A page of keys. */
export interface ValuePage {
  /** Keys with facts about their values, sorted by key. */
  readonly entries: readonly ValueStat[]
  /** True if there are further entries. Pass the key of the last entry as `after` to read them. */
  readonly more: boolean
}

/** Which keys values.list() returns. Default: all, one page. */
export interface ListValues {
  /** Only keys that start with this. */
  readonly prefix?: string
  /** The key of the last entry of the previous page. */
  readonly after?: string
  /** Default 200, maximum 1,000. */
  readonly limit?: number
}

/** JSON values by key. Every change is atomic, and the changes of one session are serialized. */
export interface SessionValues {
  /** The value and its version; undefined if the key is not set. */
  get(key: string): Promise<ValueEntry | undefined>
  /** `ifRevision`: the revision to replace; null if the key must not exist yet. Default: replace any revision. */
  set(key: string, value: unknown, options?: { readonly ifRevision?: number | null }): Promise<ValueStat>
  /** False if the key does not exist. */
  delete(key: string, options?: { readonly ifRevision?: number }): Promise<boolean>
  /** Ordered by key, without the values. */
  list(options?: ListValues): Promise<ValuePage>
}

/** Limit per session. */
export const maxSecrets = 200

/** Metadata of a secret, without its value. */
export interface SecretStat {
  /** Name of the secret. */
  readonly name: string
  /** When it was last set, in milliseconds since 1970. */
  readonly setAt: number
  /** 'host': set by the host program (session.secrets), and only it may change it. 'body': set by ctx.secrets. */
  readonly by: 'host' | 'body'
  /** Tools whose bodies may read it; null for all tools of the session. */
  readonly tools: readonly string[] | null
}

/** Secret strings. Always encrypted at rest, and redacted from everything that is shown. */
export interface SessionSecrets {
  /** Replaces an existing secret. `tools`: only bodies of these tools may read it. */
  set(name: string, value: string, options?: { readonly tools?: readonly string[] }): Promise<SecretStat>
  /** False if the secret does not exist. */
  delete(name: string): Promise<boolean>
  /** Whether a secret with this name is set. */
  has(name: string): Promise<boolean>
  /** Ordered by name. */
  list(): Promise<readonly SecretStat[]>
}

/** ctx.secrets: like session.secrets, with access to the values. */
export interface BodySecrets extends Omit<SessionSecrets, 'set'> {
  /** Throws secret_reserved if the host program has set this secret. */
  set(name: string, value: string): Promise<SecretStat>
  /**
   * The value; undefined if this tool has no such secret. From then on it is redacted from everything that is shown.
   */
  get(name: string): Promise<string | undefined>
  /** The value behind an argument `secret:<name>`. Anything else fails the call with a message for the model. */
  resolve(reference: unknown): Promise<string>
}
