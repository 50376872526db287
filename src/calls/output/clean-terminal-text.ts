// Cleans terminal output: the text as a person would have read it on the screen. Pure; runs before text is measured.
//
// Colours, titles and cursor codes only cost tokens, and a progress bar drawn a thousand times becomes one line. One
// pass without backtracking: an unterminated sequence is dropped where it becomes invalid, so hostile input takes no
// longer.

import { isAttachment, type Json } from '../../core/tool-value.ts'

const newline = 0x0a
const escape = 0x1b
const stringTerminator = 0x9c

/**
 * The text without escape sequences and control characters; newlines and tabs are kept. The rules:
 * - CSI sequences are dropped. OSC, DCS, SOS, PM and APC strings are dropped up to BEL, ST, another escape or the end
 *   of the line, whichever comes first: an unterminated string hides its own line, not the rest of the output.
 * - A carriage return (or "cursor to column 1") followed by more text on the same line restarts the line: the old
 *   text is removed, even if the new text is shorter. Without following text, or before a newline, it is dropped.
 * - A backspace removes the last character of the line.
 */
export function cleanTerminal(text: string): string {
  return isPlain(text) ? text : new Screen(text).read()
}

/** True if the text has an escape, or a carriage return that is not part of a Windows newline. */
export function hasTerminalCodes(text: string): boolean {
  if (text.includes('\u001b')) return true
  for (let at = text.indexOf('\r'); at !== -1; at = text.indexOf('\r', at + 1)) if (text[at + 1] !== '\n') return true
  return false
}

/** The value with all strings cleaned; the same object if there was nothing to clean, which is almost always. */
export function cleanValue(value: Json): Json {
  if (typeof value === 'string') return hasTerminalCodes(value) ? cleanTerminal(value) : value
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
  // fromEntries defines keys, so `__proto__` stays an ordinary key.
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

/** Writes the visible text into one buffer. The start of the current line is known, so the line can be overwritten. */
class Screen {
  readonly #text: string
  readonly #out: Uint16Array
  #written = 0
  #lineStart = 0
  #codeBits = 0
  /** A carriage return was read. It takes effect only if visible text follows on the line. */
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
    // Text with one byte per character stays in that form: half the memory, and faster to search.
    if (this.#codeBits < 0x100) return Buffer.from(new Uint8Array(visible).buffer).toString('latin1')
    return Buffer.from(visible.buffer, 0, this.#written * 2).toString('utf16le')
  }

  /** Copies text up to the next control character or newline. */
  #plain(): void {
    // Locals for speed: this loop runs for every character.
    const text = this.#text
    const out = this.#out
    let at = this.#at
    let wide = this.#codeBits
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
    this.#codeBits = wide
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

  /** A CSI sequence: parameters, intermediates, one final character. If it is invalid, the rest is read as text. */
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
