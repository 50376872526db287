// Requests one answer from a model: retries retryable failures, streams deltas as live events, and retracts them if
// the answer is cut off.

import { attachmentsOf } from '../calls/context/attachments.ts'
import type { Execution } from '../engine/engine.ts'
import { maxNameLength } from '../core/ids.ts'
import type { Clock } from '../core/clock.ts'
import { encode, toRecordedForm } from '../core/tool-value.ts'
import type { AssistantPart } from '../models/message.ts'
import {
  type FinishReason,
  idleTimeoutOf,
  type Model,
  type ModelAnswer,
  type ModelDelta,
  ModelFailure,
  type ModelRequest,
  type Usage,
} from '../models/model.ts'
import type { RedactedStream, Redactor } from '../security/redact.ts'
import { observeModelCall } from './observe-model-call.ts'
import type { TurnHost } from './ports.ts'

const maxTries = 4
const retryBaseMs = 1_000
const retryMaxMs = 60_000

interface AskOptions {
  readonly request: ModelRequest
  readonly step: number
  readonly signal: AbortSignal
  /** Whether the arguments of a tool may be streamed. Default: those of no tool. */
  readonly showsInput?: (tool: string) => boolean
  /** Do not stream deltas. */
  readonly quiet?: boolean
  /** An earlier execution may have streamed deltas of this answer; they are retracted first. */
  readonly mayRetract?: boolean
}

export async function askModel(
  host: TurnHost,
  execution: Execution,
  model: Model,
  { request: input, step, signal, showsInput = () => false, quiet = false, mayRetract = false }: AskOptions,
): Promise<ModelAnswer> {
  const { position } = execution.request
  const about = { turn: position.id, step }
  const { instructions } = input
  // A file of a message just sent is not recorded yet, so attachments are read through the execution.
  const { read } = attachmentsOf(execution, host.sizes)
  const request = instructions === null ? input : { ...input, instructions: host.redact.text(instructions) }
  for (let tries = 1; ; tries++) {
    const answerStream = host.feed.openAnswer(execution, about, tries)
    if (mayRetract && tries === 1) await answerStream.retract()
    let hasStreamed = false
    // Deltas that arrive after the answer ended or was cut off are dropped.
    let isClosed = false
    const observed = observeModelCall(host, execution, model.name, tries)
    const stream = redactedStream(host.redact, showsInput, (delta) => answerStream.push(delta))
    try {
      const answer = await awaitModel(host.clock, { signal, idleMs: idleTimeoutOf(model) }, (own, alive) =>
        observed.run(() =>
          model.generate({
            request,
            signal: own,
            read,
            alive,
            told: (delta) => {
              alive()
              if (isClosed || signal.aborted || quiet) return
              hasStreamed = true
              stream.push(delta)
            },
          }),
        ),
      )
      isClosed = true
      stream.end()
      await answerStream.end()
      const checked = checkAnswer(answer, step)
      observed.end('success', checked.usage)
      return checked
    } catch (error) {
      isClosed = true
      observed.end(signal.aborted ? 'cancelled' : 'failure', null)
      if (hasStreamed) await answerStream.retract()
      if (signal.aborted) throw error
      const failure = error instanceof ModelFailure ? error : new ModelFailure('it failed', { cause: error })
      if (!failure.retryable || tries >= maxTries) throw failure
      const { afterMs = NaN } = failure
      const delayMs = Math.min(retryMaxMs, afterMs >= 0 ? afterMs : retryBaseMs * 2 ** (tries - 1))
      host.logger.warn('A model request failed; retrying', {
        model: model.name,
        tries,
        delayMs,
        error: failure,
      })
      await delay(host.clock, delayMs, signal)
    }
  }
}

type TextDelta = Exclude<ModelDelta, { type: 'call' }>

interface OpenText {
  readonly last: TextDelta
  readonly pieces: RedactedStream
  readonly carry: string
}

/**
 * An escape in JSON text that can hide a secret which is encoded once more, as entities for example. The arguments are
 * not streamed from there on: they are redacted as a whole when the answer is recorded.
 */
