// The connections and secrets that one execution of a body received, and the redaction of those secrets.

import { Redactor } from '../../security/redact.ts'

/** Connections and secrets that one execution of a body has received. */
export interface UsedConnections {
  /** By provider: the mark of the connection that the body read; '' if there was none. */
  readonly seen: Map<string, string>
  /** Tokens and secret answers that the result must not contain. */
  readonly tokens: string[]
}

/** Shorter secrets are not removed, because they would match ordinary text. */
const minSecretChars = 4

/** The value without the secrets that the body received. */
export const withoutUsedSecrets = <T>(value: T, used: UsedConnections | null): T =>
  used === null || used.tokens.length === 0 ? value : new Redactor(used.tokens, undefined, minSecretChars).deep(value)
