// Runs the calls of one model answer as a batch, with exactly one result per call. If calls only wait for people or
// external systems, the turn does not wait with them: when the user sends a message it continues with placeholders, and
// when another turn wants the session it ends with them. The results are delivered later.

import type { NewCall, Execution } from '../engine/engine.ts'
import type { CallPosition } from '../store/records/call-record.ts'
import { owedKey, type OwedRow, stepBatch } from '../store/records/conversation.ts'
import { abortsTurn, type Control } from '../core/outcome.ts'
import { fits } from '../core/size-limits.ts'
import type { Json } from '../core/tool-value.ts'
import type { CallPart, ResultPart } from '../models/message.ts'
import type { CallAsk, CallOutcome, OpenCall } from '../sessions/call-request.ts'
import { inheritedOptions, type Caller } from '../sessions/build-call-request.ts'
import type { Batch } from '../sessions/collect-outcomes.ts'
import type { DocumentWrite } from '../store/store.ts'
import type { Toolset } from '../tools/toolset.ts'
import { findInterruption } from './conversation/arrived-messages.ts'
import type { TurnHost } from './ports.ts'
import { collections } from '../store/collections.ts'

export interface CallsResult {
  readonly results: readonly ResultPart[]
  /** Calls that have a placeholder result. */
  readonly owed: readonly OwedResult[]
  /** Control result (finish, fail, switch frame) of the first call that has one. */
  readonly control: Control | null
  /** Ids of later calls whose control result was ignored. */
  readonly unheard: readonly string[]
  /** Calls wait, and another turn wants the session: this turn ends. */
  readonly handedOver: boolean
  /** All calls were invalid. */
  readonly invalid: boolean
  /** Names of tools called with invalid arguments. */
  readonly invalidArguments: readonly string[]
}

/** Index of the call, and a function that builds its row from the id that the model knows. */
export type OwedResult = readonly [number, (shown: string | undefined) => DocumentWrite]

export interface StepCalls {
  readonly step: number
  readonly calls: readonly CallPart[]
  readonly tools: Toolset
  /** Names of the available tools; null for all of the session's. */
  readonly within: readonly string[] | null
  readonly parallel: boolean
  /** Name of the frame. */
  readonly frame: string
  readonly backgroundMs: number | null
  readonly signal: AbortSignal
}

export async function runCalls(host: TurnHost, execution: Execution, step: StepCalls): Promise<CallsResult> {
  const { position } = execution.request
  const maxCalls = host.sizes.batch
  const accepted = step.calls.slice(0, maxCalls)
  const answers = step.parallel
    ? await runBatch(host, execution, step, accepted, stepBatch(position.id, step.step))
    : await runSequentially(host, execution, step, accepted)
  return collectResults(answers, step.calls)
}

type Answer = CallOutcome | OpenCall
interface CallAnswer {
  readonly answer: Answer
  readonly position: CallPosition
  readonly handedOver: boolean
}

async function runSequentially(
  host: TurnHost,
  execution: Execution,
  of: StepCalls,
  calls: readonly CallPart[],
): Promise<CallAnswer[]> {
  const answers: CallAnswer[] = []
  for (const [order, call] of calls.entries()) {
    answers.push(
      ...(await runBatch(host, execution, of, [call], stepBatch(execution.request.position.id, of.step, order))),
    )
    // A call that aborts the turn prevents the next one, as in a batch.
    const { answer, handedOver } = answers.at(-1) as CallAnswer
    if (handedOver || (!isOpen(answer) && abortsTurn(answer))) break
  }
  return answers
}

async function runBatch(
  host: TurnHost,
  execution: Execution,
  { tools, within, frame: frameName, backgroundMs, signal }: StepCalls,
  calls: readonly CallPart[],
  batch: string,
): Promise<CallAnswer[]> {
  const { position, principal } = execution.request
  const caller: Caller = {
    tenant: position.tenant,
    session: position.session,
    principal,
    ...inheritedOptions(execution.options),
    frame: frameName,
  }
  // Meta that is too large for the call record is left out; the message keeps it for the provider.
  const fitsInCall = (meta: CallPart['meta']): boolean =>
    meta !== undefined && fits(JSON.stringify(meta), host.sizes.arguments)
  const requests = calls.map(({ id, name, input, meta }): CallAsk => ({
    id,
    name,
    input,
    ...(fitsInCall(meta) ? { meta: meta as Json } : {}),
  }))
  const started = host.batches.start(caller, requests, {
    tools,
    batch,
    turn: position.id,
    ...(within === null ? {} : { within }),
    onFailure: 'continue',
    signal,
    loadSecrets: coalesced(() => host.knownSecrets.refresh(position)),
    receivesNotices: true,
    ...(backgroundMs === null ? {} : { backgroundMs }),
  })
  // No slot is held while the calls run: they are recorded, and a worker that resumes the turn joins them.
  const { answers, handedOver } = await execution.idleWhile(() => waitForBatch(host, execution, started))
  return answers.map((answer, order) => ({
    answer,
    position: (started.requests[order] as NewCall).position,
    handedOver,
  }))
}

