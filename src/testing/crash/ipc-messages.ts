// Messages between the parent and the child process of a crash test.

import type { Outcome } from '../../core/outcome.ts'
import type { Answer } from '../../store/records/wait-resolution.ts'
import type { CrashAt } from './crashing-store.ts'

/** Environment variable set in a child, so that a crash test in the loaded module fails instead of recursing. */
export const childEnvVariable = 'PAWL_CRASH_TEST_CHILD'

/** The position of the one call that every run makes. */
export const testCall = { tenant: 'default', session: 'crash-test', batch: 'crash-test', id: 'call' }

export interface Orders {
  readonly tool: string
  readonly input: unknown
  /** The store of this run; the child after a crash uses the same one. */
  readonly store: { readonly sqlite: string } | { readonly postgres: unknown; readonly schema: string }
  readonly clock: { readonly from: number; readonly file: string }
  readonly secret: string
  readonly leaseMs: number
  readonly crashAt: CrashAt | null
}

/** Parent to child. */
export type ParentMessage = { readonly orders: Orders } | { readonly answer: Answer | null }

/** Child to parent. */
export type ChildMessage =
  | { readonly loaded: readonly string[] }
  /** The module or the runtime failed to start. */
  | { readonly broken: string }
  | { readonly asks: string }
  | { readonly ended: Outcome; readonly writes: readonly string[] }
