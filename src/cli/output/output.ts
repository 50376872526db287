// The output of the CLI. Results are on stdout: text for people, or JSON. Everything else is on stderr. Text is escaped
// here, behind every caller: a piece is data, and colour exists only as `Styled`, so no caller can forget it.

import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import { cutToWidth, safeBlock, safeJson, safeLine, textWidth } from './terminal-safe.ts'

type Style = Extract<Parameters<typeof styleText>[0], string>

interface Styled {
  readonly style: Style
  readonly text: Piece
}

/** Text, styled text, or a sequence of both. */
export type Piece = string | number | Styled | readonly Piece[]

const styled =
  (style: Style) =>
  (...text: Piece[]): Styled => ({ style, text })

export const bold = styled('bold')
export const dim = styled('dim')
export const red = styled('red')
export const green = styled('green')
export const yellow = styled('yellow')
export const blue = styled('blue')
export const magenta = styled('magenta')
export const cyan = styled('cyan')

/** `human`: text and tables. `json`: one document. `jsonl`: a document per line. */
export type OutputFormat = 'human' | 'json' | 'jsonl'

interface TtyStream extends Writable {
  readonly isTTY?: boolean
  readonly columns?: number
}

export interface OutputOptions {
  readonly format: OutputFormat
  readonly quiet: boolean
  readonly stdout?: TtyStream
  readonly stderr?: TtyStream
}

/** A column of a table: its title, and whether it may be shortened. */
export interface Column {
  readonly title: string
  readonly align?: 'right'
  /** The column that gives way if the table is wider than the terminal. */
  readonly flexible?: true
}

export class Output {
  readonly format: OutputFormat
  readonly quiet: boolean
  readonly stdout: TtyStream
  readonly stderr: TtyStream
  /** Text without a line end was printed on stdout. */
  #open = false
  /** A line of progress is on the screen. */
  #hasStatus = false

  constructor({ format, quiet, stdout = process.stdout, stderr = process.stderr }: OutputOptions) {
    this.format = format
    this.quiet = quiet
    this.stdout = stdout
    this.stderr = stderr
  }

  get width(): number {
    return Math.max(40, this.stdout.columns ?? 100)
  }

  /** A line of the result. */
  line(...pieces: Piece[]): void {
    this.#write(this.stdout, `${this.#render(pieces, this.stdout, safeLine)}\n`)
  }

  /** A line of the result that is cut to the width of a terminal. */
  fitted(...pieces: Piece[]): void {
    this.line(this.stdout.isTTY ? cutPiece(pieces, this.width).piece : pieces)
  }

  /** Text of the result with its line breaks, behind a margin: data cannot look like a line of the CLI itself. */
  block(text: string, margin: Piece = '  '): void {
    for (const each of safeBlock(text).replace(/\n$/, '').split('\n')) this.line(margin, each)
  }

  /** A piece of a streamed text of the result. */
  stream(text: string): void {
    if (text === '') return
    const safe = safeBlock(text)
    this.#write(this.stdout, safe)
    this.#open = !safe.endsWith('\n')
  }

