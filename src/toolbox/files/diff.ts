// The unified diff of edits whose places are known: nothing is searched for, so it takes as long as the text is.

import { Lines } from './lines.ts'

/** Puts `text` in the place of what is from `start` to `end`. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Lines of the old text, from and to, and what they have become; each with its ending. */
interface Block {
  readonly from: number
  readonly to: number
  readonly lines: readonly string[]
}

const context = 3
export const mostDiff = 16_000

export interface Diff {
  readonly diff: string
  readonly truncated: boolean
  /** From 1 on, in the new text. */
  readonly firstLine: number
}

/** Of edits in order that do not overlap. Lines are ended by \n. */
export function diffOf(path: string, before: string, edits: readonly Edit[]): Diff {
  const old = new Lines(before)
  const blocks = blocksOf(old, edits)
  const name = path.replace(/^\//, '')
  const parts = [`--- a/${name}`, `+++ b/${name}`]
  // One by one: an edit may have more lines than a function takes arguments.
  const add = (mark: string, from: number, to: number): void => {
    for (let nth = from; nth < to; nth++) parts.push(marked(mark, old.at(nth)))
  }
  let shift = 0
  for (const hunk of hunksOf(blocks)) {
    const from = Math.max(0, (hunk[0] as Block).from - context)
    const to = Math.min(old.count, (hunk.at(-1) as Block).to + context)
    const added = hunk.reduce((sum, { lines }) => sum + lines.length, 0)
    const removed = hunk.reduce((sum, block) => sum + block.to - block.from, 0)
    const counts = { old: to - from, new: to - from - removed + added }
    parts.push(`@@ -${range(from, counts.old)} +${range(from + shift, counts.new)} @@`)
    let at = from
    for (const block of hunk) {
      add(' ', at, block.from)
      add('-', block.from, block.to)
      for (const line of block.lines) parts.push(marked('+', line))
      at = block.to
    }
    add(' ', at, to)
    shift += added - removed
  }
  const diff = `${parts.join('\n')}\n`
  return { ...within(diff), firstLine: (blocks[0]?.from ?? 0) + 1 }
}

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []
/** Of an empty range it names the line before it. */
const range = (from: number, count: number): string => `${count === 0 ? from : from + 1},${count}`
const marked = (mark: string, line: string): string =>
  line.endsWith('\n') ? `${mark}${line.slice(0, -1)}` : `${mark}${line}\n\\ No newline at end of file`

/** What changed, in whole lines: edits that touch the same line are one. */
function blocksOf(old: Lines, edits: readonly Edit[]): Block[] {
  const groups: { from: number; to: number; edits: Edit[] }[] = []
  for (const edit of edits) {
    const from = old.lineAt(edit.start)
    // With the line after it: without its ending the last one becomes a part of that.
    const to = Math.min(old.count, old.lineAt(edit.end) + 1)
    const last = groups.at(-1)
    if (last && from < last.to) {
      last.to = Math.max(last.to, to)
      last.edits.push(edit)
    } else groups.push({ from, to, edits: [edit] })
  }
  return groups.flatMap(({ from, to, edits: own }) => {
    const block = trimmed(old, { from, to, lines: linesOf(applied(old.text, own, old.startOf(from), old.startOf(to))) })
    return block.from === block.to && block.lines.length === 0 ? [] : [block]
  })
}

/** The text from `start` to `end` with the edits in it. */
export function applied(before: string, edits: readonly Edit[], start = 0, end = before.length): string {
  const parts: string[] = []
  let at = start
  for (const edit of edits) {
    parts.push(before.slice(at, edit.start), edit.text)
    at = edit.end
  }
  parts.push(before.slice(at, end))
  return parts.join('')
}

/** Without the lines at both ends that are as they were. */
function trimmed(old: Lines, { from, to, lines }: Block): Block {
  let [head, tail] = [0, 0]
  const most = Math.min(to - from, lines.length)
  while (head < most && old.at(from + head) === lines[head]) head++
  while (tail < most - head && old.at(to - 1 - tail) === lines[lines.length - 1 - tail]) tail++
  return { from: from + head, to: to - tail, lines: lines.slice(head, lines.length - tail) }
}

/** Blocks whose context would meet are shown together. */
function hunksOf(blocks: readonly Block[]): Block[][] {
  const hunks: Block[][] = []
  for (const block of blocks) {
    const last = hunks.at(-1)
    if (last && block.from - (last.at(-1) as Block).to <= 2 * context) last.push(block)
    else hunks.push([block])
  }
  return hunks
}

/** Whole lines where it can be. */
function within(diff: string): { diff: string; truncated: boolean } {
  if (diff.length <= mostDiff) return { diff, truncated: false }
  const end = diff.lastIndexOf('\n', mostDiff - 1)
  // Half a character at the cut is left out.
  const cut = end > mostDiff / 2 ? diff.slice(0, end + 1) : diff.slice(0, mostDiff).replace(/[\ud800-\udbff]$/, '')
  return { diff: cut, truncated: true }
}
