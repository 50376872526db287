// The part of a store that a session owns. Nearly every read and write names one.

export interface Scope {
  readonly tenant: string
  /** '' for what belongs to the whole tenant. */
  readonly session: string
}
