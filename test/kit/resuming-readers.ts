// Readers of a turn that leave and resume, as clients do: each keeps what it shows and checks what arrives.

import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import type { FeedEvent, LiveEvent, Runtime, Turn, UiChunk } from 'pawl'
import { expect } from 'vitest'

export interface ResumingReader {
  readonly kind: string
  readonly isConnected: boolean
  /** True when the turn has ended, as far as this reader was told. */
  readonly isDone: boolean
  connect(runtime: Runtime): void
  leave(): Promise<void>
  /** The text of the turn as the reader shows it. Throws what went wrong. */
  shown(): string
}

abstract class Reader implements ResumingReader {
  abstract readonly kind: string
  isDone = false
  readonly session: string
  readonly turn: string
  #connection: { readonly stop: AbortController; readonly reading: Promise<void> } | null = null
  #failed: unknown

  constructor(session: string, turn: string) {
    this.session = session
    this.turn = turn
  }

  get isConnected(): boolean {
    return this.#connection !== null
  }

  connect(runtime: Runtime): void {
    if (this.#connection) return
    const stop = new AbortController()
    const reading = this.read(runtime, stop.signal).catch((error: unknown) => void (this.#failed ??= error))
    this.#connection = { stop, reading }
  }

  async leave(): Promise<void> {
    const connection = this.#connection
    this.#connection = null
    connection?.stop.abort()
    await connection?.reading
  }

  shown(): string {
    if (this.#failed) throw this.#failed
    return this.text()
  }

  protected abstract text(): string
  protected abstract read(runtime: Runtime, signal: AbortSignal): Promise<void>

  protected async handle(runtime: Runtime): Promise<Turn> {
    const turn = await runtime.session(this.session).turns.get(this.turn)
    if (!turn) throw new Error('The turn is not on record.')
    return turn
  }
}

/** Cancels the stream when the signal aborts. */
async function* untilAborted<T>(stream: ReadableStream<T>, signal: AbortSignal): AsyncGenerator<T> {
  const reader = stream.getReader()
  const cancel = (): void => void reader.cancel()
  if (signal.aborted) cancel()
  signal.addEventListener('abort', cancel)
  for (;;) {
    const { done, value } = await reader.read()
    if (done || signal.aborted) return
    yield value
  }
}

/** `textStream`: a reader that resumes reads the text from its beginning. */
export class TextReader extends Reader {
  readonly kind = 'textStream'
  #text = ''

  protected text(): string {
    return this.#text
  }

  protected async read(runtime: Runtime, signal: AbortSignal): Promise<void> {
    const { textStream } = await this.handle(runtime)
    this.#text = ''
    for await (const delta of untilAborted(textStream, signal)) this.#text += delta
    this.isDone = !signal.aborted
  }
}

/** `uiMessageStream({ stepsShown })`, reduced by the AI SDK. `keeps`: a page that keeps its message when it resumes. */
export class UiReader extends Reader {
  readonly kind = 'uiMessageStream'
  readonly #keeps: boolean
  message: UIMessage | undefined

  constructor(session: string, turn: string, keeps: boolean) {
    super(session, turn)
    this.#keeps = keeps
  }

  protected text(): string {
    return (this.message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
  }

  protected async read(runtime: Runtime, signal: AbortSignal): Promise<void> {
    const turn = await this.handle(runtime)
    if (!this.#keeps) this.message = undefined
    const message = this.message && structuredClone(this.message)
    const stepsShown = message?.parts.filter(({ type }) => type === 'step-start').length ?? 0
    const checker = new ChunkChecker(stepsShown)
    const chunks = untilAborted(turn.uiMessageStream({ stepsShown }), signal)
    const checked = async function* (): AsyncGenerator<UIMessageChunk> {
      for await (const chunk of chunks) {
        checker.check(chunk)
        yield chunk
      }
    }
    const stream = ReadableStream.from(checked())
    for await (const next of readUIMessageStream({ ...(message ? { message } : {}), stream, terminateOnError: true }))
      this.message = next
    this.isDone = checker.isFinished && !signal.aborted
    if (!signal.aborted) expect(checker.isFinished).toBe(true)
  }
}

/** Each chunk of a connection must fit those before it. */
class ChunkChecker {
  isFinished = false
  #hasStarted = false
  #isInStep: boolean
  readonly #texts = new Set<string>()
  readonly #inputs = new Set<string>()
  readonly #calls = new Set<string>()

  constructor(stepsShown: number) {
    this.#isInStep = stepsShown > 0
  }

  check(chunk: UiChunk): void {
    const fits = this.#fits(chunk)
    if (!fits || this.isFinished) throw new Error(`The chunk does not fit: ${JSON.stringify(chunk)}`)
    this.isFinished = chunk.type === 'finish'
  }

  #fits(chunk: UiChunk): boolean {
    if (!this.#hasStarted) return (this.#hasStarted = chunk.type === 'start')
    switch (chunk.type) {
      case 'start-step': {
        const fits = !this.#isInStep && this.#texts.size === 0
        this.#isInStep = true
        return fits
      }
      case 'finish-step': {
        const fits = this.#isInStep && this.#texts.size === 0
        this.#isInStep = false
        return fits
      }
      case 'reset-step':
        this.#texts.clear()
        this.#inputs.clear()
        return this.#isInStep
      case 'text-start':
      case 'reasoning-start':
        return this.#isInStep && !this.#texts.has(chunk.id) && this.#texts.add(chunk.id).size === 1
      case 'text-delta':
      case 'reasoning-delta':
        return this.#texts.has(chunk.id)
      case 'text-end':
      case 'reasoning-end':
        return this.#texts.delete(chunk.id)
      case 'tool-input-start':
        return this.#isInStep && !this.#inputs.has(chunk.toolCallId) && this.#inputs.add(chunk.toolCallId).size > 0
      case 'tool-input-delta':
        return this.#inputs.has(chunk.toolCallId)
      case 'tool-input-available':
        this.#calls.add(chunk.toolCallId)
        return this.#inputs.delete(chunk.toolCallId)
      case 'tool-output-available':
        return this.#isInStep && this.#calls.delete(chunk.toolCallId)
      case 'finish':
        return !this.#isInStep && this.#texts.size === 0 && this.#inputs.size === 0 && this.#calls.size === 0
      default:
        return false
    }
  }
}

interface OpenAnswer {
  readonly step: number
  text: string
  size: number
}

/**
 * `session.events({ after, live: true })`: goes on from the last recorded event. The deltas of the answer under way
 * arrive again from its beginning, so what was shown of it is discarded when the reader resumes.
 */
export class EventReader extends Reader {
  readonly kind = 'events'
  readonly recorded: string[] = []
  #cursor: string | undefined
  #answers = ''
  #open: OpenAnswer | null = null

  protected text(): string {
    return this.#answers + (this.#open?.text ?? '')
  }

  protected async read(runtime: Runtime, signal: AbortSignal): Promise<void> {
    this.#open = null
    const session = runtime.session(this.session)
    const after = this.#cursor === undefined ? {} : { after: this.#cursor }
    for await (const event of session.events({ ...after, live: true, signal })) {
      if (signal.aborted) return
      if (event.live === undefined) {
        this.#cursor = event.cursor
        this.recorded.push(`${event.cursor} ${event.type}`)
        if (event.type === 'turn.answered') await this.#answered(runtime, event)
        if (event.type === 'turn.ended' || event.type === 'turn.failed') {
          this.isDone = true
          return
        }
      } else this.#receive(event)
    }
  }

  #receive(event: LiveEvent): void {
    if (event.type === 'turn.retracted' && this.#open?.step === event.body.step) this.#open = null
    if (event.type !== 'turn.delta') return
    const { step, offset } = event.body
    if (offset === 0 && this.#open?.step !== step) this.#open = { step, text: '', size: 0 }
    const open = this.#open
    // Neither a gap nor a repeat.
    expect({ step, offset }).toEqual({ step: open?.step, offset: open?.size })
    if (!open) return
    if (event.body.type === 'text') open.text += event.body.delta
    open.size += event.body.type === 'call' ? 1 : event.body.delta.length
  }

  /** A reader that saw deltas of the answer saw all of them. */
  async #answered(runtime: Runtime, { body }: Extract<FeedEvent, { type: 'turn.answered' }>): Promise<void> {
    const messages = await runtime.session(this.session).messages.list({ limit: 100 })
    const found = messages.find(({ number }) => number === body.message)?.message
    if (found?.role !== 'assistant') throw new Error('The answer is not on record.')
    const text = found.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
    if (this.#open) expect(this.#open).toMatchObject({ step: body.step, text })
    this.#answers += text
    this.#open = null
  }
}
