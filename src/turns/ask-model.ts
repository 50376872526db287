// One answer of a model: asked again where that may help, told to those who watch as it comes, and taken back where it broke off (SESS-2).

import { attachmentsOf } from '../calls/context/attachments.ts'
import type { Execution } from '../engine/engine.ts'
import { longestName } from '../core/ids.ts'
import type { Clock } from '../core/clock.ts'
import { encode, recorded } from '../core/value.ts'
import type { AssistantPart } from '../models/message.ts'
import {
  type FinishReason,
  idleOf,
  type Model,
  type ModelAnswer,
  type ModelDelta,
  ModelFailure,
  type ModelRequest,
  type Usage,
} from '../models/model.ts'
import type { TurnHost } from './ports.ts'
import { listen } from './await-model.ts'

const mostTries = 4
const baseMs = 1_000
const capMs = 60_000

interface Asking {
  readonly request: ModelRequest
  readonly step: number
  readonly signal: AbortSignal
  /** Nobody watches. */
  readonly quiet?: boolean
  /** An execution that is gone may have asked for it: whoever watched that one has read what nobody will say. */
  readonly again?: boolean
}

export async function askModel(
  host: TurnHost,
  execution: Execution,
  model: Model,
  { request: given, step, signal, quiet = false, again = false }: Asking,
): Promise<ModelAnswer> {
  const { position } = execution.request
  const about = { turn: position.id, step }
  let told = again
  const { instructions } = given
  // What a user has just sent is not on record yet.
  const { read } = attachmentsOf(execution, host.sizes)
  const request = instructions === null ? given : { ...given, instructions: host.clean(instructions) }
  for (let tries = 1; ; tries++) {
    if (told) host.live(execution, 'turn.retracted', about)
    told = false
    // What comes when it is over, late or after it broke off, is nobody's any more.
    let over = false
    const watched = watching(host, (delta) => host.live(execution, 'turn.delta', { ...about, ...delta }))
    try {
      const answer = await listen(host.clock, { signal, idleMs: idleOf(model) }, (own, alive) =>
        model.generate({
          request,
          signal: own,
          read,
          alive,
          told: (delta) => {
            alive()
            if (over || signal.aborted || quiet) return
            told = true
            watched.told(delta)
          },
        }),
      )
      over = true
      watched.end()
      return checked(answer, step)
    } catch (error) {
      over = true
      if (told) host.live(execution, 'turn.retracted', about)
      told = false
      if (signal.aborted) throw error
      const failed = error instanceof ModelFailure ? error : new ModelFailure('it failed', { cause: error })
      if (!failed.retryable || tries >= mostTries) throw failed
      const { afterMs = NaN } = failed
      const delayMs = Math.min(capMs, afterMs >= 0 ? afterMs : baseMs * 2 ** (tries - 1))
      host.logger.warn('A model could not answer; it is asked again', {
        model: model.name,
        tries,
        delayMs,
        error: failed,
      })
      await later(host.clock, delayMs, signal)
    }
  }
}

/** What people read while it comes: without secrets, of which one may come in two pieces. */
function watching(host: TurnHost, tell: (delta: ModelDelta) => void): { told(delta: ModelDelta): void; end(): void } {
  /** Thoughts and words may come by turns. */
  const open = new Map<'text' | 'reasoning', ReturnType<TurnHost['pieces']>>()
  const say = (type: 'text' | 'reasoning', delta: string): void => {
    if (delta !== '') tell({ type, delta })
  }
  const end = (): void => {
    for (const [type, pieces] of open) say(type, pieces.end())
    open.clear()
  }
  return {
    told(delta) {
      if (delta.type === 'call') {
        end()
        return tell({ ...delta, name: host.clean(delta.name) })
      }
      let pieces = open.get(delta.type)
      if (!pieces) open.set(delta.type, (pieces = host.pieces()))
      say(delta.type, pieces.push(delta.delta))
    },
    end,
  }
}

function later(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const callOff = clock.timer(ms, () => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
    const stop = (): void => {
      callOff()
      reject(signal.reason as Error)
    }
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
  })
}

/** What a provider gives may be anything; what goes on record has a form. */
function checked(answer: ModelAnswer, step: number): ModelAnswer {
  try {
    return formed(answer, step)
  } catch (cause) {
    throw cause instanceof ModelFailure
      ? cause
      : new ModelFailure('its answer has no form that could be recorded', { cause })
  }
}

function formed(answer: ModelAnswer, step: number): ModelAnswer {
  if (typeof answer !== 'object' || answer === null || !Array.isArray(answer.parts))
    throw new ModelFailure('it gave no answer')
  let calls = 0
  const parts = (answer.parts as AssistantPart[]).map((part): AssistantPart => {
    const meta = part.meta === undefined ? {} : { meta: recorded(part.meta) }
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
  const finish = reasons.has(answer.finish) ? answer.finish : 'other'
  const isCut = finish === 'length' || finish === 'filter'
  const said = finish === 'calls' ? 'other' : finish
  return {
    parts: isCut ? cut(parts) : parts,
    finish: calls > 0 && !isCut ? 'calls' : said,
    usage: usageOf(answer.usage),
  }
}

const reasons: ReadonlySet<unknown> = new Set<FinishReason>(['stop', 'calls', 'length', 'filter', 'other'])

/** Cut off before the first character is not "no arguments": as half an object it is refused instead of run. */
function cut(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const last = parts.at(-1)
  return last?.type === 'call' && last.input.trim() === '' ? [...parts.slice(0, -1), { ...last, input: '{' }] : parts
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= longestName &&
  value.isWellFormed() &&
  !value.includes('\0')

const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0

const usageOf = (given: Partial<Usage> | undefined): Usage => ({
  inputTokens: count(given?.inputTokens),
  outputTokens: count(given?.outputTokens),
  cachedTokens: count(given?.cachedTokens),
  reasoningTokens: count(given?.reasoningTokens),
})