  /** Ends the line of a streamed text. */
  endStream(): void {
    if (this.#open) this.#write(this.stdout, '\n')
    this.#open = false
  }

  /** Text of the result as it is, for a pipe. */
  raw(text: string): void {
    this.#write(this.stdout, text)
  }

  /** A message on stderr; not with `--quiet`. */
  note(...pieces: Piece[]): void {
    if (!this.quiet) this.problem(...pieces)
  }

  /** A warning or an error on stderr. */
  problem(...pieces: Piece[]): void {
    // On a terminal both streams are one screen.
    if (this.#open && this.stdout.isTTY) this.endStream()
    this.#write(this.stderr, `${this.#render(pieces, this.stderr, safeLine)}\n`)
  }

  /** Text on stderr with its line breaks, behind a margin. */
  noteBlock(text: string, margin: Piece = '  '): void {
    for (const each of safeBlock(text).replace(/\n$/, '').split('\n')) this.note(margin, each)
  }

  /** One JSON document on stdout. */
  json(value: unknown): void {
    const text = this.format === 'jsonl' ? JSON.stringify(value) : JSON.stringify(value, null, 2)
    this.#write(this.stdout, `${safeJson(text)}\n`)
  }

  /** The result: as JSON, or as `human` prints it. */
  result(value: unknown, human: () => void): void {
    if (this.format === 'human') human()
    else this.json(value)
  }

  /** A list: an array, a document per line, or as `human` prints it. */
  list(values: readonly unknown[], human: () => void): void {
    if (this.format === 'human') human()
    else if (this.format === 'json') this.json(values)
    else for (const value of values) this.json(value)
  }

  /** Rows under their titles. */
  table(columns: readonly Column[], rows: readonly (readonly Piece[])[]): void {
    const widths = columns.map(({ title }, at) =>
      Math.max(textWidth(title), ...rows.map((row) => textWidth(plain(row[at] ?? '')))),
    )
    const tooWide = widths.reduce((sum, each) => sum + each + 2, -2) - this.width
    const flexible = columns.findIndex((column) => column.flexible)
    if (tooWide > 0 && flexible !== -1) widths[flexible] = Math.max(8, (widths[flexible] as number) - tooWide)
    const draw = (cells: readonly Piece[], style: (text: Piece) => Piece): void => {
      const drawn = columns.map(({ align }, at) => {
        const width = widths[at] as number
        const cell = cells[at] ?? ''
        const text = plain(cell)
        const gap = ' '.repeat(Math.max(0, width - textWidth(text)))
        const shown: Piece = textWidth(text) > width ? restyled(cell, cutToWidth(text, width)) : cell
        const isLast = at === columns.length - 1
        return align === 'right' ? [gap, shown] : isLast ? shown : [shown, gap]
      })
      this.line(...drawn.flatMap((cell, at) => (at === 0 ? [style(cell)] : ['  ', style(cell)])))
    }
    draw(
      columns.map(({ title }) => title),
      (text) => dim(text),
    )
    for (const row of rows) draw(row, (text) => text)
  }

  /** Names with their values, aligned. */
  fields(fields: readonly (readonly [name: string, value: Piece | null | undefined])[], margin = ''): void {
    const width = Math.max(...fields.map(([name]) => name.length))
    for (const [name, value] of fields)
      if (value !== null && value !== undefined) this.line(margin, dim(name.padEnd(width)), '  ', value)
  }

  /** A line of progress that the next output replaces. Only on a terminal. */
  status(...pieces: Piece[]): void {
    if (this.quiet || this.stderr.isTTY !== true || this.#open) return
    this.#clearStatus()
    const text = this.#render(pieces, this.stderr, safeLine)
    if (textWidth(plain(pieces)) > this.width - 1) return
    this.stderr.write(text)
    this.#hasStatus = true
  }

  #clearStatus(): void {
    if (this.#hasStatus) this.stderr.write('\r\u001b[2K')
    this.#hasStatus = false
  }

  #write(stream: TtyStream, text: string): void {
    this.#clearStatus()
    stream.write(text)
  }

  #render(piece: Piece, stream: TtyStream, safe: (text: string) => string): string {
    if (typeof piece === 'string') return safe(piece)
    if (typeof piece === 'number') return String(piece)
    if ('style' in piece) {
      const text = this.#render(piece.text, stream, safe)
      return text === '' ? '' : styleText(piece.style, text, { stream })
    }
    return piece.map((each) => this.#render(each, stream, safe)).join('')
  }
}

/** The text as it is printed, without colour. */
const plain = (piece: Piece): string => {
  if (typeof piece === 'string') return safeLine(piece)
  if (typeof piece === 'number') return String(piece)
  return 'style' in piece ? plain(piece.text) : piece.map(plain).join('')
}

/** A shortened text in the style of the cell. */
const restyled = (cell: Piece, text: string): Piece =>
  typeof cell === 'object' && 'style' in cell ? { style: cell.style, text } : text

/** The piece in at most `width` columns, and how many are left. */
function cutPiece(piece: Piece, width: number): { readonly piece: Piece; readonly left: number } {
  if (typeof piece === 'object' && !('style' in piece)) {
    let left = width
    const pieces = piece.map((each) => {
      const cut = cutPiece(each, left)
      left = cut.left
      return cut.piece
    })
    return { piece: pieces, left }
  }
  const text = plain(piece)
  const left = width - textWidth(text)
  if (left >= 0) return { piece, left }
  return { piece: width <= 0 ? '' : restyled(piece, cutToWidth(text, width)), left: 0 }
}
