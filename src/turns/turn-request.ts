// What was asked of a turn, as it goes on record: data, so that whichever worker goes on with it does the same.

import type { WordsRow } from '../store/records/conversation.ts'
import { milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import type { Sizes } from '../core/size-limits.ts'
import { encode } from '../core/value.ts'
import { isCost } from '../models/cost-ledger.ts'
import type { CapabilityLimits } from '../sessions/capability.ts'
import { checkModel, type Model, type ModelSettings } from '../models/model.ts'
import type { Frame, StartTurn, TurnLimits } from '../models/turn-interface.ts'
import { wordsOf } from './conversation/user-message.ts'

/** A frame as data. */
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
  /** What its models may cost; left out if it is not said. */
  readonly cost?: number
  readonly backgroundMs: number | null
}

interface Known {
  readonly sizes: Pick<Sizes, 'attachment'>
  model(name: string): Model | undefined
  frame(name: string): Frame | undefined
}

const fields: ReadonlySet<string> = new Set<keyof StartTurn>([
  'model',
  'message',
  'frame',
  'instructions',
  'tools',
  'settings',
  'parallel',
  'limits',
  'id',
  'background',
  'signal',
])

const wrong = (why: string): never => {
  throw new PawlError('turn_invalid', `${why}.`)
}

export interface Requested {
  readonly request: TurnRequest
  /** It may be known here only by this. */
  readonly model: Model
  /** What was asked, as far as it can be asked again: a frame of the runtime's by its name, whatever that means after a deploy. What runs is the request. */
  readonly content: object
}

export function requestOf(given: StartTurn, known: Known, mostBytes: number): Requested {
  if (typeof given !== 'object' || given === null) wrong('A turn is { model, message, … }')
  for (const field of Object.keys(given)) if (!fields.has(field)) wrong(`It has '${field}', which no turn has`)
  const { background, limits = {} } = given
  const said = saidIn(given, known, mostBytes)
  const { frame, model } = frameOf(given, known)
  const within = limitsOf(limits)
  if (within.cost !== undefined && !model.price)
    wrong(`limits.cost is set, and the model '${model.name}' has no price to count it by`)
  const request = {
    message: said,
    frame,
    ...within,
    backgroundMs: background === undefined ? null : milliseconds(background, 'background'),
  }
  return {
    model,
    request,
    content: typeof given.frame === 'string' ? { ...request, frame: namedIn(given, model) } : request,
  }
}

function namedIn({ frame, model, instructions, tools, settings, parallel }: StartTurn, { name }: Model): object {
  return {
    frame,
    ...defined({ model: model === undefined ? undefined : name, instructions, tools, settings, parallel }),
  }
}

/** As it goes on record; null if nothing is said. */
export const saidIn = ({ message }: StartTurn, { sizes }: Pick<Known, 'sizes'>, mostBytes: number): WordsRow | null =>
  message === undefined ? null : wordsOf(message, mostBytes, sizes.attachment)

function frameOf(given: StartTurn, known: Pick<Known, 'model' | 'frame'>): { frame: FrameTerms; model: Model } {
  const named = typeof given.frame === 'string' ? known.frame(given.frame) : given.frame
  if (typeof given.frame === 'string' && !named)
    throw new PawlError(
      'frame_unknown',
      `The name is ${JSON.stringify(given.frame)}; createRuntime({ frames }) does not know it.`,
    )
  const { instructions, tools, settings, parallel } = given
  const own = { ...named, ...defined({ instructions, tools, settings, parallel }), name: named?.name ?? 'main' }
  const model = modelOf(given.model ?? named?.model, known)
  return { frame: termsOf(own, model.name), model }
}

const defined = <T extends object>(of: T): Partial<T> =>
  Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined)) as Partial<T>

export function modelOf(given: Model | string | undefined, known: Pick<Known, 'model'>): Model {
  if (given === undefined) return wrong('It names no model, and its frame has none')
  if (typeof given !== 'string') return checkModel(given)
  const found = known.model(given)
  if (!found)
    throw new PawlError(
      'model_unknown',
      `The name is ${JSON.stringify(given)}; createRuntime({ models }) does not know it.`,
    )
  return found
}

export function termsOf(
  { name, instructions, tools, settings = {}, parallel = true }: Frame,
  model: string,
): FrameTerms {
  if (!isName(name)) wrong('The name of a frame is a text')
  if (instructions !== undefined && (typeof instructions !== 'string' || !instructions.isWellFormed()))
    wrong('The instructions are not a text')
  if (tools !== undefined && (!Array.isArray(tools) || !tools.every((tool) => typeof tool === 'string')))
    wrong('tools is not a list of names')
  if (typeof parallel !== 'boolean') wrong('parallel is not true or false')
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings))
    wrong('settings is not { temperature, … }')
  encode(settings)
  return { name, model, instructions: instructions ?? null, tools: tools ?? null, settings, parallel }
}

const limitFields: ReadonlySet<string> = new Set<keyof TurnLimits>([
  'steps',
  'time',
  'invalid',
  'historyTokens',
  'cost',
])

function limitsOf(given: TurnLimits): Omit<TurnRequest, 'message' | 'frame' | 'backgroundMs'> {
  if (typeof given !== 'object' || given === null) wrong('limits is not { steps, … }')
  for (const field of Object.keys(given)) if (!limitFields.has(field)) wrong(`limits has '${field}', which no turn has`)
  const { steps = 20, invalid = 3, time, historyTokens, cost } = given
  for (const [what, value] of Object.entries({ steps, invalid, historyTokens }))
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1))
      wrong(`limits.${what} is ${String(value)}, not a whole number from 1 on`)
  if (cost !== undefined && !isCost(cost)) wrong(`limits.cost is ${String(cost)}, not a number above 0`)
  return {
    steps,
    invalid,
    timeMs: time === undefined ? null : milliseconds(time, 'limits.time'),
    historyTokens: historyTokens ?? null,
    ...(cost === undefined ? {} : { cost }),
  }
}

/** Of what was asked for, and of what capabilities allow; Infinity where nothing is said. */
export const strictest = (
  { steps, invalid, historyTokens, cost }: TurnRequest,
  most: CapabilityLimits,
): CapabilityLimits => ({
  steps: Math.min(steps, most.steps),
  invalid: Math.min(invalid, most.invalid),
  historyTokens: Math.min(historyTokens ?? Infinity, most.historyTokens),
  cost: Math.min(cost ?? Infinity, most.cost),
})
