// What a hook is: the host's word about a call before and after its body (CALL-8). hooks.ts asks them.

import type { Outcome } from '../kernel/outcome.ts'
import type { Json } from '../kernel/value.ts'

export interface HookFacts {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
  readonly callId: string
  readonly tool: string
  readonly input: Json
}

export type BeforeVerdict =
  | { readonly abort: string }
  | { readonly deny: string }
  | { readonly answer: unknown }
  | { readonly replace: unknown }
  | undefined
  | void

export type AfterVerdict = { readonly abort: string } | { readonly replace: Outcome } | undefined | void

export interface Hook {
  /** Told in refusals, and the tie-breaker between hooks of equal strength. */
  readonly name: string
  readonly before?: (facts: HookFacts) => BeforeVerdict | Promise<BeforeVerdict>
  readonly after?: (facts: HookFacts, outcome: Outcome) => AfterVerdict | Promise<AfterVerdict>
}
