// Makes spans from the events of the observer port, and says in which span the code of a call runs.
//
// No span stays open while a call waits: its parts are spans of their own (attempts, waits, steps, model requests),
// whose parent is the trace context that is stored with the call. They may come from different workers.

import type { Attributes, Context, Link, Span, SpanContext, Tracer } from '@opentelemetry/api'
import { isThenable, type MaybePromise } from '../core/maybe-promise.ts'
import type { ObservedCall, ObservedEvent, TracedSpan, Tracing } from '../core/observer.ts'
import { kindOf, shownTool } from './call-kind.ts'
import { api } from './load-api.ts'
import { errorType, resumeReason } from './measurements.ts'
import { RecentSpans } from './recent-spans.ts'
import { derivedSpanId, type StableSpanIds } from './span-ids.ts'
import { spanContextOf, traceparentOf } from './traceparent.ts'

const { context: contexts, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace: traces } = api

type EventOf<Type extends ObservedEvent['type']> = Extract<ObservedEvent, { type: Type }>

interface SpanStart {
  readonly kind?: (typeof SpanKind)[keyof typeof SpanKind]
  readonly at: number
  readonly parent: SpanContext | null
  readonly attributes: Attributes
  readonly links?: readonly (SpanContext | null)[]
  /** The id of the span, if the host uses stable ids. */
  readonly id?: string
}

interface OpenAttempt {
  readonly attempt: number
  readonly span: Span
}

export interface SpanOptions {
  readonly tracer: Tracer
  readonly ids: StableSpanIds | null
  /** Read the arguments and results of calls. */
  readonly content: boolean
}

export class SpanRecorder implements Tracing {
  readonly #tracer: Tracer
  readonly #ids: StableSpanIds | null
  readonly #content: boolean
  /** The running attempts of this process, by the uid of the call. */
  readonly #attempts = new Map<string, OpenAttempt>()
  readonly #modelCalls = new Map<number, Span>()
  readonly #recent = new RecentSpans()

  constructor({ tracer, ids, content }: SpanOptions) {
    this.#tracer = tracer
    this.#ids = ids
    this.#content = content
  }

  active(): string | null {
    const active = traces.getSpanContext(contexts.active())
    return active && api.isSpanContextValid(active) ? traceparentOf(active) : null
  }

  /**
   * A call without a parent, and a turn without stable ids, get a short span of the request: it is exported at once,
   * so it is a parent that exists whatever happens to the workers.
   */
  requested(call: ObservedCall, parent: string | null): string | null {
    const { kind } = kindOf(call)
    if (kind === 'internal' || (parent !== null && (kind === 'tool' || this.#ids))) return parent
    const span = this.#tracer.startSpan(
      'pawl.request',
      { kind: SpanKind.PRODUCER, attributes: { ...callAttributes(call), 'pawl.request': kind } },
      contextWith(spanContextOf(parent)),
    )
    span.end()
    const own = span.spanContext()
    return api.isSpanContextValid(own) ? traceparentOf(own) : parent
  }

  spanOf(call: ObservedCall, request?: number): TracedSpan | null {
    const span = this.#modelCalls.get(request ?? -1) ?? this.#attempts.get(call.call)?.span
    if (span) return tracedSpan(span.spanContext(), traces.setSpan(contexts.active(), span))
    const stored = this.#contextOf(call)
    return stored && tracedSpan(stored, contextWith(stored))
  }

  detached<T>(work: () => T): T {
    return contexts.with(ROOT_CONTEXT, work)
  }

  record(event: ObservedEvent): void {
    switch (event.type) {
      case 'callStarted':
        return event.resumed ? this.#resumed(event) : undefined
      case 'callSettled':
        return this.#settled(event)
      case 'attemptStarted':
        return this.#attemptStarted(event)
      case 'attemptEnded':
        return this.#attemptEnded(event)
      case 'stepEnded':
        return this.#step(event)
      case 'waitResolved':
        return this.#wait(event)
      case 'modelCallStarted':
        return this.#modelCallStarted(event)
      case 'modelCallEnded':
        return this.#modelCallEnded(event)
      default:
        return undefined
    }
  }

  /** The parent of the spans of a call. With stable ids those of a turn have its `invoke_agent` span as parent. */
  #contextOf(call: ObservedCall): SpanContext | null {
    const stored = spanContextOf(call.traceparent)
    if (!stored || !this.#ids || kindOf(call).kind !== 'turn') return stored
    return { ...stored, spanId: derivedSpanId(call.call, 'turn') }
  }

  #start(name: string, { kind = SpanKind.INTERNAL, at, parent, attributes, links = [], id }: SpanStart): Span {
    const valid = links.filter((link) => link !== null).map((context): Link => ({ context }))
    const start = (): Span =>
      this.#tracer.startSpan(name, { kind, startTime: at, attributes, links: valid }, contextWith(parent))
    return this.#ids && id !== undefined ? this.#ids.withId(id, start) : start()
  }

  /** A span of the same trace that perhaps another worker made. Null without stable ids. */
  #derived(call: ObservedCall, part: string): SpanContext | null {
    const stored = this.#ids && spanContextOf(call.traceparent)
    return stored ? { ...stored, spanId: derivedSpanId(call.call, part) } : null
  }

