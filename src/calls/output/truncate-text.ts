// Shortens a text: its start, its end, and the error lines between them. Works on index ranges and copies only the
// shown parts, so after measuring, the work depends on the size of the result and not of the text. Pure.

import {
  graphemeBoundary,
  costAt,
  costOf,
  formatCount,
  isPairAt,
  type Encoding,
  plural,
  type Room,
  type TextRange,
} from './text-size.ts'
import type { LongText } from './measure-long-text.ts'
import { selectErrorLines } from './find-error-lines.ts'

export interface ShortText {
  readonly text: string
  /** Bytes of original content, in the given encoding. */
  readonly shown: number
  /** Index of the first omitted character. */
  readonly firstGap: number
}

/** With less room only the start and the end of the text are shown. */
const minRoomForErrorLines: Room = { bytes: 512, lines: 8 }

/**
 * Shortens a text that does not fit. The result is empty if not even a marker fits.
 * `total` is the size that the markers mention, if the text is only a part of the whole.
 */
export function shortenText(long: LongText, room: Room, encoding: Encoding, total: number = long.bytes): ShortText {
  // The longest marker is the one that omits everything.
  const marker = costOf(`${markerOf(total, total, long.lines)}\n`, encoding)
  if (room.bytes < marker || room.lines < 1) return { text: '', shown: 0, firstGap: 0 }
  return render(long, mergeRanges(long, chooseRanges(long, room, encoding, marker), encoding, marker), encoding, total)
}

const markerOf = (leftOut: number, total: number, lines: number): string =>
  `[… ${lines > 0 ? `${plural(lines, 'line')}, ` : ''}${formatCount(leftOut)} of ${formatCount(total)} bytes left out …]`

function chooseRanges(long: LongText, room: Room, encoding: Encoding, marker: number): TextRange[] {
  const { text } = long
  const bytes = room.bytes - marker
  const lines = room.lines - 1
  const dataUrl = /^data:[\w.+/;=-]{0,100};base64,/.exec(text)
  if (dataUrl) return [{ from: 0, to: dataUrl[0].length <= bytes ? dataUrl[0].length : 0 }]
  if (lines < 2) return [{ from: 0, to: firstLineEnd(text, bytes, encoding) }]
  if (bytes < minRoomForErrorLines.bytes || lines < minRoomForErrorLines.lines || !text.includes('\n'))
    return ends(long, bytes, lines, 0.5, encoding)
  // Half of the budget is reserved for error lines. What they do not use goes to the end of the text, where commands
  // report their result.
  const errorLines = selectErrorLines(long, { bytes: bytes / 2, lines: Math.floor(lines / 2) }, encoding, marker)
  if (errorLines.ranges.length === 0) return ends(long, bytes, lines, 0.2, encoding)
  const [head, tail] = ends(long, bytes - errorLines.bytes, lines - errorLines.lines, 0.2, encoding)
  return [head, ...errorLines.ranges, tail]
}

function ends(
  long: LongText,
  bytes: number,
  lines: number,
  headShare: number,
  encoding: Encoding,
): [TextRange, TextRange] {
  const { text } = long
  const head = headEnd(text, bytes * headShare, Math.max(1, Math.floor(lines * headShare)), encoding)
  const headCost = costOf(text.slice(0, head), encoding)
  const tail = tailStart(text, bytes - headCost, lines - Math.max(1, long.breaksOf(0, head)), encoding)
  return [
    { from: 0, to: head },
    { from: Math.max(head, tail), to: text.length },
  ]
}

/** The end of the head: a line boundary if that wastes less than half of the bytes, otherwise a grapheme boundary. */
function headEnd(text: string, bytes: number, lines: number, encoding: Encoding): number {
  let [at, used, breaks, lineEnd] = [0, 0, 0, 0]
  while (at < text.length) {
    used += costAt(text, at, encoding)
    if (used > bytes) break
    at += isPairAt(text, at) ? 2 : 1
    if (text.charCodeAt(at - 1) !== 0x0a) continue
    lineEnd = at
    if (++breaks >= lines) return at
  }
  return lineEnd * 2 >= at ? lineEnd : graphemeBoundary(text, at, 'before')
}

/** The start of the tail, by the same rule. */
function tailStart(text: string, bytes: number, lines: number, encoding: Encoding): number {
  let [at, used, starts, lineStart] = [text.length, 0, 0, text.length]
  while (at > 0) {
    if (text.charCodeAt(at - 1) === 0x0a && at < text.length) {
      lineStart = at
      if (++starts >= lines) return at
    }
    const before = at - (at > 1 && isPairAt(text, at - 2) ? 2 : 1)
    used += costAt(text, before, encoding)
    if (used > bytes) break
    at = before
  }
  return (text.length - lineStart) * 2 >= text.length - at ? lineStart : graphemeBoundary(text, at, 'after')
}

function firstLineEnd(text: string, bytes: number, place: Encoding): number {
  const end = headEnd(text, bytes, 1, place)
  return text.charCodeAt(end - 1) === 0x0a ? end - 1 : end
}

/** Sorts and merges the ranges. A gap smaller than its marker is shown instead of marked. */
function mergeRanges(long: LongText, ranges: readonly TextRange[], encoding: Encoding, marker: number): TextRange[] {
  const isSmall = (from: number, to: number): boolean =>
    to - from < marker && long.breaksOf(from, to) <= 1 && costOf(long.text.slice(from, to), encoding) < marker
  const apart: { from: number; to: number }[] = []
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = apart.at(-1)
    if (from >= to) continue
    if (last && (from <= last.to || isSmall(last.to, from))) last.to = Math.max(last.to, to)
    else apart.push({ from, to })
  }
  return apart
}

function render(long: LongText, ranges: readonly TextRange[], encoding: Encoding, total: number): ShortText {
  const end = long.text.length
  let [view, at, shown] = ['', 0, 0]
  for (const { from, to } of [...ranges, { from: end, to: end }]) {
    if (from > at) view += gapMarker(long, at, from, total)
    const kept = long.text.slice(from, to)
    view += kept
    shown += costOf(kept, encoding)
    at = to
  }
  return { text: view, shown, firstGap: ranges[0]?.from === 0 ? ranges[0].to : 0 }
}

/** The marker of a gap. Between whole lines it has its own line and counts them; otherwise it is inside a line. */
function gapMarker(long: LongText, from: number, to: number, total: number): string {
  const isLast = to === long.text.length
  const wholeLines = long.isLineStart(from) && (isLast || long.isLineStart(to))
  const marker = markerOf(long.bytesOf(from, to), total, wholeLines ? long.linesOf(from, to) : 0)
  return !isLast && long.isLineStart(to) ? `${marker}\n` : marker
}
