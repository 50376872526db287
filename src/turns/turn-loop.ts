// Drives a turn: one durable run of the model loop. A turn is a call, so the engine resumes it after a crash on any
// worker that knows its model. Its progress is read from the conversation: every answer is recorded before it is used
// and every call has its own record, so nothing that is recorded is paid for or done twice.

import type { Drive, Execution, ToSettle } from '../engine/engine.ts'
import { type HeadRow, isWoken } from '../store/records/conversation.ts'
import { isStoreOrLeaseLost, PawlError } from '../core/errors.ts'
import { failure, type Outcome } from '../core/outcome.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import { decode, encode } from '../core/tool-value.ts'
import { claimSession, type ClaimedSession, queuedRowRemoval, TurnQueue } from './claim-session.ts'
import { HistoryCache } from './conversation/history.ts'
import type { TurnHost } from './ports.ts'
import { beginTurn, checkLimits, endIfAnswered, receiveInput } from './receive-input.ts'
import { fitHistory, requestAnswer } from './request-answer.ts'
import { runLastCalls } from './run-last-calls.ts'
import { TurnRun } from './running-turn.ts'
import type { TurnRequest } from './turn-request.ts'
import { stopCalls } from './stop-calls.ts'
import { TurnStop } from './turn-stop.ts'
import { lostTurnUsage } from './usage.ts'
import { collections } from '../store/collections.ts'

type TurnStage = (run: TurnRun) => MaybePromise<Outcome | null>

/** One round of the model loop: at most one batch of calls and one answer. The first outcome ends the turn. */
const stages: readonly TurnStage[] = [
  (run) => run.stop.outcome, // cancelled or timed out
  runLastCalls, // the calls of the last answer, if any; a tool may end the turn
  endIfAnswered, // the last answer has no calls and no user message arrived
  checkLimits, // number of answers, cost
  receiveInput, // appends pending input
  fitHistory, // compacts a history that is too long for the model
  requestAnswer, // requests and records the next answer
]

async function runStages(run: TurnRun): Promise<Outcome> {
  let outcome = await beginTurn(run) // appends the user's message and pending input
  while (!outcome)
    for (const stage of stages) {
      outcome = await stage(run)
      if (outcome) break
    }
  return outcome
}

export function turnDriver(host: TurnHost): Drive {
  const histories = new HistoryCache()
  const queue = new TurnQueue()
  return async (execution) => {
    const stop = new TurnStop(execution, host.clock)
    const { timeMs } = decode(execution.request.input) as unknown as TurnRequest
    stop.setDeadline(timeMs, execution.request.createdAt)
    const leaveQueue = queue.add(execution.request)
    try {
      return await driveTurn(execution, host, { histories, queue }, stop)
    } finally {
      leaveQueue()
      stop.close()
    }
  }
}

interface DriverState {
  readonly histories: HistoryCache
  readonly queue: TurnQueue
}

async function driveTurn(
  execution: Execution,
  host: TurnHost,
  { histories, queue }: DriverState,
  stop: TurnStop,
): Promise<ToSettle> {
  if (execution.deaths >= host.poisonAfter) return settlePoisoned(execution, host) // too many workers died running it
  await execution.awaitTrial(host.poisonAfter)
  if (execution.lostWorker && execution.interrupted && execution.interruptions > 0)
    host.logger.warn('A turn continues after its worker died', logFieldsOf(execution, execution.interruptions))
  await execution.accept('null', JSON.stringify({ onCrash: 'rerun' }))
  const claimed = await claimSession(execution, host, queue, stop) // one turn at a time in a session
  if (!claimed) {
    execution.attached.deferToOutcome()
    execution.attached.writeDocuments(
      queuedRowRemoval(execution),
      ...host.wakes.rows(execution.request.position, execution.request.uid),
    )
    return stop.settleBeforeStart()
  }
  const settle = await execution.begin({ durable: execution.claimed, slots: [] }, () =>
    runLoop(execution, host, histories, claimed, stop),
  )
  freeSession(execution, host, claimed.head)
  return { settle, text: encode(settle) }
}

async function runLoop(
  execution: Execution,
  host: TurnHost,
  histories: HistoryCache,
  { head, resumed }: ClaimedSession,
  stop: TurnStop,
): Promise<Outcome> {
  const { position } = execution.request
  let run: TurnRun | null = null
  const end = async (outcome: Outcome): Promise<Outcome> => {
    if (outcome === stop.outcome) await stopCalls(host, position, position.id, stop.reason)
    run?.recordUsage()
    return outcome
  }
  try {
    const history = await histories.take(host.store, position, head.born)
    run = new TurnRun(execution, host, { stop, history, head, resumed })
    const outcome = await end(await runStages(run))
    histories.giveBack(position, history)
    return outcome
  } catch (error) {
    return end(outcomeOfError(error, execution, host, stop))
  }
}

/** Maps an error to the outcome of the turn. A lost execution rethrows: it must not decide the turn. */
function outcomeOfError(error: unknown, execution: Execution, host: TurnHost, stop: TurnStop): Outcome {
  const stopped = execution.stopped
  if (stopped && 'over' in stopped) throw stopped.over
  // While the runtime closes it starts no more calls. The turn is handed back, and the next worker continues it.
  const isClosing = host.closed.aborted && error instanceof PawlError && error.code === 'runtime_closed'
  if (isStoreOrLeaseLost(error) || isClosing) {
    execution.end(error)
    throw error
  }
  if (stop.outcome) return stop.outcome
  host.logger.error('A turn failed with an internal error', { turn: execution.request.position.id, error })
  const message = error instanceof PawlError ? error.message : 'An internal error occurred in the turn'
  return failure({ class: 'internal', code: error instanceof PawlError ? error.code : 'internal', message })
}

/** Frees the session's head in the commit that settles the turn. */
function freeSession({ attached, request }: Execution, { wakes }: TurnHost, { born }: HeadRow): void {
  const freedHead: HeadRow = { born, turn: null }
  attached.deferToOutcome()
  attached.writeDocuments(
    collections.conversation.write(freedHead, request.position),
    ...wakes.rows(request.position, request.uid),
  )
}

const logFieldsOf = ({ request: { uid, position } }: Execution, deaths: number) => ({
  turn: position.id,
  session: position.session,
  call: uid,
  deaths,
})

async function settlePoisoned(execution: Execution, { store, wakes, logger }: TurnHost): Promise<ToSettle> {
  const { deaths, request, attached } = execution
  logger.error(
    'Turn poisoned: too many workers died while running it. It will not run again',
    logFieldsOf(execution, deaths),
  )
  attached.writeDocuments(queuedRowRemoval(execution), ...(await lostTurnUsage(store, request.position, request.uid)))
  // A woken turn is not woken again: it would fail the same way.
  if (!isWoken(request.position.id)) attached.writeDocuments(...wakes.rows(request.position, request.uid))
  return {
    settle: failure({
      class: 'internal',
      code: 'poisoned',
      message: `${deaths} workers died while running this turn; it is not resumed.`,
    }),
  }
}