  #resumed(event: EventOf<'callStarted'>): void {
    const { at, lostWorker, interrupted, wait } = event
    const lost = lostWorker && interrupted && kindOf(event).kind === 'tool' ? interrupted : null
    if (lost) this.#lostAttempt(event, lost)
    const previous = lost
      ? this.#derived(event, attemptPart(lost.attempt))
      : wait === undefined
        ? null
        : this.#derived(event, waitPart(wait))
    const span = this.#start('pawl.resume', {
      at,
      parent: this.#contextOf(event),
      attributes: { ...callAttributes(event), 'pawl.reason': resumeReason(event) },
      links: [previous ?? this.#recent.of(event.call)],
    })
    span.end(at)
    this.#recent.set(event.call, span.spanContext())
  }

  /** The worker could not export the span of this attempt, so the one that takes over the call does. */
  #lostAttempt(event: EventOf<'callStarted'>, lost: { readonly attempt: number; readonly startedAt: number }): void {
    const span = this.#start(`execute_tool ${shownTool(event)}`, {
      at: lost.startedAt,
      parent: this.#contextOf(event),
      attributes: { ...toolAttributes(event, lost.attempt), 'pawl.outcome': 'lost', 'error.type': 'worker_lost' },
      id: derivedSpanId(event.call, attemptPart(lost.attempt)),
    })
    span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(event.at)
  }

  #attemptStarted(event: EventOf<'attemptStarted'>): void {
    const { call, attempt, at } = event
    const earlier = attempt > 1 ? this.#derived(event, attemptPart(attempt - 1)) : null
    const span = this.#start(`execute_tool ${shownTool(event)}`, {
      at,
      parent: this.#contextOf(event),
      attributes: toolAttributes(event, attempt),
      links: [this.#recent.of(call), earlier],
      id: derivedSpanId(call, attemptPart(attempt)),
    })
    this.#attempts.get(call)?.span.end(at)
    this.#attempts.set(call, { attempt, span })
  }

  #attemptEnded(event: EventOf<'attemptEnded'>): void {
    const { call, attempt, at, status } = event
    const open = this.#attempts.get(call)
    if (open?.attempt !== attempt) return
    this.#attempts.delete(call)
    const { span } = open
    this.#recent.set(call, span.spanContext())
    span.setAttribute('pawl.outcome', status)
    fail(span, errorType(event))
    endWith(
      span,
      at,
      () => event.texts({ content: this.#content }),
      (texts) => {
        const { callId, description, arguments: args, result } = texts
        span.setAttributes({ 'gen_ai.tool.call.id': callId, 'gen_ai.tool.description': description })
        if (args !== null) span.setAttribute('gen_ai.tool.call.arguments', args)
        if (result !== null) span.setAttribute('gen_ai.tool.call.result', result)
      },
    )
  }

  #step(event: EventOf<'stepEnded'>): void {
    const { call, attempt, at, durationMs, status } = event
    const open = this.#attempts.get(call)
    const span = this.#start('pawl.step', {
      at: at - durationMs,
      parent: open?.span.spanContext() ?? this.#contextOf(event),
      attributes: { ...callAttributes(event), 'gen_ai.tool.name': shownTool(event), 'pawl.attempt': attempt },
    })
    fail(span, status === 'failure' ? '_OTHER' : null)
    endWith(
      span,
      at,
      () => event.name(),
      (name) => {
        span.updateName(`pawl.step ${name}`)
        span.setAttribute('pawl.step', name)
      },
    )
  }

  #wait(event: EventOf<'waitResolved'>): void {
    const { call, wait, kind, by, at, durationMs, attempt, answeredIn } = event
    const before = attempt > 0 ? this.#derived(event, attemptPart(attempt)) : null
    const span = this.#start(`pawl.wait ${kind}`, {
      at: at - durationMs,
      parent: this.#contextOf(event),
      attributes: { ...callAttributes(event), 'pawl.wait.kind': kind, 'pawl.wait.answer': by },
      links: [before ?? this.#recent.of(call), spanContextOf(answeredIn)],
      id: derivedSpanId(call, waitPart(wait)),
    })
    span.end(at)
    this.#recent.set(call, span.spanContext())
  }

  #modelCallStarted(event: EventOf<'modelCallStarted'>): void {
    const { call, request, model, attempt, at } = event
    const span = this.#start(`chat ${model}`, {
      kind: SpanKind.CLIENT,
      at,
      parent: this.#attempts.get(call)?.span.spanContext() ?? this.#contextOf(event),
      attributes: {
        ...callAttributes(event),
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': model,
        'pawl.attempt': attempt,
      },
    })
    this.#modelCalls.set(request, span)
  }

  #modelCallEnded({ call, request, at, status, usage }: EventOf<'modelCallEnded'>): void {
    const span = this.#modelCalls.get(request)
    if (!span) return
    this.#modelCalls.delete(request)
    if (usage)
      span.setAttributes({
        'gen_ai.usage.input_tokens': usage.inputTokens,
        'gen_ai.usage.output_tokens': usage.outputTokens,
        'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens,
        'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
      })
    fail(span, status === 'success' ? null : status === 'cancelled' ? 'cancelled' : '_OTHER')
    span.end(at)
    this.#recent.set(call, span.spanContext())
  }

  #settled(event: EventOf<'callSettled'>): void {
    const { call, at, createdAt, status, attempts } = event
    const kind = kindOf(event)
    const last = this.#recent.of(call)
    this.#recent.delete(call)
    if (kind.kind === 'internal' || (kind.kind === 'tool' && attempts > 0)) return
    const isTurn = kind.kind === 'turn'
    const span = this.#start(isTurn ? 'invoke_agent' : `execute_tool ${shownTool(event)}`, {
      at: createdAt,
      parent: spanContextOf(event.traceparent),
      attributes: isTurn
        ? {
            ...callAttributes(event),
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.request.model': kind.model,
            'pawl.outcome': status,
          }
        : { ...toolAttributes(event, 0), 'pawl.outcome': status }, // refused or cancelled before its body began
      links: [isTurn ? null : last],
      ...(isTurn ? { id: derivedSpanId(call, 'turn') } : {}),
    })
    fail(span, errorType(event))
    span.end(at)
  }
}

