// Validates session.turn() options and builds the recorded request: plain data, so that any worker can continue the
// turn.

import { hash } from 'node:crypto'
import { checkRequiredOptions, option, type OptionCheck, type OptionTable } from '../core/check-options.ts'
import type { WordsRow } from '../store/records/conversation.ts'
import { canonicalJson } from '../core/canonical-json.ts'
import { milliseconds } from '../core/duration.ts'
import { errorTable, PawlError } from '../core/errors.ts'
import { defined, encode, type Json, toRecordedForm } from '../core/tool-value.ts'
import type { CapabilityLimits } from '../sessions/define-capability.ts'
import { checkModel, type Model, type ModelSettings, type ProviderTool, type ToolChoice } from '../models/model.ts'
import type { Frame, StartTurn, TurnLimits } from '../models/turn-interface.ts'
import { parseUserMessage } from './conversation/user-message.ts'
import type { CompiledSchema, JsonSchema } from '../tools/schema.ts'
import type { TurnHost } from './ports.ts'
import { compileOutput } from './turn-output.ts'

/** A frame as recorded data. */
export interface FrameTerms {
  readonly name: string
  readonly model: string
  readonly instructions: string | null
  readonly tools: readonly string[] | null
  readonly settings: ModelSettings
  readonly parallel: boolean
}

export interface TurnRequest {
  readonly message: WordsRow | null
  readonly frame: FrameTerms
  readonly steps: number
  readonly invalid: number
  readonly timeMs: number | null
  readonly historyTokens: number | null
  /** Cost limit; absent if not set. */
  readonly cost?: number
  readonly backgroundMs: number | null
  /** Absent if not set, like every option that older records do not have. */
  readonly toolChoice?: ToolChoice
  readonly output?: JsonSchema
}

type TurnRegistry = Pick<TurnHost, 'sizes' | 'models' | 'frames'>

const reject = (why: string): never => {
  throw new PawlError('turn_invalid', `${why}.`)
}

const providerToolId: OptionCheck = {
  expected: "the provider's id of a tool, such as 'anthropic.web_search_20250305'",
  valid: (value) => typeof value === 'string' && /^[^.]+\../.test(value),
}

const settingsOptions = {
  maxOutputTokens: option.wholeNumber(1),
  temperature: option.finiteNumber,
  topP: option.finiteNumber,
  seed: option.finiteNumber,
  stop: option.listOf(option.string),
  reasoning: option.oneOf('none', 'minimal', 'low', 'medium', 'high'),
  providerTools: option.listOf(
    option.nested({
      id: option.required(providerToolId),
      name: option.required(option.nonEmptyString),
      args: option.object,
    } satisfies OptionTable<ProviderTool>),
  ),
  provider: option.object,
} satisfies OptionTable<ModelSettings>

/** Options that a frame and a turn share. */
const sharedOptions = {
  instructions: option.wellFormedString,
  tools: option.listOf(option.string),
  settings: option.nested(settingsOptions),
  parallel: option.boolean,
  model: option.anything,
}

export const frameOptions = {
  ...sharedOptions,
  name: option.required(option.identifier),
} satisfies OptionTable<Frame>

export const turnOptions = {
  ...sharedOptions,
  message: option.anything,
  frame: option.either(option.string, option.nested(frameOptions)),
  limits: option.nested({
    steps: option.wholeNumber(1),
    time: option.duration,
    invalid: option.wholeNumber(1),
    historyTokens: option.wholeNumber(1),
    cost: option.positiveNumber,
  } satisfies OptionTable<TurnLimits>),
  id: option.identifier,
  background: option.duration,
  toolChoice: option.either(
    option.oneOf('auto', 'none', 'required'),
    option.nested({ tool: option.required(option.nonEmptyString) }),
  ),
  output: option.anything,
  signal: option.abortSignal,
} satisfies OptionTable<StartTurn>

export interface ParsedTurn {
  readonly request: TurnRequest
  /** May be a model object that is not registered. */
  readonly model: Model
  /**
   * Content for the hash: a registered frame counts by name, so a deploy that changes the frame does not make the same
   * request a conflict. `request` is what runs.
   */
  readonly content: object
  /** The schema of `output`; null if there is none. */
  readonly output: CompiledSchema | null
}

export const checkTurnOptions = (input: StartTurn): void =>
  checkRequiredOptions(input, turnOptions, 'turn()', 'turn_invalid')

