// The hints of a tool about its effects, and how recovery uses them.

export interface Hints {
  /** Has no side effects. */
  readonly readOnly?: boolean
  /** May destroy data irrecoverably. */
  readonly destructive?: boolean
  /** Running it twice has the same effect as running it once. */
  readonly idempotent?: boolean
  /** Reaches beyond the host's own systems. */
  readonly openWorld?: boolean
}

const hintNames = ['readOnly', 'destructive', 'idempotent', 'openWorld'] as const

/** Hints must be booleans: the string 'false' would count as true. */
export function hintsOf(input: Hints | undefined, refuse: (why: string) => never): Hints {
  const hints = { ...input }
  for (const [name, value] of Object.entries(hints)) {
    if (!hintNames.includes(name as 'readOnly'))
      refuse(`hints has no field '${name}'; the fields are ${hintNames.join(', ')}`)
    if (value !== undefined && typeof value !== 'boolean')
      refuse(`hints.${name} is ${JSON.stringify(value)}, not true or false`)
  }
  return Object.freeze(hints)
}

/** `rerun`: an interrupted body may run again (recorded steps are not repeated). `stop`: it may not. */
export type OnCrash = 'rerun' | 'stop'

/** The tool's own `onCrash`, or `rerun` for readOnly and idempotent tools. */
export const onCrashOf = (tool: { readonly onCrash: OnCrash | undefined; readonly hints: Hints }): OnCrash =>
  tool.onCrash ?? (tool.hints.readOnly || tool.hints.idempotent ? 'rerun' : 'stop')
