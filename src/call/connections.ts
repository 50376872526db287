// What is known of connections where a body runs: what there is, and what one execution was told.

import type { Connection } from '../tool/context.ts'

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
