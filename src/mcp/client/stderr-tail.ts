// The end of what a stdio server wrote to stderr, in bounded memory. Errors show its last lines.

import { StringDecoder } from 'node:string_decoder'
import { plainText, withoutSecrets } from './plain-text.ts'

const maxKept = 8_192
const shownLines = 5
const maxLineLength = 300

export class StderrTail {
  readonly #secrets: readonly string[]
  readonly #decoder = new StringDecoder('utf8')
  #text = ''

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets
  }

  push(chunk: Buffer): void {
    // A large chunk is cut before it is decoded, so that a flood costs little.
    const end = chunk.length > 4 * maxKept ? chunk.subarray(-4 * maxKept) : chunk
    // Before the text is cut: the rest of a secret would not be recognized.
    this.#text = withoutSecrets(this.#text + this.#decoder.write(end), this.#secrets).slice(-maxKept)
  }

  /** The last lines in quotation marks; '' if there are none. */
  get shown(): string {
    const lines = this.#text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
    return lines
      .slice(-shownLines)
      .map((line) => JSON.stringify(plainText(line, maxLineLength)))
      .join(' ')
  }
}
