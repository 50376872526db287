// What is known of connections where a body runs: what there is, and what one execution was told.

import { Redactor } from '../../security/redact.ts'
import type { Connection } from '../../tools/context/context.ts'

/** A connection, and a mark that no other one has. */
export interface KnownConnection extends Connection {
  readonly mark: string
}

/** What one execution of a body was told. */
export interface Connections {
  /** By provider: the mark of what it saw; '' for none. */
  readonly seen: Map<string, string>
  /** And secret answers: what its result must not hold. */
  readonly tokens: string[]
}

/** Shorter ones would take words out of ordinary text. */
const shortest = 4

/** The same without what was told in confidence. */
export const untold = <T>(value: T, told: Connections | null): T =>
  told === null || told.tokens.length === 0 ? value : new Redactor(told.tokens, undefined, shortest).deep(value)
