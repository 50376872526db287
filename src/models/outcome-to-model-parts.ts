// Converts an outcome to the parts that a model reads. Pure: computed from the recorded outcome on every request.

import type { Outcome } from '../core/outcome.ts'
import { type Attachment, isAttachment, type Json } from '../core/tool-value.ts'

/** A part of a result or message that a model reads: text, or a file. */
export type ModelPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'attachment'; readonly attachment: Attachment }

export function projectOutcome(outcome: Outcome): ModelPart[] {
  const parts = new PartsBuilder()
  switch (outcome.status) {
    case 'success':
      if (typeof outcome.value === 'string') parts.text(outcome.value)
      else parts.json(outcome.value)
      break
    case 'failure':
      parts.addHeaded('[Tool execution failed]', outcome.failure.message, outcome.failure.raw)
      break
    case 'cancelled':
      parts.addHeaded('[Tool execution cancelled]', outcome.cancellation.message, outcome.cancellation.raw)
      break
    case 'unknown':
      parts.addHeaded('[Tool outcome unknown]', outcome.unknown.message, undefined)
      break
  }
  return parts.build()
}

/** Merges adjacent texts and drops empty ones. Lone surrogates are replaced, because the text is sent as UTF-8. */
export function mergeParts(parts: readonly ModelPart[]): ModelPart[] {
  const all = new PartsBuilder()
  for (const part of parts) {
    if (part.type === 'text') all.text(part.text.toWellFormed())
    else all.attachment(part.attachment)
  }
  return all.build()
}

/** Collects texts and attachments in order. Adjacent texts are merged; empty text adds no part. */
class PartsBuilder {
  readonly #parts: ModelPart[] = []
  #text = ''

  text(text: string): void {
    this.#text += text
  }

  attachment(attachment: Attachment): void {
    this.#flush()
    this.#parts.push({ type: 'attachment', attachment })
  }

  addHeaded(head: string, message: string, raw: Json | undefined): void {
    this.text(message === '' ? head : `${head}\n${message}`)
    if (raw !== undefined) this.#addAttachmentsIn(raw)
  }

  /** Compact JSON in insertion order. An attachment keeps its position: the text is split around it. */
  json(value: Json): void {
    if (isAttachment(value)) this.attachment(value)
    else if (Array.isArray(value)) this.#addList('[', ']', value, (item) => this.json(item))
    else if (typeof value === 'object' && value !== null) {
      this.#addList('{', '}', Object.entries(value), ([key, item]) => {
        this.text(`${JSON.stringify(key)}:`)
        this.json(item)
      })
    } else this.text(JSON.stringify(value))
  }

  build(): ModelPart[] {
    this.#flush()
    return this.#parts
  }

  #addList<T>(open: string, close: string, items: readonly T[], show: (item: T) => void): void {
    this.text(open)
    for (const [index, item] of items.entries()) {
      if (index > 0) this.text(',')
      show(item)
    }
    this.text(close)
  }

  #addAttachmentsIn(value: Json): void {
    if (isAttachment(value)) this.attachment(value)
    else if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value)) this.#addAttachmentsIn(inner)
  }

  #flush(): void {
    if (this.#text !== '') this.#parts.push({ type: 'text', text: this.#text })
    this.#text = ''
  }
}
