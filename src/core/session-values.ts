// WORDS: what a session keeps by name beside its calls: values, which anybody may read, and secrets, which are handed to code in bodies alone.

import type { Json } from './value.ts'

export interface ValueStat {
  readonly key: string
  /** Of this very write: no other write of the session has it, not even after the key was deleted. */
  readonly revision: number
  /** Of the key and of the value's JSON. */
  readonly bytes: number
  readonly updatedAt: number
}

export interface ValueEntry extends ValueStat {
  readonly value: Json
}

export interface ValuePage {
  readonly entries: readonly ValueStat[]
  /** There are others after the last one: give its key as `after`. */
  readonly more: boolean
}

export interface ListValues {
  /** Only keys that begin with it. */
  readonly prefix?: string
  /** The key of the last entry that was seen. */
  readonly after?: string
  /** 200 if left out, 1,000 at most. */
  readonly limit?: number
}

/** JSON values by key. Every change happens whole or not at all, and changes of one session follow each other. */
export interface SessionValues {
  get(key: string): Promise<ValueEntry | undefined>
  /** `ifRevision`: the one that is replaced; null: there must be none. Left out, whatever stands there is replaced. */
  set(key: string, value: unknown, options?: { readonly ifRevision?: number | null }): Promise<ValueStat>
  /** False if there is nothing. */
  delete(key: string, options?: { readonly ifRevision?: number }): Promise<boolean>
  /** By key, without the values. */
  list(options?: ListValues): Promise<ValuePage>
}

/** Of one session. */
export const mostSecrets = 200

/** What may be known of a secret: never its value. */
export interface SecretStat {
  readonly name: string
  readonly setAt: number
  /** Set by the program (session.secrets), which alone may change it then; or in a body (ctx.secrets). */
  readonly by: 'host' | 'body'
  /** Tools whose bodies get it; null for all of the session. */
  readonly tools: readonly string[] | null
}

/** Texts that are sealed at rest, whatever else is, and shown to nobody. */
export interface SessionSecrets {
  /** In place of the one before. `tools`: only bodies of these get it. */
  set(name: string, value: string, options?: { readonly tools?: readonly string[] }): Promise<SecretStat>
  /** False if there is none. */
  delete(name: string): Promise<boolean>
  has(name: string): Promise<boolean>
  /** By name. */
  list(): Promise<readonly SecretStat[]>
}

/** The same in a body, and the values. */
export interface BodySecrets extends Omit<SessionSecrets, 'set'> {
  /** Throws secret_reserved where the program has set it. */
  set(name: string, value: string): Promise<SecretStat>
  /** The value; undefined if there is none for this tool. From now on it is taken out of all that is shown. */
  get(name: string): Promise<string | undefined>
  /** The value that an argument `secret:<name>` stands for. What is no such reference, or of no secret, fails the call in words for the model. */
  resolve(reference: unknown): Promise<string>
}
