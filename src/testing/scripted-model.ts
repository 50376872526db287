// A model that answers from a script, for tests and demos without a network. Its answers depend only on the
// conversation, so another process continues with the same script after a crash.

import {
  checkOptions,
  checkRequiredOptions,
  option,
  type OptionCheck,
  optionProblem,
  type OptionTable,
} from '../core/check-options.ts'
import { type AssistantPart, type ModelMessage, textOf } from '../models/message.ts'
import {
  type Model,
  type ModelCall,
  ModelFailure,
  type ModelPrice,
  type ModelRequest,
  type Usage,
} from '../models/model.ts'
import { defined, encode, type Json } from '../core/tool-value.ts'

/** A call that a scripted model requests. */
export interface ScriptedCall {
  /** Name of the tool. */
  readonly name: string
  /** The arguments, or their JSON text as the model would write it. Default: {}. */
  readonly input?: unknown
  /** Id of the call. Default: a generated one. */
  readonly id?: string
}

/** One answer of a scripted model. */
export interface ScriptedLine {
  /** This line is used whenever the last message matches. Lines without `when` are used in order, one per answer. */
  readonly when?: string | RegExp
  /** The text of the answer. */
  readonly say?: string
  /** Reasoning before it. */
  readonly think?: string
  /** Calls it requests. */
  readonly call?: ScriptedCall | readonly ScriptedCall[]
  /** Tokens it reports. Default: estimated from the texts. */
  readonly usage?: Partial<Usage>
  /** Fails this many times before it answers, counted in this process. */
  readonly fails?: {
    readonly times: number
    readonly what?: string
    readonly retryable?: boolean
    readonly tooLong?: boolean
    readonly afterMs?: number
  }
}

/** What a scripted model is asked, for lines that are functions. */
export interface Seen {
  /** The whole request. */
  readonly request: ModelRequest
  /** Text of the last message. */
  readonly last: string
  /** Number of answers in the conversation so far. */
  readonly answers: number
}

/** A string is the answer text; a function chooses its answer by the request. */
export type Line = string | ScriptedLine | ((seen: Seen) => string | ScriptedLine)

/** A model that answers from a script, and what it was asked. */
export interface ScriptedModel extends Model {
  /** Number of requests in this process, failures included. */
  readonly asked: number
  /** All requests of this process. */
  readonly requests: readonly ModelRequest[]
}

/** The options of scriptedModel(). */
export interface ScriptedModelOptions {
  /** Default: 'scripted'. */
  readonly name?: string
  /** Size of its context window. Default: not known. */
  readonly contextTokens?: number
  /** Prices, for tests of costs. */
  readonly price?: ModelPrice
  /** Awaited before each answer, for tests that need a slow model. */
  readonly wait?: (seen: Seen, signal: AbortSignal) => Promise<void>
}

export const scriptedModelOptions = {
  name: option.string,
  contextTokens: option.wholeNumber(1),
  price: option.object,
  wait: option.func,
} satisfies OptionTable<ScriptedModelOptions>

const call = option.nested({
  name: option.required(option.nonEmptyString),
  input: option.anything,
  id: option.nonEmptyString,
} satisfies OptionTable<ScriptedCall>)

const pattern: OptionCheck = {
  expected: 'a string or a RegExp',
  valid: (value) => typeof value === 'string' || value instanceof RegExp,
}

const answer = option.nested({
  when: pattern,
  say: option.string,
  think: option.string,
  call: option.either(call, option.listOf(call)),
  usage: option.recordOf(option.nonNegativeNumber),
  fails: option.nested({
    times: option.required(option.wholeNumber(0)),
    what: option.string,
    retryable: option.boolean,
    tooLong: option.boolean,
    afterMs: option.nonNegativeNumber,
  } satisfies OptionTable<NonNullable<ScriptedLine['fails']>>),
} satisfies OptionTable<ScriptedLine>)

const script = { lines: option.required(option.listOf(option.either(option.string, option.func, answer))) }
const chosen = { answer: option.required(option.either(option.string, answer)) }

/**
 * A model that answers from a script, for tests and demos without a network. A malformed line is refused when the model
 * is made.
 *
 * @example
 * const model = scriptedModel([{ call: { name: 'refund', input: { order: 'A1' } } }, 'Done.'])
 * await session.turn({ model, message: 'Refund order A1' }).outcome
 */
