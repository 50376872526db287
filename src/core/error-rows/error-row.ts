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
  /** The detail given where the error is thrown is a complete sentence, and it is the whole message. */
  readonly detailOnly?: true
}
