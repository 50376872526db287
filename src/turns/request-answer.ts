// The stages of a turn that call the model: the history is compacted if it does not fit, then the answer is requested
// and recorded. Called by turn-loop.ts.

import type { Outcome } from '../core/outcome.ts'
import type { AssistantMessage } from '../models/message.ts'
import { costOf, type Model, ModelFailure, type ModelRequest, type ToolChoice } from '../models/model.ts'
import { askModel } from './ask-model.ts'
import { compact, historyLimit } from './conversation/compaction.ts'
import { type MessageRecord, tokensIn } from './conversation/history.ts'
import { mayShowPartialInput } from './conversation/mask-message.ts'
import type { TurnRun } from './running-turn.ts'
import { noToolToCall } from './turn-failures.ts'
import { toolTokens } from './turn-tools.ts'
import { stepKeys } from '../store/journal-keys.ts'

export async function fitHistory(run: TurnRun): Promise<Outcome | null> {
  const { model } = run
  const { historyTokens } = run.limits
  const otherTokens = tokensIn(run.instructions ?? '') + toolTokens(run.tools.forFrame(run.frame.tools))
  try {
    await compactHistory(run, model, {
      limit: historyTokens === Infinity ? historyLimit(model, otherTokens) : historyTokens,
    })
    return null
  } catch (error) {
    return run.modelFailure(model, error)
  }
}

export async function requestAnswer(run: TurnRun): Promise<Outcome | null> {
  const { model, toolChoice } = run
  const unavailable = await missingTool(run, toolChoice)
  if (unavailable) return unavailable
  for (;;) {
    // The summary may have used up the cost limit.
    if (run.overCost) return run.overCost
    try {
      await recordAnswer(run, model)
      return null
    } catch (error) {
      const remaining = await compactAfterOverflow(run, model, error)
      if (remaining !== null) return run.modelFailure(model, remaining)
    }
  }
}

/** The failure of a turn whose model must call a tool that it does not have; providers reject such a request. */
async function missingTool({ tools, frame }: TurnRun, choice: ToolChoice): Promise<Outcome | null> {
  if (choice === 'auto' || choice === 'none') return null
  const names = (await tools.forModel(frame.tools, choice)).map(({ name }) => name)
  const { providerTools = [] } = frame.settings
  if (choice === 'required') return names.length + providerTools.length === 0 ? noToolToCall(null) : null
  return names.includes(choice.tool) ? null : noToolToCall(choice.tool)
}

/** Requests one answer and records it with its message in one step. */
async function recordAnswer(run: TurnRun, model: Model): Promise<void> {
  const { execution, host, history, frame, id, mayRetract } = run
  const step = run.step + 1
  const { toolChoice } = run
  const request: ModelRequest = {
    instructions: run.instructions,
    settings: frame.settings,
    parallel: frame.parallel,
    messages: history.forModel(),
    tools: await run.tools.forModel(frame.tools, toolChoice),
    toolChoice,
    output: run.request.output ?? null,
  }
  run.mayRetract = false
  let added: MessageRecord | null = null
  await execution.runStep({ key: stepKeys.model(step), input: null, once: false }, async () => {
    const { set } = run.tools.forFrame(frame.tools)
    const showsInput = (tool: string): boolean => mayShowPartialInput(tool, set)
    const ask = { request, step, signal: run.stop.signal, showsInput, mayRetract }
    const { parts, finish, usage } = await askModel(host, execution, model, ask)
    const message: AssistantMessage = { role: 'assistant', parts }
    const cost = costOf(usage, model.price)
    const { record, row } = run.nextMessage(message, { step, usage: { ...usage, cost }, model: model.name, finish })
    added = record
    const body = { turn: id, step, message: record.number, finish, usage }
    const events = [{ type: 'turn.answered' as const, body }]
    return { done: String(record.number), attached: { documents: [row], events } }
  })
  // Recorded answers are in the history, so a recorded step without one would repeat this stage forever.
  if (!added) throw new Error(`The answer of step ${step} is recorded, but it is not in the conversation`)
  history.add(added)
}

/**
 * After a "too long" failure of the model: compacts half of the conversation, the second time everything but the last
 * message. Attempts are recorded with the summary, so each is made once per answer. Returns null if the request can be
 * repeated, else the error.
 */
async function compactAfterOverflow(run: TurnRun, model: Model, error: unknown): Promise<unknown> {
  if (!(error instanceof ModelFailure) || !error.tooLong) return error
  const { turn, step, tooLong = 0 } = run.history.summaryRecord ?? {}
  const priorTries = turn === run.id && step === run.step ? tooLong : 0
  if (priorTries >= 2) return error
  const limit = Math.floor(run.history.tokens / 2)
  const options = { limit, keep: priorTries === 0 ? limit : 0, whole: true } as const
  try {
    const isShorter = await compactHistory(run, model, options, { tooLong: priorTries + 1 })
    return isShorter ? null : error
  } catch (compactError) {
    return compactError
  }
}

/** Returns true if messages were replaced by a summary. */
const compactHistory = (
  run: TurnRun,
  model: Model,
  options: { limit: number; keep?: number; whole?: true },
  more: Pick<MessageRecord, 'tooLong'> = {},
): Promise<boolean> =>
  compact(run.host, run.execution, run.history, {
    model,
    ...options,
    signal: run.stop.signal,
    next: (message, upTo, usage) =>
      run.nextMessage(message, { upTo, ...(usage && { usage, model: model.name }), ...more }),
    add: (record) => run.history.add(record),
    charge: (usage) => run.charge(model.name, usage),
  })
