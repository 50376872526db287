// The stages of a turn that read input: the start of the turn, and input that arrived since the last answer. Called by
// turn-loop.ts.

import { isWoken } from '../store/records/conversation.ts'
import type { Outcome } from '../core/outcome.ts'
import { callsIn } from '../models/message.ts'
import { isInBackground } from '../tasks/is-background.ts'
import { arrivals, hasNewUserMessage } from './conversation/arrived-messages.ts'
import { deliverNotice } from './conversation/deliver-notice.ts'
import { callsOnRecord, repairResults } from './conversation/repair-missing-results.ts'
import { userMessageParts } from './conversation/user-message.ts'
import type { TurnRun } from './running-turn.ts'
import { nothingToAnswer, outputInvalid, tooManyAnswers } from './turn-failures.ts'
import { outputNotice, readOutput } from './turn-output.ts'

/** Appends the user's message and pending input. Returns a failure if the turn's frame no longer exists. */
export async function beginTurn(run: TurnRun): Promise<Outcome | null> {
  const { execution, host, tools } = run
  await host.knownSecrets.refresh(execution.request.position)
  // Loading has a short timeout, and a failed provider connection is logged there.
  await Promise.allSettled(tools.set.entries.flatMap(({ tool, remote }) => (tool || !remote ? [] : [remote.load()])))
  run.mayRetract &&= await mayHaveAsked(run)
  const failed = run.restore()
  if (failed || run.hasBegun) return failed
  await repairPreviousTurn(run)
  const { message } = run.request
  await appendArrivals(run, true)
  if (message !== null)
    run.append({ role: 'user', parts: userMessageParts(message, execution, host) }, [], { opensTurn: true })
  return null
}

/** The outcome if the last answer is final; null if the turn continues. */
export async function endIfAnswered(run: TurnRun): Promise<Outcome | null> {
  const { last } = run
  if (last?.message.role !== 'assistant' || callsIn(last.message).length > 0) return null
  // At a limit, a message that arrived with the last answer is left to the next turn.
  const mayContinue = run.step < run.limits.steps && !run.overCost
  if (mayContinue && last.finish === 'paused') return null
  if (mayContinue && (await hasNewUserMessage(run.host, run.execution.request.position))) return null
  const { output: schema } = run.request
  if (!schema) return run.success('answer', null)
  const output = readOutput(last, schema)
  if ('value' in output) return run.success('answer', null, output.value)
  const invalidOutput = run.invalidOutputs + 1
  if (!mayContinue || invalidOutput >= run.limits.invalid) return outputInvalid(output.problem)
  run.append(outputNotice(schema, output.problem), [], { invalidOutput })
  return null
}

export const checkLimits = (run: TurnRun): Outcome | null =>
  run.step >= run.limits.steps ? tooManyAnswers(run.step) : run.overCost

/** Appends pending input; ends the turn if there is nothing for the model to answer. */
export async function receiveInput(run: TurnRun): Promise<Outcome | null> {
  // beginTurn has already appended it for the first answer.
  if (run.step > 0) await appendArrivals(run, false)
  if ((run.history.forModel().at(-1)?.role ?? 'assistant') !== 'assistant' || run.last?.finish === 'paused') return null
  // Another turn has read the input this one was woken for.
  return isWoken(run.id) ? run.success('answer', null) : nothingToAnswer()
}

async function appendArrivals(run: TurnRun, isFirst: boolean): Promise<void> {
  const { execution, host, history, canReadOutput } = run
  for (const each of await arrivals(host, execution, { isFirst, canReadOutput })) {
    const more = each.secret ? { secret: each.secret } : {}
    if (each.notice === undefined) run.append(each.message, each.rows, more)
    else await deliverNotice(host, execution, each, history, () => run.nextMessage(each.message, more))
  }
}

/** Adds recorded results for calls of a previous turn that ended before reading them. */
async function repairPreviousTurn(run: TurnRun): Promise<void> {
  const { last } = run.history
  if (last?.message.role !== 'assistant' || callsIn(last.message).length === 0) return
  const { results, owed } = await repairResults(run.host, run.execution.request.position, last, run.canReadOutput)
  run.append({ role: 'tool', results })
  run.recordOwed(owed)
}

/**
 * True if a lost execution may have requested the next answer and streamed deltas of it. Nothing is written before a
 * model request, because that would cost a sync per answer, so this is inferred from what must have happened first.
 */
async function mayHaveAsked({ host, execution, last }: TurnRun): Promise<boolean> {
  const { position } = execution.request
  if (last?.message.role !== 'assistant' || callsIn(last.message).length === 0) return true
  // A new user message ends the wait for calls.
  if (await hasNewUserMessage(host, position)) return true
  const calls = await callsOnRecord(host, position, last)
  if (calls[0] === undefined) return false
  for (const call of calls) {
    // Calls beyond the batch limit are never recorded, and the turn does not wait for background calls.
    if (call && call.state !== 'settled' && !(await isInBackground(host.store, position, call.uid))) return false
  }
  return true
}
