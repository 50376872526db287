// What the model reads of an outcome (VAL-3). Pure; made from the record whenever it is asked for.

import type { Outcome } from '../core/outcome.ts'
import { type Attachment, isAttachment, type Json } from '../core/value.ts'

export type ModelPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'attachment'; readonly attachment: Attachment }

export function project(outcome: Outcome): ModelPart[] {
  const parts = new Parts()
  switch (outcome.status) {
    case 'success':
      if (typeof outcome.value === 'string') parts.text(outcome.value)
      else parts.json(outcome.value)
      break
    case 'failure':
      parts.headed('[Tool execution failed]', outcome.failure.message, outcome.failure.raw)
      break
    case 'cancelled':
      parts.headed('[Tool execution cancelled]', outcome.cancellation.message, outcome.cancellation.raw)
      break
    case 'unknown':
      parts.headed('[Tool outcome unknown]', outcome.unknown.message, undefined)
      break
  }
  return parts.done()
}

/** The same parts, as project would give them. Text that is half a character is mended: it goes out as UTF-8. */
export function merged(parts: readonly ModelPart[]): ModelPart[] {
  const all = new Parts()
  for (const part of parts) {
    if (part.type === 'text') all.text(part.text.toWellFormed())
    else all.attachment(part.attachment)
  }
  return all.done()
}

/** Gathers text and attachments in their order; neighbouring text merges, empty text makes no part. */
class Parts {
  readonly #parts: ModelPart[] = []
  #text = ''

  text(text: string): void {
    this.#text += text
  }

  attachment(attachment: Attachment): void {
    this.#flush()
    this.#parts.push({ type: 'attachment', attachment })
  }

  headed(head: string, message: string, raw: Json | undefined): void {
    this.text(message === '' ? head : `${head}\n${message}`)
    if (raw !== undefined) this.#attachmentsIn(raw)
  }

  /** Compact JSON in insertion order. An attachment keeps its place: the text splits around it and reads on after it. */
  json(value: Json): void {
    if (isAttachment(value)) this.attachment(value)
    else if (Array.isArray(value)) this.#list('[', ']', value, (item) => this.json(item))
    else if (typeof value === 'object' && value !== null) {
      this.#list('{', '}', Object.entries(value), ([key, item]) => {
        this.text(`${JSON.stringify(key)}:`)
        this.json(item)
      })
    } else this.text(JSON.stringify(value))
  }

  done(): ModelPart[] {
    this.#flush()
    return this.#parts
  }

  #list<T>(open: string, close: string, items: readonly T[], show: (item: T) => void): void {
    this.text(open)
    for (const [index, item] of items.entries()) {
      if (index > 0) this.text(',')
      show(item)
    }
    this.text(close)
  }

  #attachmentsIn(value: Json): void {
    if (isAttachment(value)) this.attachment(value)
    else if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value)) this.#attachmentsIn(inner)
  }

  #flush(): void {
    if (this.#text !== '') this.#parts.push({ type: 'text', text: this.#text })
    this.#text = ''
  }
}