export function parseTurn(input: StartTurn, registry: TurnRegistry, maxBytes: number): ParsedTurn {
  checkTurnOptions(input)
  const { background, limits = {}, toolChoice } = input
  const message = messageRow(input, registry, maxBytes)
  const { frame, model } = resolveFrame(input, registry)
  const limitTerms = parseLimits(limits)
  const output = input.output === undefined ? null : compileOutput(input.output)
  if (limitTerms.cost !== undefined && !model.price)
    reject(`limits.cost is set, but the model '${model.name}' has no price`)
  const request = {
    message,
    frame,
    ...limitTerms,
    backgroundMs: background === undefined ? null : milliseconds(background, 'background'),
    ...defined({ toolChoice, output: output?.json }),
  }
  if (typeof toolChoice === 'object' && frame.tools?.includes(toolChoice.tool) === false)
    reject(`\`toolChoice\` names '${toolChoice.tool.slice(0, 80)}', which is not among the \`tools\` of the turn`)
  return {
    model,
    request,
    output,
    content: typeof input.frame === 'string' ? { ...request, frame: frameReference(input, model) } : request,
  }
}

function frameReference({ frame, model, instructions, tools, settings, parallel }: StartTurn, { name }: Model): object {
  return {
    frame,
    ...defined({ model: model === undefined ? undefined : name, instructions, tools, settings, parallel }),
  }
}

/** The stored form of the message; null if there is none. */
export const messageRow = (
  { message }: StartTurn,
  { sizes }: Pick<TurnRegistry, 'sizes'>,
  maxBytes: number,
): WordsRow | null => (message === undefined ? null : parseUserMessage(message, maxBytes, sizes.attachment))

function resolveFrame(turn: StartTurn, registry: TurnRegistry): { frame: FrameTerms; model: Model } {
  const named = typeof turn.frame === 'string' ? registry.frames.get(turn.frame) : turn.frame
  if (typeof turn.frame === 'string' && !named)
    throw new PawlError(
      'frame_unknown',
      `No frame has the name ${JSON.stringify(turn.frame)}. ${errorTable.frame_unknown.next}`,
    )
  const { instructions, tools, settings, parallel } = turn
  const frame = { ...named, ...defined({ instructions, tools, settings, parallel }), name: named?.name ?? 'main' }
  const model = resolveModel(turn.model ?? named?.model, registry)
  return { frame: frameTerms(frame, model.name), model }
}

export function resolveModel(model: Model | string | undefined, registry: Pick<TurnHost, 'models'>): Model {
  if (model === undefined) return reject('There is no model. Pass `model` to the turn, or a `frame` that has one')
  if (typeof model !== 'string') return checkModel(model)
  const found = registry.models.get(model)
  if (!found)
    throw new PawlError(
      'model_unknown',
      `No model has the name ${JSON.stringify(model)}. ${errorTable.model_unknown.next}`,
    )
  return found
}

export function frameTerms(
  { name, instructions, tools, settings = {}, parallel = true }: Frame,
  model: string,
): FrameTerms {
  encode(settings)
  return { name, model, instructions: instructions ?? null, tools: tools ?? null, settings, parallel }
}

function parseLimits({
  steps = 20,
  invalid = 3,
  time,
  historyTokens,
  cost,
}: TurnLimits): Omit<TurnRequest, 'message' | 'frame' | 'backgroundMs'> {
  return {
    steps,
    invalid,
    timeMs: time === undefined ? null : milliseconds(time, 'limits.time'),
    historyTokens: historyTokens ?? null,
    ...(cost === undefined ? {} : { cost }),
  }
}

/** The stricter of the turn's limits and those of its capabilities; Infinity where there is none. */
export const strictestLimits = (
  { steps, invalid, historyTokens, cost }: TurnRequest,
  capabilityLimits: CapabilityLimits,
): CapabilityLimits => ({
  steps: Math.min(steps, capabilityLimits.steps),
  invalid: Math.min(invalid, capabilityLimits.invalid),
  historyTokens: Math.min(historyTokens ?? Infinity, capabilityLimits.historyTokens),
  cost: Math.min(cost ?? Infinity, capabilityLimits.cost),
})

/** Content hash that identifies a repeated request of the same turn. */
export const turnHash = (content: object): string =>
  hash('sha256', `turn\n${canonicalJson(toRecordedForm(content) as Json)}`, 'base64url')
