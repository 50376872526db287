// What a terminal wrote, as a person would have read it (VAL-7). Pure; used by fit before anything is measured.
//
// Colours, titles and cursor codes cost a model tokens and say nothing; a progress bar drawn a thousand times is one line. One pass
// over the text, never back: a sequence that does not end is dropped where it stops making sense, so hostile input costs no more.

import { isAttachment, type Json } from '../../core/value.ts'

const newline = 0x0a
const escape = 0x1b
const stringTerminator = 0x9c

/**
 * The text without escape sequences and control characters; newlines and tabs stay. The rules:
 * - CSI sequences are dropped whole. OSC, DCS, SOS, PM and APC strings are dropped up to BEL, ST, another escape or the end of the
 *   line, whichever comes first: a string that was never ended hides its own line and not the rest of the output.
 * - A carriage return (or "cursor to column 1") that more text follows on the same line begins the line anew: what stood there is
 *   gone, even where the new text is shorter. One that nothing follows changes nothing; before a newline it is part of the newline.
 * - A backspace takes back the last character of the line.
 */
export function cleanTerminal(text: string): string {
  return isPlain(text) ? text : new Screen(text).read()
}

/** Whether the text came from a terminal: it has an escape, or a carriage return that is no part of a Windows newline. */
export function fromTerminal(text: string): boolean {
  if (text.includes('\u001b')) return true
  for (let at = text.indexOf('\r'); at !== -1; at = text.indexOf('\r', at + 1)) if (text[at + 1] !== '\n') return true
  return false
}

/** The value with its terminal output cleaned; the very same value when there is none, which is almost always. */
export function cleanValue(value: Json): Json {
  if (typeof value === 'string') return fromTerminal(value) ? cleanTerminal(value) : value
  if (typeof value !== 'object' || value === null || isAttachment(value)) return value
  if (Array.isArray(value)) {
    let copy: Json[] | undefined
    for (let index = 0; index < value.length; index++) {
      const item = value[index] as Json
      const cleaned = cleanValue(item)
      if (cleaned !== item) (copy ??= [...value])[index] = cleaned
    }
    return copy ?? value
  }
  let changed: Map<string, Json> | undefined
  for (const key of Object.keys(value)) {
    const item = value[key] as Json
    const cleaned = cleanValue(item)
    if (cleaned !== item) (changed ??= new Map()).set(key, cleaned)
  }
  // fromEntries defines keys: `__proto__` stays an ordinary one.
  return changed
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, changed.get(key) ?? item]))
    : value
}

const isControl = (code: number): boolean =>
  (code < 0x20 && code !== newline && code !== 0x09) || (code >= 0x7f && code < 0xa0)

function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (isControl(text.charCodeAt(at))) return false
  return true
}

/** Writes what is visible into one buffer; the current line can be begun anew or shortened because its start is known. */
class Screen {
  readonly #text: string
  readonly #out: Uint16Array
  #written = 0
  #lineStart = 0
  #wide = 0
  /** A carriage return was read; it takes effect only if something visible follows on the line. */
  #returned = false
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.#out = new Uint16Array(text.length)
  }

  read(): string {
    while (this.#at < this.#text.length) {
      this.#plain()
      const code = this.#text.charCodeAt(this.#at++)
      if (code === newline) this.#newline()
      else if (code === escape) this.#escape()
      else if (code === 0x0d) this.#returned = true
      else if (code === 0x08) this.#backspace()
      else if (code === 0x9b) this.#control()
      else if (code === 0x90 || code === 0x98 || (code >= 0x9d && code <= 0x9f)) this.#string()
    }
    const visible = this.#out.subarray(0, this.#written)
    // Text that fits one byte per character stays so: half the memory, and faster to search.
    if (this.#wide < 0x100) return Buffer.from(new Uint8Array(visible).buffer).toString('latin1')
    return Buffer.from(visible.buffer, 0, this.#written * 2).toString('utf16le')
  }

  /** What is neither control nor newline, up to the next of those. */
  #plain(): void {
    // In locals: this loop sees every character.
    const text = this.#text
    const out = this.#out
    let at = this.#at
    let wide = this.#wide
    let written = this.#returned ? this.#lineStart : this.#written
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === newline || isControl(code)) break
      wide |= code
      out[written++] = code
    }
    if (at === this.#at) return
    this.#returned = false
    this.#at = at
    this.#wide = wide
    this.#written = written
  }

  #newline(): void {
    this.#out[this.#written++] = newline
    this.#lineStart = this.#written
    this.#returned = false
  }

  #backspace(): void {
    if (this.#returned || this.#written === this.#lineStart) return
    this.#written--
    const isLow = ((this.#out[this.#written] ?? 0) & 0xfc00) === 0xdc00
    const afterHigh = this.#written > this.#lineStart && ((this.#out[this.#written - 1] ?? 0) & 0xfc00) === 0xd800
    if (isLow && afterHigh) this.#written--
  }

  #escape(): void {
    const kind = this.#text.charCodeAt(this.#at)
    if (kind === 0x5b) {
      this.#at++
      this.#control()
    } else if (kind === 0x5d || kind === 0x50 || kind === 0x58 || kind === 0x5e || kind === 0x5f) {
      this.#at++
      this.#string()
    } else {
      this.#skip(0x20, 0x2f)
      const last = this.#text.charCodeAt(this.#at)
      if (last >= 0x30 && last <= 0x7e) this.#at++
    }
  }

  /** A CSI sequence: parameters, intermediates, one final character. What does not belong to it is read as text again. */
  #control(): void {
    const from = this.#at
    this.#skip(0x30, 0x3f)
    const afterParameters = this.#at
    this.#skip(0x20, 0x2f)
    const last = this.#text.charCodeAt(this.#at)
    if (!(last >= 0x40 && last <= 0x7e)) return
    const toColumnOne =
      last === 0x47 && afterParameters - from <= 1 && ['', '0', '1'].includes(this.#text.slice(from, afterParameters))
    if (toColumnOne) this.#returned = true
    this.#at++
  }

  #string(): void {
    for (; this.#at < this.#text.length; this.#at++) {
      const code = this.#text.charCodeAt(this.#at)
      if (code === newline) return
      if (code === escape) {
        if (this.#text.charCodeAt(this.#at + 1) === 0x5c) this.#at += 2
        return
      }
      if (code === 0x07 || code === stringTerminator) {
        this.#at++
        return
      }
    }
  }

  #skip(low: number, high: number): void {
    while (this.#text.charCodeAt(this.#at) >= low && this.#text.charCodeAt(this.#at) <= high) this.#at++
  }
}
