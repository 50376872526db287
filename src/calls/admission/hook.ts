// What a hook is: the host's word about a call before and after its body, and about what the model reads of it (CALL-8). run-hooks.ts and
// calls/output/project-outcome.ts ask them.

import { PawlError } from '../../core/errors.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Json } from '../../core/value.ts'
import type { ModelPart } from '../../models/model-parts.ts'

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

/** Other parts, or nothing: then they stay as they are. */
export type Projection = readonly ModelPart[] | undefined | void

export interface Hook {
  /** Told in refusals, and the tie-breaker between hooks of equal strength. */
  readonly name: string
  readonly before?: (facts: HookFacts) => BeforeVerdict | Promise<BeforeVerdict>
  readonly after?: (facts: HookFacts, outcome: Outcome) => AfterVerdict | Promise<AfterVerdict>
  /**
   * Changes what the model reads, whenever the outcome is shown to one; the outcome itself, the record and the feed keep all of it. If it
   * fails, the model reads what it would read without it: what must never get out is for `after` to replace.
   */
  readonly project?: (
    facts: HookFacts,
    outcome: Outcome,
    parts: readonly ModelPart[],
  ) => Projection | Promise<Projection>
}

/** Throws config_invalid. */
export function checkHooks(hooks: readonly Hook[]): readonly Hook[] {
  for (const [index, hook] of hooks.entries()) {
    const wrong = (why: string): never => {
      throw new PawlError('config_invalid', `hooks[${index}]: ${why}.`)
    }
    if (typeof hook?.name !== 'string' || hook.name === '') wrong('it needs a name')
    for (const when of ['before', 'after', 'project'] as const)
      if (hook[when] !== undefined && typeof hook[when] !== 'function') wrong(`${when} is not a function`)
  }
  return hooks
}
