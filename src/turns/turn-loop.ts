// TURN: one durable run of the model loop on one screen (SESS-1). A turn is a call: an engine drives it, and drives it again after a crash, on whatever
// worker knows its model. How far it has come is read from the conversation: each answer of the model is on record before anything is made of it, each
// call of an answer is a call of its own, and what is on record is neither paid nor done again.

import type { Drive, Execution, ToSettle } from '../engine/engine.ts'
import { headName, type HeadRow, isWoken } from '../store/records/conversation.ts'
import { isLoss, PawlError } from '../core/errors.ts'
import { failure, type Outcome } from '../core/outcome.ts'
import { decode, encode } from '../core/value.ts'
import { enter, type Entered, Line } from './claim-session.ts'
import { Histories } from './conversation/history.ts'
import type { TurnHost } from './ports.ts'
import { OpenTurn } from './turn-run.ts'
import type { TurnRequest } from './turn-request.ts'
import { stopCalls } from './stop-calls.ts'
import { TurnStop } from './turn-stop.ts'
import { rowOfLost } from './usage.ts'

export function turning(host: TurnHost): Drive {
  const histories = new Histories()
  const line = new Line()
  return async (execution) => {
    const stop = new TurnStop(execution, host.clock)
    const { timeMs } = decode(execution.request.input) as unknown as TurnRequest
    stop.within(timeMs, execution.request.createdAt)
    const leaveLine = line.join(execution.request)
    try {
      return await life(execution, host, { histories, line }, stop)
    } finally {
      leaveLine()
      stop.close()
    }
  }
}

interface Kept {
  readonly histories: Histories
  readonly line: Line
}

async function life(
  execution: Execution,
  host: TurnHost,
  { histories, line }: Kept,
  stop: TurnStop,
): Promise<ToSettle> {
  if (execution.deaths >= host.poisonAfter) return poisoned(execution, host) // too many workers died over it
  await execution.accept('null', JSON.stringify({ onCrash: 'rerun' }))
  const entered = await enter(execution, host, line, stop) // one turn at a time in a session
  if (!entered) {
    execution.attached.ends()
    execution.attached.keep(...host.wakes.rows(execution.request.position, execution.request.uid))
    return stop.before()
  }
  const settle = await execution.begin({ durable: execution.claimed, places: [] }, () =>
    body(execution, host, histories, { entered, stop }),
  )
  leave(execution, host, entered.head)
  return { settle, text: encode(settle) }
}

async function body(
  execution: Execution,
  host: TurnHost,
  histories: Histories,
  { entered: { head, again }, stop }: { entered: Entered; stop: TurnStop },
): Promise<Outcome> {
  const { position } = execution.request
  let turn: OpenTurn | null = null
  try {
    const history = await histories.take(host.store, position, head.born)
    turn = new OpenTurn(execution, host, { stop, history, head, again })
    let ended = await turn.begin() // what the user said, and what has arrived
    for (;;) {
      ended ??=
        stop.outcome ?? // cancelled, or too late
        (await turn.runCalls()) ?? // those of the last answer, if it has any; a tool may end the turn
        (await turn.isAnswered()) ?? // it has none, and nobody has said anything meanwhile
        (await turn.hear()) ?? // what has arrived; and what is too long is summed up
        (await turn.ask()) // the model: its answer is on record
      if (!ended) continue
      if (ended === stop.outcome) await stopCalls(host, position, position.id, stop.why)
      turn.count()
      histories.giveBack(position, history)
      return ended
    }
  } catch (error) {
    const ended = stopped(error, execution, host, stop)
    if (ended === stop.outcome) await stopCalls(host, position, position.id, stop.why)
    turn?.count()
    return ended
  }
}

/** Whatever went wrong: an execution that no longer counts ends without a word, all else is how the turn ends. */
function stopped(error: unknown, execution: Execution, host: TurnHost, stop: TurnStop): Outcome {
  const why = execution.stopped
  if (why && 'over' in why) throw why.over
  if (isLoss(error)) {
    execution.end(error)
    throw error
  }
  if (stop.outcome) return stop.outcome
  host.logger.error('A turn ended by an error of ours', { turn: execution.request.position.id, error })
  const message = error instanceof PawlError ? error.message : 'An internal error occurred in the turn'
  return failure({ class: 'internal', code: error instanceof PawlError ? error.code : 'internal', message })
}

/** On record with the end: the next turn may begin. */
function leave({ attached: beside, request }: Execution, { wakes }: TurnHost, { born }: HeadRow): void {
  const free: HeadRow = { born, turn: null }
  beside.ends()
  beside.keep(
    { ...headName(request.position), value: JSON.stringify(free) },
    ...wakes.rows(request.position, request.uid),
  )
}

async function poisoned(
  { deaths, request, attached: beside }: Execution,
  { store, wakes }: TurnHost,
): Promise<ToSettle> {
  beside.keep(...(await rowOfLost(store, request.position, request.uid)))
  // Another like it would do the same.
  if (!isWoken(request.position.id)) beside.keep(...wakes.rows(request.position, request.uid))
  return {
    settle: failure({
      class: 'internal',
      code: 'poisoned',
      message: `${deaths} workers died over this turn; it is not taken up again.`,
    }),
  }
}
