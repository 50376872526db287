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

const names = ['readOnly', 'destructive', 'idempotent', 'openWorld'] as const

/** Believed as they stand, so they must stand as true or false: a text 'false' would count as said. */
export function hintsOf(given: Hints | undefined, wrong: (why: string) => never): Hints {
  const hints = { ...given }
  for (const [name, said] of Object.entries(hints)) {
    if (!names.includes(name as 'readOnly')) wrong(`there is no hint '${name}'; there are ${names.join(', ')}`)
    if (said !== undefined && typeof said !== 'boolean')
      wrong(`hints.${name} is ${JSON.stringify(said)}, not true or false`)
  }
  return Object.freeze(hints)
}

/** `rerun`: an interrupted body may simply run again (recorded steps are not repeated). `stop`: it may not. */
export type OnCrash = 'rerun' | 'stop'

/** DUR-3: what the tool declares wins; else a tool that changes nothing, or nothing twice, may run again. */
export const onCrashOf = (tool: { readonly onCrash: OnCrash | undefined; readonly hints: Hints }): OnCrash =>
  tool.onCrash ?? (tool.hints.readOnly || tool.hints.idempotent ? 'rerun' : 'stop')
