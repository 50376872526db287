// JOURNAL: what the terms of a wait say of what it asks; approval-request.ts has the rest.

export type AskKind =
  /** May it run? */
  | 'approval'
  /** Nobody knows what an interrupted attempt did: somebody finds out. */
  | 'finding'
  /** A provider has to be connected. */
  | 'connection'
  | 'question'
  /** Not for people: the caller runs the tool and posts its result. */
  | 'client'

/** What is asked, with the wait. What nobody but the call needs is left out. */
export interface AskTerms {
  readonly kind: AskKind
  /** Of what would run: the answer is to this and to nothing else. */
  readonly fingerprint?: string
  /** Of the tool as it was when somebody was asked. */
  readonly tool?: string
  /** Of a connection. */
  readonly provider?: string
  /** The answer is kept sealed, and the model never reads it. */
  readonly secret?: true
  /** What silence means, recorded form. */
  readonly default?: string
  /** What the outcome is if nobody finds out more, recorded form. */
  readonly unknown?: string
  /** An interrupted once-step cannot be run again. */
  readonly final?: true
}
