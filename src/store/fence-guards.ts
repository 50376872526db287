// Finds the call that writes a change, from the guards of the change.

import type { Guard } from './store.ts'

/** The call whose fence guards the write; '' if the write does not come from a tool body. */
export const fencedBy = (guards: readonly Guard[]): string => guards.find((guard) => guard.kind === 'holds')?.call ?? ''
