// Who writes: guards say it where a body does.

import type { Guard } from './store.ts'

/** The call that must be held for the write to count; '' where the program writes. */
export const fencedBy = (guards: readonly Guard[]): string => guards.find((guard) => guard.kind === 'holds')?.call ?? ''
