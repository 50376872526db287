// The calls of one answer: run as one batch, each with exactly one result for the model. Should the user say something while some of them wait for
// people or the outside, the turn goes on: placeholders stand for those, and what comes of them is told later (POL-7).

import type { Asked, Execution } from '../engine/engine.ts'
import type { CallPosition } from '../store/records/call-record.ts'
import { owedName, type OwedRow, stepBatch } from '../store/records/conversation.ts'
import { abortsTurn, type Control } from '../core/outcome.ts'
import { frame } from '../core/ids.ts'
import { fits } from '../core/size-limits.ts'
import type { Json } from '../core/value.ts'
import type { CallPart, ResultPart } from '../models/message.ts'
import type { CallAsk, CallOutcome, OpenCall } from '../sessions/call-request.ts'
import { askingOf, type Place } from '../sessions/call-record.ts'
import type { Batch } from '../sessions/collect-outcomes.ts'
import type { Change } from '../store/store.ts'
import type { Toolset } from '../tools/toolset.ts'
import { isSaid } from './conversation/arrivals.ts'
import type { TurnHost } from './ports.ts'

export interface Ran {
  readonly results: readonly ResultPart[]
  /** Calls for which placeholders stand. */
  readonly owed: readonly Owed[]
  /** What the calls made of the turn: the first in their order that says something. */
  readonly control: Control | null
  /** Others had something to say as well, and were not heard: their ids. */
  readonly unheard: readonly string[]
  /** All of them had arguments that were not valid. */
  readonly invalid: boolean
  /** Tools whose arguments were not valid, by name. */
  readonly mistaken: readonly string[]
}

/** Where it stands among the calls, and its row: with its id as the model knows it. */
export type Owed = readonly [number, (shown: string | undefined) => NonNullable<Change['documents']>[number]]

export interface CallsOfStep {
  readonly step: number
  readonly calls: readonly CallPart[]
  readonly tools: Toolset
  /** Which they are, by name; null for all of the session's. */
  readonly within: readonly string[] | null
  readonly parallel: boolean
  /** By name. */
  readonly frame: string
  readonly backgroundMs: number | null
  readonly signal: AbortSignal
}

export async function runCalls(host: TurnHost, execution: Execution, of: CallsOfStep): Promise<Ran> {
  const { position } = execution.request
  const most = host.sizes.batch
  const taken = of.calls.slice(0, most)
  const answers = of.parallel
    ? await runBatch(host, execution, of, taken, stepBatch(position.id, of.step))
    : await oneByOne(host, execution, of, taken)
  return ranOf(answers, of.calls)
}

type Answer = CallOutcome | OpenCall
interface Answered {
  readonly answer: Answer
  readonly position: CallPosition
}

async function oneByOne(
  host: TurnHost,
  execution: Execution,
  of: CallsOfStep,
  calls: readonly CallPart[],
): Promise<Answered[]> {
  const answers: Answered[] = []
  for (const [order, call] of calls.entries()) {
    answers.push(
      ...(await runBatch(host, execution, of, [call], stepBatch(execution.request.position.id, of.step, order))),
    )
    // Who ends the turn ends it before the next one begins, as in a batch.
    const { answer } = answers.at(-1) as Answered
    if (!isOpen(answer) && abortsTurn(answer)) break
  }
  return answers
}

async function runBatch(
  host: TurnHost,
  execution: Execution,
  { tools, within, frame: named, backgroundMs, signal }: CallsOfStep,
  calls: readonly CallPart[],
  batch: string,
): Promise<Answered[]> {
  const { position, principal } = execution.request
  const place: Place = {
    tenant: position.tenant,
    session: position.session,
    principal,
    ...askingOf(execution.options),
    frame: named,
  }
  // What is too long to go with the call goes back to the provider all the same: it is with the message.
  const goesAlong = (meta: CallPart['meta']): boolean =>
    meta !== undefined && fits(JSON.stringify(meta), host.sizes.arguments)
  const asks = calls.map(({ id, name, input, meta }): CallAsk => ({
    id,
    name,
    input,
    ...(goesAlong(meta) ? { meta: meta as Json } : {}),
  }))
  const started = host.start(place, asks, {
    tools,
    batch,
    turn: position.id,
    ...(within === null ? {} : { within }),
    onFailure: 'continue',
    signal,
    learn: together(() => host.learn(position)),
    hears: true,
    ...(backgroundMs === null ? {} : { backgroundMs }),
  })
  // Nothing is held while they run: they are on record, and whoever goes on with the turn finds them.
  const answers = await execution.aside(() => untilSaid(host, execution, started))
  return answers.map((answer, order) => ({ answer, position: (started.asks[order] as Asked).position }))
}