const unreadableEscape = /\\(?![nrtbf/])/

/**
 * Redacts deltas before they are emitted. A secret may be split across deltas, so texts, reasoning and the arguments of
 * each call have their own redactor.
 */
function redactedStream(
  redact: Redactor,
  showsInput: (tool: string) => boolean,
  emit: (delta: ModelDelta) => void,
): { push(delta: ModelDelta): void; end(): void } {
  /** Text and reasoning deltas may alternate, and so may the arguments of several calls. */
  const open = new Map<string, OpenText>()
  /** Announced calls whose arguments are streamed. */
  const shown = new Set<string>()
  const keyOf = (delta: TextDelta): string => (delta.type === 'input' ? `input ${delta.id}` : delta.type)
  const emitText = (of: TextDelta, delta: string): void => {
    if (delta !== '') emit({ ...of, delta })
  }
  const end = (which: (type: TextDelta['type']) => boolean): void => {
    for (const [key, { last, pieces }] of open) {
      if (!which(last.type)) continue
      open.delete(key)
      emitText(last, pieces.end())
    }
  }
  return {
    push(delta) {
      if (delta.type === 'call') {
        end((type) => type !== 'input')
        if (delta.provider || showsInput(delta.name)) shown.add(delta.id)
        return emit({ ...delta, name: redact.text(delta.name) })
      }
      if (delta.type === 'input' && !shown.has(delta.id)) return
      const key = keyOf(delta)
      const { pieces = redact.stream(), carry = '' } = open.get(key) ?? {}
      const text = carry + delta.delta
      const cutAt = delta.type === 'input' && redact.active ? unreadableEscape.exec(text)?.index : undefined
      // A backslash at the end may begin such an escape.
      const isCut = cutAt !== undefined && cutAt < text.length - 1
      const held = cutAt !== undefined && !isCut ? '\\' : ''
      open.set(key, { last: delta, pieces, carry: held })
      emitText(delta, pieces.push(cutAt === undefined ? text : text.slice(0, cutAt)))
      if (!isCut) return
      open.delete(key) // with what the redactor holds back
      shown.delete((delta as Extract<TextDelta, { type: 'input' }>).id)
    },
    end: () => end(() => true),
  }
}

function delay(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancelTimer = clock.timer(ms, () => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
    const stop = (): void => {
      cancelTimer()
      reject(signal.reason as Error)
    }
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
  })
}

/** Validates and normalizes a provider's answer for the record. */
function checkAnswer(answer: ModelAnswer, step: number): ModelAnswer {
  try {
    return normalizeAnswer(answer, step)
  } catch (cause) {
    throw cause instanceof ModelFailure ? cause : new ModelFailure('its answer cannot be recorded', { cause })
  }
}

function normalizeAnswer(answer: ModelAnswer, step: number): ModelAnswer {
  if (typeof answer !== 'object' || answer === null || !Array.isArray(answer.parts))
    throw new ModelFailure('it returned no answer')
  let calls = 0
  const parts = (answer.parts as AssistantPart[]).map((part): AssistantPart => {
    const meta = part.meta === undefined ? {} : { meta: toRecordedForm(part.meta) }
    if (part.type === 'provider_call' || part.type === 'provider_result' || part.type === 'source')
      return normalizeProviderPart(part)
    if (part.type !== 'call')
      return { type: part.type === 'reasoning' ? 'reasoning' : 'text', text: part.text.toWellFormed(), ...meta }
    calls++
    const { id, name, input } = part
    return {
      type: 'call',
      id: isName(id) ? id : `call_${step}_${calls}`,
      name: isName(name) ? name : 'unnamed',
      input: (typeof input === 'string' ? input : encode(input)).toWellFormed(),
      ...meta,
    }
  })
  const finish = finishReasons.has(answer.finish) ? answer.finish : 'other'
  const isTruncated = finish === 'length' || finish === 'filter'
  const reason = finish === 'calls' ? 'other' : finish
  return {
    parts: isTruncated ? breakTruncatedCall(parts) : parts,
    finish: calls > 0 && !isTruncated ? 'calls' : reason,
    usage: normalizeUsage(answer.usage),
  }
}

