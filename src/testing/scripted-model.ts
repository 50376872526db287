// A model that says what a script says: for tests, demos and work without a network (SESS-2). What it answers depends on the conversation alone, so another
// process goes on with the same script after a crash.

import { type AssistantPart, type ModelMessage, textOf } from '../models/message.ts'
import {
  type Model,
  type ModelCall,
  ModelFailure,
  type ModelPrice,
  type ModelRequest,
  type Usage,
} from '../models/model.ts'
import { encode, type Json } from '../core/value.ts'

export interface ScriptedCall {
  readonly name: string
  /** The arguments, or the text that stands for them. */
  readonly input?: unknown
  readonly id?: string
}

export interface ScriptedLine {
  /** Said whenever the last thing said to the model holds this; else lines are said in their order, one an answer. */
  readonly when?: string | RegExp
  readonly say?: string
  readonly think?: string
  readonly call?: ScriptedCall | readonly ScriptedCall[]
  readonly usage?: Partial<Usage>
  /** Fails so often before it answers; counted in this process. */
  readonly fails?: {
    readonly times: number
    readonly what?: string
    readonly retryable?: boolean
    readonly tooLong?: boolean
    readonly afterMs?: number
  }
}

export interface Seen {
  readonly request: ModelRequest
  /** The text of the last message. */
  readonly last: string
  /** How many answers the conversation has so far. */
  readonly answers: number
}

/** A text is said as it is; a function looks first. */
export type Line = string | ScriptedLine | ((seen: Seen) => string | ScriptedLine)

export interface ScriptedModel extends Model {
  /** How often it was asked in this process, failures included. */
  readonly asked: number
  /** What it was given each time. */
  readonly requests: readonly ModelRequest[]
}

export interface ScriptedModelOptions {
  readonly name?: string
  readonly contextTokens?: number
  readonly price?: ModelPrice
  /** Before each answer: for tests that need the model to take its time. */
  readonly wait?: (seen: Seen, signal: AbortSignal) => Promise<void>
}

export function scriptedModel(lines: readonly Line[], options: ScriptedModelOptions = {}): ScriptedModel {
  const { name = 'scripted', contextTokens, price, wait } = options
  const requests: ModelRequest[] = []
  /** By the line as it stands in the script. */
  const failed = new Map<Line, number>()
  return {
    name,
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(price === undefined ? {} : { price }),
    get asked() {
      return requests.length
    },
    requests,
    async generate(call) {
      const { request, signal } = call
      requests.push(request)
      const seen = seenIn(request)
      const { line, which, from } = chosen(lines, seen, name)
      await wait?.(seen, signal)
      signal.throwIfAborted()
      const { fails, ...said } = typeof line === 'string' ? { say: line } : line
      const before = failed.get(from) ?? 0
      if (fails && before < fails.times) {
        failed.set(from, before + 1)
        if (said.say !== undefined) call.told({ type: 'text', delta: said.say.slice(0, 5) })
        const { what = 'overloaded', tooLong = false, retryable = !tooLong, afterMs } = fails
        throw new ModelFailure(what, { retryable, tooLong, ...(afterMs === undefined ? {} : { afterMs }) })
      }
      const parts = partsOf(said, seen.answers, which === null ? {} : { meta: { script: name, line: which } })
      tell(parts, call)
      return {
        parts,
        finish: parts.some(({ type }) => type === 'call') ? 'calls' : 'stop',
        usage: { ...guessed(request, parts), ...said.usage },
      }
    },
  }
}

function seenIn(request: ModelRequest): Seen {
  const last = request.messages.at(-1)
  return {
    request,
    last: last ? textOf(last) : '',
    answers: request.messages.filter(({ role }) => role === 'assistant').length,
  }
}

interface Chosen {
  readonly line: string | ScriptedLine
  /** Its number, if it is one of those that are said in order. */
  readonly which: number | null
  readonly from: Line
}

function chosen(lines: readonly Line[], seen: Seen, name: string): Chosen {
  const inOrder: Line[] = []
  for (const line of lines) {
    const { when } = typeof line === 'object' ? line : {}
    if (when === undefined) inOrder.push(line)
    // Not test(): that remembers where it was.
    else if (typeof when === 'string' ? seen.last.includes(when) : seen.last.search(when) !== -1)
      return { line: line as ScriptedLine, which: null, from: line }
  }
  // After the last that was said: what came before it may have been summed up.
  const which = seen.request.messages.reduce((next, message) => Math.max(next, lineOf(message, name) + 1), 0)
  const from = inOrder[which]
  if (from === undefined)
    throw new ModelFailure(`the script has no line for ${JSON.stringify(seen.last.slice(0, 200))}`)
  return { line: typeof from === 'function' ? from(seen) : from, which, from }
}

/** Which line of the script it says; -1 for none. */
function lineOf(message: ModelMessage, name: string): number {
  const said =
    message.role === 'assistant'
      ? message.parts.map(({ meta }) => meta as { script?: unknown; line?: unknown } | undefined)
      : []
  return Math.max(-1, ...said.map((meta) => (meta?.script === name && typeof meta.line === 'number' ? meta.line : -1)))
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

/** Word by word, as a provider would. */
function tell(parts: readonly AssistantPart[], { told }: ModelCall): void {
  for (const part of parts) {
    if (part.type === 'call') told({ type: 'call', id: part.id, name: part.name })
    else for (const delta of part.text.match(/\S+\s*|\s+/g) ?? []) told({ type: part.type, delta })
  }
}

const perToken = 4
function guessed({ instructions, messages }: ModelRequest, parts: readonly AssistantPart[]): Usage {
  const read = messages.reduce((sum, message) => sum + textOf(message).length, instructions?.length ?? 0)
  const said = parts.reduce((sum, part) => sum + (part.type === 'call' ? part.input.length : part.text.length), 0)
  return {
    inputTokens: Math.ceil(read / perToken),
    outputTokens: Math.ceil(said / perToken),
    cachedTokens: 0,
    reasoningTokens: 0,
  }
}
