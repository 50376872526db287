// What is kept of a stream of text: all of it while it is short, else its beginning and its end. Bounded, however much comes.

import { StringDecoder } from 'node:string_decoder'

export class KeptOutput {
  readonly #decoder = new StringDecoder('utf8')
  readonly #first: number
  readonly #last: number
  #head = ''
  #tail = ''
  /** Characters that came after the head, kept or not. */
  #after = 0

  constructor(most: number) {
    this.#first = Math.ceil(most / 2)
    this.#last = most - this.#first
  }

  /** Takes bytes and gives their text; a character that is split across two chunks comes with the second. */
  take(bytes: Buffer): string {
    return this.#keep(this.#decoder.write(bytes))
  }

  /** What was left of a character that never became whole. */
  end(): string {
    return this.#keep(this.#decoder.end())
  }

  get cut(): boolean {
    return this.#after > this.#last
  }

  get text(): string {
    if (!this.cut) return this.#head + this.#tail
    // Never half a character: no record could hold it.
    const head = this.#head.replace(/[\uD800-\uDBFF]$/, '')
    const tail = this.#ending.replace(/^[\uDC00-\uDFFF]/, '')
    const left = this.#head.length + this.#after - head.length - tail.length
    return `${head}\n[… ${left} characters left out …]\n${tail}`
  }

  get #ending(): string {
    return this.#tail.slice(Math.max(0, this.#tail.length - this.#last))
  }

  #keep(text: string): string {
    const room = this.#first - this.#head.length
    if (room > 0) this.#head += text.slice(0, room)
    const rest = room > 0 ? text.slice(room) : text
    this.#after += rest.length
    this.#tail += rest
    // Cut now and then, not at every chunk.
    if (this.#tail.length > 4 * this.#first) this.#tail = this.#ending
    return text
  }
}
