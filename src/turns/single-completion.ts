// ctx.complete: one model answer for a tool body, without tools and without a conversation.

import { defined } from '../core/tool-value.ts'
import type { Execution } from '../engine/engine.ts'
import { turnTool } from '../store/records/conversation.ts'
import { errorTable, PawlError } from '../core/errors.ts'
import { fail, retry } from '../core/outcome.ts'
import { textOf } from '../models/message.ts'
import { costOf, type Model, ModelFailure, type ModelRequest } from '../models/model.ts'
import type { Completion, CompletionRequest } from '../tools/context/tool-context.ts'
import { askModel } from './ask-model.ts'
import type { TurnHost } from './ports.ts'
import { turnBatch } from '../store/journal-keys.ts'

export async function complete(
  host: TurnHost,
  execution: Execution,
  options: CompletionRequest,
  signal: AbortSignal,
): Promise<Completion & { model: string }> {
  const { prompt, instructions, maxOutputTokens, temperature } = options
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw new PawlError('turn_invalid', '`prompt` must be a non-blank string.')
  const model = await resolveModelFor(host, execution, options.model)
  const request: ModelRequest = {
    instructions: instructions ?? null,
    messages: [{ role: 'user', parts: [{ type: 'text', text: host.redact.text(prompt.toWellFormed()) }] }],
    tools: [],
    toolChoice: 'auto',
    output: null,
    parallel: true,
    settings: defined({ maxOutputTokens, temperature }),
  }
  try {
    const { parts, usage } = await askModel(host, execution, model, { request, step: 0, signal, quiet: true })
    return {
      text: textOf({ role: 'assistant', parts }),
      usage: { ...usage, cost: costOf(usage, model.price) },
      model: model.name,
    }
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error
    const about = { class: 'external' as const, code: 'model_failed', cause: error }
    const message = `The model '${model.name}' could not answer: ${error.what}.`
    throw error.retryable ? retry({ ...about, message }) : fail(message, about)
  }
}

/** The named model, else the model of the turn, else the only registered model. */
async function resolveModelFor(
  { store, models }: TurnHost,
  { request: { position }, options: { turn } }: Execution,
  name: string | undefined,
): Promise<Model> {
  const { tenant, session } = position
  const turnCall =
    name === undefined && turn !== undefined
      ? await store.callAt({ tenant, session, batch: turnBatch, id: turn, occurrence: 0 })
      : undefined
  const modelName =
    name ?? turnCall?.tool.slice(turnTool('').length) ?? (models.size === 1 ? [...models.keys()][0] : undefined)
  const found = modelName === undefined ? undefined : models.get(modelName)
  if (!found)
    throw new PawlError(
      'model_unknown',
      modelName === undefined
        ? 'No model is named, and the runtime does not have exactly one model. Pass `model`.'
        : `No model has the name '${modelName}'. ${errorTable.model_unknown.next}`,
    )
  return found
}
