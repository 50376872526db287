// Decides whether the body may run: recorded decisions of people, the recovery of an interrupted attempt, and the
// current policy, which may request approval. Called by the pipeline after validation.

import type { ToSettle } from '../../engine/engine.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { ValidatedInput } from '../admission/call-input.ts'
import { noteOfEdit, type Permit } from './approval-request.ts'
import type { StageContext } from '../run-host-callback.ts'
import { connectionDecision } from './request-connection.ts'
import { readFinding, askIfUnknown } from './ask-about-unknown-outcome.ts'
import { checkPolicy } from './check-policy.ts'

/**
 * `recovered`: the end of an interrupted call without another run. Synchronous for a new call that needs no approval.
 */
export function authorize(
  stage: StageContext,
  input: ValidatedInput,
  recovered: ToSettle | null,
): MaybePromise<Permit> {
  // Only a claimed call can have been interrupted or have an earlier request.
  return recovered || stage.execution.claimed
    ? authorizeRecovered(stage, input, recovered)
    : authorizeByPolicy(stage, input)
}

/** A stopped call requests no approval; a later stage ends it. */
const authorizeByPolicy = (stage: StageContext, input: ValidatedInput): MaybePromise<Permit> =>
  stage.execution.stopped ? { input } : checkPolicy(stage, input)

async function authorizeRecovered(
  stage: StageContext,
  input: ValidatedInput,
  recovered: ToSettle | null,
): Promise<Permit> {
  const connection = await connectionDecision(stage)
  const end = connection ?? (recovered ? await askIfUnknown(stage, input, recovered) : await readFinding(stage, input))
  if (!end) return authorizeByPolicy(stage, input)
  return 'park' in end ? end : withNote(end, noteOfEdit(stage, input))
}

/** Adds a note for the model about what people changed. */
export const withNote = (result: ToSettle, note: string | undefined): ToSettle =>
  note === undefined ? result : { settle: { ...result.settle, note } }
