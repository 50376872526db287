// Buffers a text stream in bounded memory: a short stream whole, a long one as its beginning and its end.

import { StringDecoder } from 'node:string_decoder'

export class BoundedOutput {
  readonly #decoder = new StringDecoder('utf8')
  readonly #headLimit: number
  readonly #tailLimit: number
  #head = ''
  #tail = ''
  /** Characters received after the head, whether still buffered or dropped. */
  #afterHead = 0

  constructor(maxChars: number) {
    this.#headLimit = Math.ceil(maxChars / 2)
    this.#tailLimit = maxChars - this.#headLimit
  }

  /** Buffers the bytes and returns their text. A character split across two chunks is returned with the second. */
  append(bytes: Buffer): string {
    return this.#append(this.#decoder.write(bytes))
  }

  /** Ends the stream. Returns the replacement text for an incomplete last character. */
  end(): string {
    return this.#append(this.#decoder.end())
  }

  get cut(): boolean {
    return this.#afterHead > this.#tailLimit
  }

  get text(): string {
    if (!this.cut) return this.#head + this.#tail
    // Drop half of a surrogate pair at the cut: a record cannot store it.
    const head = this.#head.replace(/[\uD800-\uDBFF]$/, '')
    const tail = this.#boundedTail.replace(/^[\uDC00-\uDFFF]/, '')
    const left = this.#head.length + this.#afterHead - head.length - tail.length
    return `${head}\n[… ${left} characters left out …]\n${tail}`
  }

  get #boundedTail(): string {
    return this.#tail.slice(Math.max(0, this.#tail.length - this.#tailLimit))
  }

  #append(text: string): string {
    const room = this.#headLimit - this.#head.length
    if (room > 0) this.#head += text.slice(0, room)
    const rest = room > 0 ? text.slice(room) : text
    this.#afterHead += rest.length
    this.#tail += rest
    // Trim only when the tail has grown well past its limit, not on every chunk.
    if (this.#tail.length > 4 * this.#headLimit) this.#tail = this.#boundedTail
    return text
  }
}
