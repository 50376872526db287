// The terminal of the desk: output and keyboard. Both belong to the parent process, so that a question stays open and
// readable while worker processes die and restart.

import { createInterface, type Interface } from 'node:readline'
import { styleText } from 'node:util'

export const margin = ' '.repeat(8)

/** The line that was typed; undefined if there is no keyboard. */
type Typed = string | undefined

export class Screen {
  /** Output received while a question is open, shown after the answer. */
  #deferred = ''
  #atLineStart = true
  #open: ((text: Typed) => void) | null = null
  #keyboard: Interface | null = null
  /** Lines that a pipe delivered before a question was open. */
  readonly #early: string[] = []
  #gone = false

  show(text: string): void {
    if (this.#open) this.#deferred += text
    else this.#write(text)
  }

  /** Prints a line of its own, also if the previous output did not end its line. */
  line(text: string): void {
    this.show(this.#endsOpen() ? `\n${text}\n` : `${text}\n`)
  }

  /** Asks one question at a time; the caller waits for the answer before the next one. */
  async ask(question: string): Promise<Typed> {
    if (!this.#atLineStart) this.#write('\n')
    this.#write(`${margin}${styleText('yellow', '?')} ${question} `)
    const text = await this.#readLine()
    // A person ends the line with Enter; for any other input the line break is printed here.
    const typed = process.stdin.isTTY && text !== undefined
    this.#write(typed ? '' : `${text ?? ''}\n`)
    this.#atLineStart = true
    const deferred = this.#deferred
    this.#deferred = ''
    this.#write(deferred)
    return text
  }

  /** Answers an open question with undefined and closes the keyboard. */
  close(): void {
    this.#gone = true
    this.#answer(undefined)
    this.#keyboard?.close()
  }

  #write(text: string): void {
    if (text === '') return
    process.stdout.write(text)
    this.#atLineStart = text.endsWith('\n')
  }

  #endsOpen(): boolean {
    return this.#deferred === '' ? !this.#open && !this.#atLineStart : !this.#deferred.endsWith('\n')
  }

  #readLine(): Promise<Typed> {
    this.#keyboard ??= this.#listen()
    return new Promise((resolve) => {
      this.#open = resolve
      if (this.#early.length > 0) this.#answer(this.#early.shift())
      else if (this.#gone) this.#answer(undefined)
    })
  }

  #answer(text: Typed): void {
    const open = this.#open
    this.#open = null
    open?.(text)
  }

  /** Reads whole lines and leaves line editing to the terminal, so that the terminal mode never has to be restored. */
  #listen(): Interface {
    const keyboard = createInterface({ input: process.stdin })
    keyboard.on('line', (text) => {
      if (this.#open) this.#answer(text)
      // Text that a person typed before the question was shown is not an answer to it.
      else if (!process.stdin.isTTY) this.#early.push(text)
    })
    keyboard.on('close', () => {
      this.#gone = true
      this.#answer(undefined)
    })
    return keyboard
  }
}