/** One look for all who ask at the same moment; it begins after each of them has asked. */
function together(look: () => Promise<void>): () => Promise<void> {
  let next: Promise<void> | null = null
  return () =>
    (next ??= Promise.resolve().then(() => {
      next = null
      return look()
    }))
}

/** All outcomes; or, if the user says something first and the rest waits, what there is. */
async function untilSaid(host: TurnHost, execution: Execution, batch: Batch): Promise<Answer[]> {
  let stop = (): void => {}
  const said = new Promise<'said'>((resolve, reject) => {
    const forget = execution.onStop((why) => 'over' in why && reject(why.over))
    const look = (): void => void isSaid(host, execution.request.position).then((yes) => yes && resolve('said'), reject)
    const unlisten = host.said.listen(execution.request.position, look)
    stop = () => {
      forget()
      unlisten()
    }
    look()
  })
  said.catch(() => {})
  try {
    const first = await Promise.race([batch.outcomes, said])
    return first === 'said' ? await host.waiting(batch) : first
  } finally {
    stop()
  }
}

function ranOf(answers: readonly Answered[], calls: readonly CallPart[]): Ran {
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
    owed: answers.flatMap(({ answer, position }, order): Owed[] =>
      isOpen(answer) ? [[order, owedRow(position, answer.name)]] : [],
    ),
    control: first?.control ?? null,
    unheard: others.map(({ id }) => id),
    invalid: answers.length > 0 && answers.every(({ answer }) => isInvalid(answer)),
    mistaken: answers.flatMap(({ answer }) => (isMistaken(answer) ? answer.name : [])),
  }
}

const isOpen = (answer: Answer): answer is OpenCall => answer.status === 'waiting' || answer.status === 'running'

/** What comes of it is to be told. */
export const owedRow =
  (position: CallPosition, name: string): Owed[1] =>
  (shown) => {
    const { batch, id, occurrence } = position
    const row: OwedRow = { batch, id, occurrence, name, ...(shown === undefined || shown === id ? {} : { shown }) }
    return { ...owedName(position, frame(batch, id, occurrence)), value: JSON.stringify(row) }
  }

function notRun(answers: readonly Answered[]): Pick<ResultPart, 'status' | 'parts'> {
  const told = (text: string): ResultPart['parts'] => [{ type: 'text', text }]
  const last = answers.at(-1)?.answer
  if (last && !isOpen(last) && abortsTurn(last))
    return {
      status: 'cancelled',
      parts: told('[Tool execution cancelled]\nThe turn was ended before it; it was not started'),
    }
  return {
    status: 'failure',
    parts: told(`[Tool execution failed]\nAt most ${answers.length} calls are taken at once; this one was not run.`),
  }
}

const isMistaken = (answer: Answer): boolean =>
  answer.status === 'failure' && answer.failure.code === 'invalid_arguments'

const isInvalid = (answer: Answer): boolean =>
  isMistaken(answer) || (answer.status === 'failure' && answer.failure.code === 'tool_unavailable')

/** A hook, or a wait that nobody answered in time, may end the turn; so may a tool. */
function controlOf(answer: Answer): Control | null {
  if (isOpen(answer)) return null
  const aborted = abortsTurn(answer)
  if (aborted) return { fail: aborted }
  return answer.status === 'success' ? (answer.control ?? null) : null
}
