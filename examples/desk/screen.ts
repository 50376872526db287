// The terminal of the desk: what is shown, and who sits at the keyboard. Both belong to the process that does not die, so that a question stays open, and
// stays readable, while those behind it come and go.

import { createInterface, type Interface } from 'node:readline'
import { styleText } from 'node:util'

export const margin = ' '.repeat(8)

/** What somebody said; undefined if nobody is there. */
type Said = string | undefined

export class Screen {
  /** Told while a question is open; shown after it. */
  #held = ''
  #atLineStart = true
  #open: ((said: Said) => void) | null = null
  #keyboard: Interface | null = null
  /** Lines of a pipe that came before they were asked for. */
  readonly #early: string[] = []
  #gone = false

  show(text: string): void {
    if (this.#open) this.#held += text
    else this.#write(text)
  }

  /** A line of its own, also if somebody broke off in the middle of theirs. */
  line(text: string): void {
    this.show(this.#endsOpen() ? `\n${text}\n` : `${text}\n`)
  }

  /** One question at a time: the next is asked when this one is answered. */
  async ask(question: string): Promise<Said> {
    if (!this.#atLineStart) this.#write('\n')
    this.#write(`${margin}${styleText('yellow', '?')} ${question} `)
    const said = await this.#said()
    // The end of the line is typed by a person, and by nobody else.
    const typed = process.stdin.isTTY && said !== undefined
    this.#write(typed ? '' : `${said ?? ''}\n`)
    this.#atLineStart = true
    const held = this.#held
    this.#held = ''
    this.#write(held)
    return said
  }

  /** Who still asks is told that nobody is there. */
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
    return this.#held === '' ? !this.#open && !this.#atLineStart : !this.#held.endsWith('\n')
  }

  #said(): Promise<Said> {
    this.#keyboard ??= this.#listen()
    return new Promise((resolve) => {
      this.#open = resolve
      if (this.#early.length > 0) this.#answer(this.#early.shift())
      else if (this.#gone) this.#answer(undefined)
    })
  }

  #answer(said: Said): void {
    const open = this.#open
    this.#open = null
    open?.(said)
  }

  /** Line by line, as the terminal itself edits them: it is left as it was, however this ends. */
  #listen(): Interface {
    const keyboard = createInterface({ input: process.stdin })
    keyboard.on('line', (text) => {
      if (this.#open) this.#answer(text)
      // What a person typed before there was a question is no answer to it.
      else if (!process.stdin.isTTY) this.#early.push(text)
    })
    keyboard.on('close', () => {
      this.#gone = true
      this.#answer(undefined)
    })
    return keyboard
  }
}