const attemptPart = (attempt: number): string => `attempt ${attempt}`
const waitPart = (wait: string): string => `wait ${wait}`

const callAttributes = ({ call, tenant, session }: ObservedCall): Attributes => ({
  'gen_ai.conversation.id': session,
  'pawl.call': call,
  'pawl.tenant': tenant,
})

const toolAttributes = (call: ObservedCall, attempt: number): Attributes => ({
  ...callAttributes(call),
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.name': shownTool(call),
  'gen_ai.tool.type': 'function',
  'pawl.attempt': attempt,
})

/** Without the active context: its span and baggage belong to the code that triggered this. */
const contextWith = (parent: SpanContext | null): Context =>
  parent ? traces.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT

const tracedSpan = (span: SpanContext, within: Context): TracedSpan => ({
  traceparent: traceparentOf(span),
  run: (work) => contexts.with(within, work),
})

/** The status has no message: that of an error may contain anything. */
function fail(span: Span, error: string | null): void {
  if (error === null) return
  span.setAttribute('error.type', error)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

/** Ends the span with texts that may have to be read first, or without them. */
function endWith<T>(span: Span, at: number, read: () => MaybePromise<T>, set: (texts: T) => void): void {
  const finish = (texts: T): void => {
    try {
      set(texts)
    } finally {
      span.end(at)
    }
  }
  let texts: MaybePromise<T>
  try {
    texts = read()
  } catch {
    return span.end(at)
  }
  if (!isThenable(texts)) return finish(texts)
  texts.then(finish, () => span.end(at))
}
