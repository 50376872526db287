// One row of the error table (errors.ts).

export interface ErrorRow {
  /** HTTP status of the response. */
  readonly http: number
  /** True if the same request may be sent again unchanged. */
  readonly retry: boolean
  /** One sentence: what happened. */
  readonly summary: string
  /** One or two sentences: the next step for the caller. */
  readonly next: string
  /** The detail of the call site is a complete sentence about the wrong value; it alone is the message. */
  readonly detailOnly?: true
}
