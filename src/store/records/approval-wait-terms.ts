// The part of a wait's terms that says what is asked (see approval-request.ts).

export type AskKind =
  /** Whether the call may run. */
  | 'approval'
  /** An interrupted attempt has an unknown outcome: a person finds out what it did. */
  | 'finding'
  /** A provider must be connected. */
  | 'connection'
  | 'question'
  /** Not for people: the client runs the tool and posts its result. */
  | 'client'

/** The request, stored with the wait. Data that only people need is in the inbox item. */
export interface AskTerms {
  readonly kind: AskKind
  /** Fingerprint of the exact call: the answer is valid for this call only. */
  readonly fingerprint?: string
  /** Fingerprint of the tool at the time of the request. Read by workers of earlier versions of Pawl only. */
  readonly tool?: string
  /** For kind `connection`: the provider. */
  readonly provider?: string
  /** The answer is stored sealed, and the model never sees it. */
  readonly secret?: true
  /** Answer used after a timeout, in recorded form. */
  readonly default?: string
  /** Outcome used if the question is not resolved, in recorded form. */
  readonly unknown?: string
  /** A once-step was interrupted, so the call cannot be run again. */
  readonly final?: true
}
