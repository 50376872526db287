// What a tool says about itself, and what recovery concludes from it.

export interface Hints {
  /** Changes nothing outside. */
  readonly readOnly?: boolean
  /** May destroy something that cannot be brought back. */
  readonly destructive?: boolean
  /** Doing it twice has the effect of doing it once. */
  readonly idempotent?: boolean
  /** Reaches beyond the host's own systems. */
  readonly openWorld?: boolean
}

/** `rerun`: an interrupted body may simply run again (recorded steps are not repeated). `stop`: it may not. */
export type OnCrash = 'rerun' | 'stop'

/** DUR-3: what the tool declares wins; else a tool that changes nothing, or nothing twice, may run again. */
export const onCrashOf = (tool: { readonly onCrash: OnCrash | undefined; readonly hints: Hints }): OnCrash =>
  tool.onCrash ?? (tool.hints.readOnly || tool.hints.idempotent ? 'rerun' : 'stop')
