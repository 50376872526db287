// The hook interface: host code that runs before and after a body, and when an outcome is shown to a model. Called by
// run-hooks.ts and calls/output/outcome-for-model.ts.

import { option, type OptionTable } from '../../core/check-options.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Json } from '../../core/tool-value.ts'
import type { ModelPart } from '../../models/outcome-to-model-parts.ts'
import type { ApprovalFacts } from '../../tools/tool.ts'

/** The call a hook is about. */
export interface HookFacts extends ApprovalFacts {
  /** Name of the tool. */
  readonly tool: string
  /** Its arguments as requested. */
  readonly input: Json
}

/** What a `before` hook returns: abort the turn, refuse the call, answer it, replace its arguments, or nothing. */
export type BeforeVerdict =
  | { readonly abort: string }
  | { readonly deny: string }
  | { readonly answer: unknown }
  | { readonly replace: unknown }
  | undefined
  | void

/** What an `after` hook returns: abort the turn, replace the outcome, or nothing to leave it as it is. */
export type AfterVerdict = { readonly abort: string } | { readonly replace: Outcome } | undefined | void

/** Replacement parts, or nothing to leave them unchanged. */
export type Projection = readonly ModelPart[] | undefined | void

/** Functions that run around the calls of all tools. */
export interface Hook {
  /** Shown in refusals; hooks with verdicts of equal strength are ordered by name. */
  readonly name: string
  /** Runs before the arguments are validated. The strictest verdict of all hooks wins. */
  readonly before?: (facts: HookFacts) => BeforeVerdict | Promise<BeforeVerdict>
  /** Runs when the call has an outcome, before it is recorded. */
  readonly after?: (facts: HookFacts, outcome: Outcome) => AfterVerdict | Promise<AfterVerdict>
  /**
   * Changes what a model reads, each time the outcome is shown to one. The outcome, the record and the feed are
   * unchanged. If it fails, the model reads the unchanged parts, so use `after` to remove what must never be shown.
   */
  readonly project?: (
    facts: HookFacts,
    outcome: Outcome,
    parts: readonly ModelPart[],
  ) => Projection | Promise<Projection>
}

export const hooksOption = option.listOf(
  option.nested({
    name: option.required(option.nonEmptyString),
    before: option.func,
    after: option.func,
    project: option.func,
  } satisfies OptionTable<Hook>),
)