type ProviderPart = Extract<AssistantPart, { type: 'provider_call' | 'provider_result' | 'source' }>

/** A JSON copy. What a provider's tool returned may hold a lone surrogate, which the record cannot hold. */
function normalizeProviderPart(given: ProviderPart): AssistantPart {
  const part = JSON.parse(JSON.stringify(given), (_, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  ) as ProviderPart
  if (part.type === 'source') return { ...part, id: textOr(part.id, 'source') }
  const of = { name: textOr(part.name, 'unnamed'), provider: textOr(part.provider, 'unknown') }
  if (part.type === 'provider_result')
    return { ...part, ...of, callId: textOr(part.callId, ''), output: part.output ?? null }
  return { ...part, ...of, id: textOr(part.id, ''), input: textOr(part.input, '{}') }
}

const textOr = (value: unknown, other: string): string => (typeof value === 'string' ? value : other)

const finishReasons: ReadonlySet<unknown> = new Set<FinishReason>([
  'stop',
  'calls',
  'length',
  'filter',
  'paused',
  'other',
])

/** A call cut off before its first argument character would read as "no arguments" and run; '{' makes it invalid. */
function breakTruncatedCall(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const last = parts.at(-1)
  return last?.type === 'call' && last.input.trim() === '' ? [...parts.slice(0, -1), { ...last, input: '{' }] : parts
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= maxNameLength &&
  value.isWellFormed() &&
  !value.includes('\0')

const tokenCount = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0

const normalizeUsage = (usage: Partial<Usage> | undefined): Usage => ({
  inputTokens: tokenCount(usage?.inputTokens),
  outputTokens: tokenCount(usage?.outputTokens),
  cachedTokens: tokenCount(usage?.cachedTokens),
  reasoningTokens: tokenCount(usage?.reasoningTokens),
})

const graceMs = 50

interface AwaitOptions {
  /** The caller's signal. */
  readonly signal: AbortSignal
  /** Idle timeout in milliseconds; null for none. */
  readonly idleMs: number | null
}

/**
 * Waits for an answer with two limits: a grace period after an abort, and an idle timeout. `ask` gets its own signal
 * and reports activity by calling `alive`.
 */
async function awaitModel<T>(
  clock: Clock,
  { signal, idleMs }: AwaitOptions,
  ask: (signal: AbortSignal, alive: () => void) => Promise<T>,
): Promise<T> {
  const own = new AbortController()
  // Monotonic: changes of the wall clock do not matter.
  let lastActivity = clock.monotonic()
  let cancelGraceTimer = (): void => {}
  let cancelIdleTimer = (): void => {}
  let removeListener = (): void => {}
  const abandoned = new Promise<never>((_, reject) => {
    const stop = (): void => {
      cancelGraceTimer = clock.timer(graceMs, () => reject(signal.reason as Error))
      own.abort(signal.reason)
    }
    signal.addEventListener('abort', stop, { once: true })
    removeListener = () => signal.removeEventListener('abort', stop)
    if (signal.aborted) stop()
    if (idleMs === null) return
    // The timer is checked when it fires and not reset with every delta.
    const watchIdle = (ms: number): void => {
      cancelIdleTimer = clock.timer(ms, () => {
        const left = lastActivity + idleMs - clock.monotonic()
        if (left > 0) return watchIdle(left)
        const idle = new ModelFailure(`no activity for ${idleMs / 1_000} s`, { retryable: true })
        // Reject first, so that the model's abort error does not become the reason.
        reject(idle)
        own.abort(idle)
      })
    }
    watchIdle(idleMs)
  })
  try {
    const answer = ask(own.signal, () => void (lastActivity = clock.monotonic()))
    answer.catch(() => {}) // prevents an unhandled rejection after the race is lost
    return await Promise.race([answer, abandoned])
  } finally {
    cancelGraceTimer()
    cancelIdleTimer()
    removeListener()
  }
}
