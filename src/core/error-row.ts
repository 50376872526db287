export interface ErrorRow {
  /** What an HTTP door answers. */
  readonly http: number
  /** Whether the same request may simply be sent again. */
  readonly retry: boolean
  /** What happened, in one sentence. */
  readonly says: string
  /** What to do next. */
  readonly next: string
}
