// Limits one message of a server while its bytes arrive, before it is parsed: its size, and the number and depth of its
// JSON values. Parsing blocks the event loop, and the time depends on the number of values more than on the bytes.

export const maxMessageBytes = 8 * 1024 * 1024
const maxValues = 200_000
const maxDepth = 128

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const newline = 0x0a

export class MessageTooLarge extends Error {
  override readonly name = 'MessageTooLarge'
}

export class MessageMeter {
  #bytes = 0
  #values = 0
  #depth = 0
  /** The greatest depth of the message: its end may be in the same chunk as its beginning. */
  #deepest = 0
  #inString = false
  #escaped = false
  #emptyLine = true
  /** `line`: a message ends with its line. `event`: with an empty line (server-sent events). `body`: it never ends. */
  readonly #end: 'line' | 'event' | 'body'

  constructor(end: 'line' | 'event' | 'body') {
    this.#end = end
  }

  /** Throws MessageTooLarge if a message exceeds a limit. */
  push(chunk: Uint8Array): void {
    for (const byte of chunk) {
      if (byte === newline && this.#end !== 'body') this.#newline()
      else this.#count(byte)
    }
    this.#check()
  }

  #check(): void {
    if (this.#bytes > maxMessageBytes)
      throw new MessageTooLarge(`It sent a message of more than ${maxMessageBytes / 1024 / 1024} MiB`)
    if (this.#values > maxValues) throw new MessageTooLarge(`It sent a message of more than ${maxValues} values`)
    if (this.#deepest > maxDepth) throw new MessageTooLarge(`It sent a message of more than ${maxDepth} levels`)
  }

  #newline(): void {
    // A JSON string contains no line break, so the state of a string ends here.
    this.#inString = false
    this.#escaped = false
    if (this.#end === 'line' || this.#emptyLine) {
      this.#check()
      this.#deepest = 0
      this.#bytes = 0
      this.#values = 0
      this.#depth = 0
    }
    this.#emptyLine = true
  }

  #count(byte: number): void {
    this.#bytes++
    if (byte !== 0x0d) this.#emptyLine = false
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false
      else if (byte === backslash) this.#escaped = true
      else if (byte === quote) this.#inString = false
    } else if (byte === quote) this.#inString = true
    else if (byte === comma) this.#values++
    else if (byte === 0x5b || byte === 0x7b) {
      this.#values++
      this.#depth++
      if (this.#depth > this.#deepest) this.#deepest = this.#depth
    } else if ((byte === 0x5d || byte === 0x7d) && this.#depth > 0) this.#depth-- // brackets before the message
  }
}
