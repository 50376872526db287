// The span that each open call had last in this process, for links between its parts. Only ids are kept, and only those
// of the most recent calls.

import type { SpanContext } from '@opentelemetry/api'

const most = 1_000

export class RecentSpans {
  readonly #byCall = new Map<string, SpanContext>()

  of(call: string): SpanContext | null {
    return this.#byCall.get(call) ?? null
  }

  set(call: string, span: SpanContext): void {
    this.#byCall.delete(call)
    this.#byCall.set(call, span)
    if (this.#byCall.size <= most) return
    const [oldest] = this.#byCall.keys()
    if (oldest !== undefined) this.#byCall.delete(oldest)
  }

  delete(call: string): void {
    this.#byCall.delete(call)
  }
}
