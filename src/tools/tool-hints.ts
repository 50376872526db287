// The hints of a tool about its effects, and how recovery uses them.

import { option, type OptionTable } from '../core/check-options.ts'

/** What a tool does to the world. Policies, scheduling, recovery and retries read them. */
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

/** Hints must be booleans: the string 'false' would count as true. */
export const hintsOption = option.nested({
  readOnly: option.boolean,
  destructive: option.boolean,
  idempotent: option.boolean,
  openWorld: option.boolean,
} satisfies OptionTable<Hints>)

/** `rerun`: an interrupted body may run again (recorded steps are not repeated). `stop`: it may not. */
export type OnCrash = 'rerun' | 'stop'

/** The tool's own `onCrash`, or `rerun` for readOnly and idempotent tools. */
export const onCrashOf = (tool: { readonly onCrash: OnCrash | undefined; readonly hints: Hints }): OnCrash =>
  tool.onCrash ?? (tool.hints.readOnly || tool.hints.idempotent ? 'rerun' : 'stop')
