// What the two processes of a crash test say to each other.

import type { Outcome } from '../../core/outcome.ts'
import type { Answer } from '../../store/records/resolution.ts'
import type { CrashAt } from './crashing-store.ts'

/** Set in a child: the module of the tool is loaded there, and must not begin a crash test of its own. */
export const childMark = 'PAWL_CRASH_TEST_CHILD'

/** The place of the one call that every run makes. */
export const place = { tenant: 'default', session: 'crash-test', batch: 'crash-test', id: 'call' }

export interface Orders {
  readonly tool: string
  readonly input: unknown
  /** Where this run is kept: the child before it, if one died, used the same. */
  readonly store: { readonly sqlite: string } | { readonly postgres: unknown; readonly schema: string }
  readonly clock: { readonly from: number; readonly file: string }
  readonly secret: string
  readonly leaseMs: number
  readonly crashAt: CrashAt | null
}

/** Parent to child. */
export type Told = { readonly orders: Orders } | { readonly answer: Answer | null }

/** Child to parent. */
export type Said =
  | { readonly loaded: readonly string[] }
  /** The module or the runtime could not be brought up. */
  | { readonly broken: string }
  | { readonly asks: string }
  | { readonly ended: Outcome; readonly writes: readonly string[] }