export function scriptedModel(lines: readonly Line[], options: ScriptedModelOptions = {}): ScriptedModel {
  checkRequiredOptions({ lines }, script, 'scriptedModel()')
  checkOptions(options, scriptedModelOptions, 'scriptedModel()')
  const { name = 'scripted', contextTokens, price, wait } = options
  const requests: ModelRequest[] = []
  /** Failures so far, by line of the script. */
  const failures = new Map<Line, number>()
  return {
    name,
    ...defined({ contextTokens, price }),
    get asked() {
      return requests.length
    },
    requests,
    async generate(call) {
      const { request, signal } = call
      requests.push(request)
      const seen = toSeen(request)
      const { line, which, from } = chooseLine(lines, seen, name)
      await wait?.(seen, signal)
      signal.throwIfAborted()
      const { fails, ...reply } = typeof line === 'string' ? { say: line } : line
      const before = failures.get(from) ?? 0
      if (fails && before < fails.times) {
        failures.set(from, before + 1)
        if (reply.say !== undefined) call.told({ type: 'text', delta: reply.say.slice(0, 5) })
        const { what = 'overloaded', tooLong = false, retryable = !tooLong, afterMs } = fails
        throw new ModelFailure(what, { retryable, tooLong, ...(afterMs === undefined ? {} : { afterMs }) })
      }
      const parts = partsOf(reply, seen.answers, which === null ? {} : { meta: { script: name, line: which } })
      streamParts(parts, call)
      return {
        parts,
        finish: parts.some(({ type }) => type === 'call') ? 'calls' : 'stop',
        usage: { ...estimateUsage(request, parts), ...reply.usage },
      }
    },
  }
}

function toSeen(request: ModelRequest): Seen {
  const last = request.messages.at(-1)
  return {
    request,
    last: last ? textOf(last) : '',
    answers: request.messages.filter(({ role }) => role === 'assistant').length,
  }
}

interface ChosenLine {
  readonly line: string | ScriptedLine
  /** Index among the lines that are used in order; null for a line with `when`. */
  readonly which: number | null
  readonly from: Line
}

function chooseLine(lines: readonly Line[], seen: Seen, name: string): ChosenLine {
  const inOrder: Line[] = []
  for (const line of lines) {
    const { when } = typeof line === 'object' ? line : {}
    if (when === undefined) inOrder.push(line)
    // search(), because test() keeps a position for global expressions.
    else if (typeof when === 'string' ? seen.last.includes(when) : seen.last.search(when) !== -1)
      return { line: line as ScriptedLine, which: null, from: line }
  }
  // Continue after the last used line; earlier answers may have been compacted away.
  const which = seen.request.messages.reduce((next, message) => Math.max(next, scriptLine(message, name) + 1), 0)
  const from = inOrder[which]
  if (from === undefined)
    throw new ModelFailure(`the script has no line for ${JSON.stringify(seen.last.slice(0, 200))}`)
  if (typeof from !== 'function') return { line: from, which, from }
  const line = from(seen)
  const problem = optionProblem({ answer: line }, chosen, 'scriptedModel()')
  if (problem !== undefined) throw new ModelFailure(`a function of the script returned a wrong answer: ${problem}`)
  return { line, which, from }
}

/** Index of the script line that a message came from; -1 for none. */
function scriptLine(message: ModelMessage, name: string): number {
  const metas =
    message.role === 'assistant'
      ? message.parts.map(({ meta }) => meta as { script?: unknown; line?: unknown } | undefined)
      : []
  return Math.max(-1, ...metas.map((meta) => (meta?.script === name && typeof meta.line === 'number' ? meta.line : -1)))
}

function partsOf({ say, think, call = [] }: ScriptedLine, answers: number, meta: { meta?: Json }): AssistantPart[] {
  const calls = Array.isArray(call) ? (call as readonly ScriptedCall[]) : [call as ScriptedCall]
  const parts: AssistantPart[] = [
    ...(think === undefined ? [] : [{ type: 'reasoning' as const, text: think, ...meta }]),
    ...(say === undefined ? [] : [{ type: 'text' as const, text: say, ...meta }]),
    ...calls.map(({ id, name, input = {} }, index) => ({
      type: 'call' as const,
      id: id ?? `call_${answers + 1}_${index + 1}`,
      name,
      input: typeof input === 'string' ? input : encode(input),
      ...meta,
    })),
  ]
  return parts.length > 0 ? parts : [{ type: 'text', text: '', ...meta }]
}

/** Streams word by word, as a provider does. */
function streamParts(parts: readonly AssistantPart[], { told }: ModelCall): void {
  for (const part of parts) {
    if (part.type === 'call') {
      told({ type: 'call', id: part.id, name: part.name })
      for (const delta of part.input.match(/[^,]*,|[^,]+/g) ?? []) told({ type: 'input', id: part.id, delta })
    } else if ('text' in part)
      for (const delta of part.text.match(/\S+\s*|\s+/g) ?? []) told({ type: part.type, delta })
  }
}

const perToken = 4
function estimateUsage({ instructions, messages }: ModelRequest, parts: readonly AssistantPart[]): Usage {
  const read = messages.reduce((sum, message) => sum + textOf(message).length, instructions?.length ?? 0)
  const lengthOf = (part: AssistantPart): number =>
    'text' in part ? part.text.length : 'input' in part ? part.input.length : 0
  const written = parts.reduce((sum, part) => sum + lengthOf(part), 0)
  return {
    inputTokens: Math.ceil(read / perToken),
    outputTokens: Math.ceil(written / perToken),
    cachedTokens: 0,
    reasoningTokens: 0,
  }
}
