/** The rules of ctx, as context-methods.ts keeps them. */
export interface Inside {
  /** Not in a step, and not when the attempt is over. */
  leaf(what: string): void
  /** One more entry of the journal. */
  entry(): void
  needsRerun(what: string): void
  outside<T>(wait: () => Promise<T>): Promise<T>
}
