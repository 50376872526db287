// A shorter view of a text for fit (VAL-7): its beginning and its end, and from between them the lines that tell of trouble.
// Works on stretches of the text by index and copies only what is shown, so the cost after counting depends on the room. Pure.

import {
  characterEdge,
  costAt,
  costOf,
  grouped,
  isPairAt,
  type Place,
  plural,
  type Room,
  type Stretch,
} from './text-size.ts'
import type { LongText } from './long-text.ts'
import { troubleShown } from './error-lines.ts'

export interface ShortText {
  readonly text: string
  /** How much of the original stands in it, in the bytes of its place. */
  readonly shown: number
  /** Index of the first character that was left out. */
  readonly firstGap: number
}

/** In less room than this no lines are chosen: the first and the last characters are shown. */
const roomForTrouble: Room = { bytes: 512, lines: 8 }

/**
 * The text, which does not fit, as a text that does. With room for not even a marker nothing is left of it.
 * `total` is what the markers say the whole is, where this text is only most of it.
 */
export function shortenText(long: LongText, room: Room, place: Place, total: number = long.bytes): ShortText {
  // No marker is longer than the one that leaves everything out.
  const marker = costOf(`${markerOf(total, total, long.lines)}\n`, place)
  if (room.bytes < marker || room.lines < 1) return { text: '', shown: 0, firstGap: 0 }
  return render(long, joined(long, choose(long, room, place, marker), place, marker), place, total)
}

const markerOf = (leftOut: number, total: number, lines: number): string =>
  `[… ${lines > 0 ? `${plural(lines, 'line')}, ` : ''}${grouped(leftOut)} of ${grouped(total)} bytes left out …]`

function choose(long: LongText, room: Room, place: Place, marker: number): Stretch[] {
  const { text } = long
  const bytes = room.bytes - marker
  const lines = room.lines - 1
  const dataUrl = /^data:[\w.+/;=-]{0,100};base64,/.exec(text)
  if (dataUrl) return [{ from: 0, to: dataUrl[0].length <= bytes ? dataUrl[0].length : 0 }]
  if (lines < 2) return [{ from: 0, to: firstLineEnd(text, bytes, place) }]
  if (bytes < roomForTrouble.bytes || lines < roomForTrouble.lines || !text.includes('\n'))
    return ends(long, bytes, lines, 0.5, place)
  // Half of the room is for trouble; what that does not use goes to the end, where commands say how they ended.
  const trouble = troubleShown(long, { bytes: bytes / 2, lines: Math.floor(lines / 2) }, place, marker)
  if (trouble.stretches.length === 0) return ends(long, bytes, lines, 0.2, place)
  const [head, tail] = ends(long, bytes - trouble.bytes, lines - trouble.lines, 0.2, place)
  return [head, ...trouble.stretches, tail]
}

function ends(long: LongText, bytes: number, lines: number, headShare: number, place: Place): [Stretch, Stretch] {
  const { text } = long
  const head = headEnd(text, bytes * headShare, Math.max(1, Math.floor(lines * headShare)), place)
  const headCost = costOf(text.slice(0, head), place)
  const tail = tailStart(text, bytes - headCost, lines - Math.max(1, long.breaksOf(0, head)), place)
  return [
    { from: 0, to: head },
    { from: Math.max(head, tail), to: text.length },
  ]
}

/** How far the text goes within the room: to the end of a line if that gives up less than half of it, else to the end of a character. */
function headEnd(text: string, bytes: number, lines: number, place: Place): number {
  let [at, used, breaks, lineEnd] = [0, 0, 0, 0]
  while (at < text.length) {
    used += costAt(text, at, place)
    if (used > bytes) break
    at += isPairAt(text, at) ? 2 : 1
    if (text.charCodeAt(at - 1) !== 0x0a) continue
    lineEnd = at
    if (++breaks >= lines) return at
  }
  return lineEnd * 2 >= at ? lineEnd : characterEdge(text, at, 'before')
}

/** The same from the end. */
function tailStart(text: string, bytes: number, lines: number, place: Place): number {
  let [at, used, starts, lineStart] = [text.length, 0, 0, text.length]
  while (at > 0) {
    if (text.charCodeAt(at - 1) === 0x0a && at < text.length) {
      lineStart = at
      if (++starts >= lines) return at
    }
    const before = at - (at > 1 && isPairAt(text, at - 2) ? 2 : 1)
    used += costAt(text, before, place)
    if (used > bytes) break
    at = before
  }
  return (text.length - lineStart) * 2 >= text.length - at ? lineStart : characterEdge(text, at, 'after')
}

function firstLineEnd(text: string, bytes: number, place: Place): number {
  const end = headEnd(text, bytes, 1, place)
  return text.charCodeAt(end - 1) === 0x0a ? end - 1 : end
}

/** In order and apart; a gap that is smaller than its marker is shown instead. */
function joined(long: LongText, stretches: readonly Stretch[], place: Place, marker: number): Stretch[] {
  const isSmall = (from: number, to: number): boolean =>
    to - from < marker && long.breaksOf(from, to) <= 1 && costOf(long.text.slice(from, to), place) < marker
  const apart: { from: number; to: number }[] = []
  for (const { from, to } of stretches.toSorted((a, b) => a.from - b.from)) {
    const last = apart.at(-1)
    if (from >= to) continue
    if (last && (from <= last.to || isSmall(last.to, from))) last.to = Math.max(last.to, to)
    else apart.push({ from, to })
  }
  return apart
}

function render(long: LongText, stretches: readonly Stretch[], place: Place, total: number): ShortText {
  const end = long.text.length
  let [view, at, shown] = ['', 0, 0]
  for (const { from, to } of [...stretches, { from: end, to: end }]) {
    if (from > at) view += gap(long, at, from, total)
    const kept = long.text.slice(from, to)
    view += kept
    shown += costOf(kept, place)
    at = to
  }
  return { text: view, shown, firstGap: stretches[0]?.from === 0 ? stretches[0].to : 0 }
}

/** What stands for a gap: on a line of its own between lines, and then it counts them; else in the middle of one. */
function gap(long: LongText, from: number, to: number, total: number): string {
  const isLast = to === long.text.length
  const wholeLines = long.isLineStart(from) && (isLast || long.isLineStart(to))
  const marker = markerOf(long.bytesOf(from, to), total, wholeLines ? long.linesOf(from, to) : 0)
  return !isLast && long.isLineStart(to) ? `${marker}\n` : marker
}