/** Coalesces concurrent requests into one load that starts after all of them were made. */
function coalesced(load: () => Promise<void>): () => Promise<void> {
  let next: Promise<void> | null = null
  return () =>
    (next ??= Promise.resolve().then(() => {
      next = null
      return load()
    }))
}

interface BatchState {
  readonly answers: readonly Answer[]
  readonly handedOver: boolean
}

/** All outcomes, or the current state once something interrupts the turn and every open call waits. */
async function waitForBatch(host: TurnHost, execution: Execution, batch: Batch): Promise<BatchState> {
  let removeListeners = (): void => {}
  const interrupted = new Promise<'interrupted'>((resolve, reject) => {
    const offStop = execution.onStop((why) => 'over' in why && reject(why.over))
    const check = (): void =>
      void findInterruption(host, execution.request).then((found) => found && resolve('interrupted'), reject)
    const offMessage = host.messageWatcher.listen(execution.request.position, check)
    removeListeners = () => {
      offStop()
      offMessage()
    }
    check()
  })
  interrupted.catch(() => {})
  try {
    const first = await Promise.race([batch.outcomes, interrupted])
    if (first !== 'interrupted') return { answers: first, handedOver: false }
    const answers = await host.records.waitUntil(batch, 'waiting')
    if (!answers.some(isOpen)) return { answers, handedOver: false }
    // What interrupted the turn may be gone by now: the later turn was cancelled while a call was still busy.
    const interruption = await findInterruption(host, execution.request)
    if (interruption === null) return await waitForBatch(host, execution, batch)
    return { answers, handedOver: interruption === 'turn' }
  } finally {
    removeListeners()
  }
}

function collectResults(answers: readonly CallAnswer[], calls: readonly CallPart[]): CallsResult {
  const controls: { id: string; control: Control }[] = []
  const results = calls.map(({ id: callId, name }, order): ResultPart => {
    const { answer } = answers[order] ?? {}
    if (!answer) return { callId, name, ...notRun(answers) }
    const control = controlOf(answer)
    if (control) controls.push({ id: callId, control })
    return { callId, name, status: answer.status, parts: answer.parts }
  })
  const [first, ...others] = controls
  return {
    results,
    owed: answers.flatMap(({ answer, position }, order): OwedResult[] =>
      isOpen(answer) ? [[order, owedRow(position, answer.name)]] : [],
    ),
    control: first?.control ?? null,
    unheard: others.map(({ id }) => id),
    handedOver: answers.some(({ handedOver }) => handedOver),
    invalid: answers.length > 0 && answers.every(({ answer }) => isInvalidCall(answer)),
    invalidArguments: answers.flatMap(({ answer }) => (hasInvalidArguments(answer) ? answer.name : [])),
  }
}

const isOpen = (answer: Answer): answer is OpenCall => answer.status === 'waiting' || answer.status === 'running'

/** The row that records that a result is still to be delivered. */
export const owedRow =
  (position: CallPosition, name: string): OwedResult[1] =>
  (shown) => {
    const { batch, id, occurrence } = position
    const row: OwedRow = { batch, id, occurrence, name, ...(shown === undefined || shown === id ? {} : { shown }) }
    return collections.resultOwed.write(row, position, owedKey(position))
  }

function notRun(answers: readonly CallAnswer[]): Pick<ResultPart, 'status' | 'parts'> {
  const textPart = (text: string): ResultPart['parts'] => [{ type: 'text', text }]
  const { answer: last, handedOver } = answers.at(-1) ?? {}
  if (handedOver || (last && !isOpen(last) && abortsTurn(last)))
    return {
      status: 'cancelled',
      parts: textPart('[Tool execution cancelled]\nThe turn was ended before it; it was not started'),
    }
  return {
    status: 'failure',
    parts: textPart(
      `[Tool execution failed]\nAt most ${answers.length} calls are taken at once; this one was not run.`,
    ),
  }
}

const hasInvalidArguments = (answer: Answer): boolean =>
  answer.status === 'failure' && answer.failure.code === 'invalid_arguments'

const isInvalidCall = (answer: Answer): boolean =>
  hasInvalidArguments(answer) || (answer.status === 'failure' && answer.failure.code === 'tool_unavailable')

/** A hook, an expired wait or a tool may end the turn. */
function controlOf(answer: Answer): Control | null {
  if (isOpen(answer)) return null
  const aborted = abortsTurn(answer)
  if (aborted) return { fail: aborted }
  return answer.status === 'success' ? (answer.control ?? null) : null
}
