// A body that asks a model (SESS-5): one answer, without tools and without a conversation.

import type { Execution } from '../engine/engine.ts'
import { turnBatch, turnTool } from '../store/records/conversation.ts'
import { PawlError } from '../core/errors.ts'
import { fail, retry } from '../core/outcome.ts'
import { textOf } from '../models/message.ts'
import { costOf, type Model, ModelFailure, type ModelRequest } from '../models/model.ts'
import type { Completion, CompletionRequest } from '../tools/context/context.ts'
import { askModel } from './ask-model.ts'
import type { TurnHost } from './ports.ts'

export async function complete(
  host: TurnHost & { readonly models: ReadonlyMap<string, Model> },
  execution: Execution,
  given: CompletionRequest,
  signal: AbortSignal,
): Promise<Completion & { model: string }> {
  const { prompt, instructions, maxOutputTokens, temperature } = given
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw new PawlError('turn_invalid', 'The prompt is not a text.')
  const model = await modelFor(host, execution, given.model)
  const request: ModelRequest = {
    instructions: instructions ?? null,
    messages: [{ role: 'user', parts: [{ type: 'text', text: host.clean(prompt.toWellFormed()) }] }],
    tools: [],
    parallel: true,
    settings: {
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
      ...(temperature === undefined ? {} : { temperature }),
    },
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

/** The one that is named, that of the turn, or the only one. */
async function modelFor(
  { store, models }: { store: TurnHost['store']; models: ReadonlyMap<string, Model> },
  { request: { position }, options: { turn } }: Execution,
  name: string | undefined,
): Promise<Model> {
  const { tenant, session } = position
  const ours =
    name === undefined && turn !== undefined
      ? await store.callAt({ tenant, session, batch: turnBatch, id: turn, occurrence: 0 })
      : undefined
  const wanted =
    name ?? ours?.tool.slice(turnTool('').length) ?? (models.size === 1 ? [...models.keys()][0] : undefined)
  const found = wanted === undefined ? undefined : models.get(wanted)
  if (!found)
    throw new PawlError(
      'model_unknown',
      wanted === undefined ? 'Several models are known here: name one.' : `The name is '${wanted}'.`,
    )
  return found
}
